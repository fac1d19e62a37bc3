"""Sessions come and go by the hundred, and the server has as many objects as before."""

from __future__ import annotations

import gc

import pytest

from rain.base.failures import OnFailure
from rain.scheduler.shipped import SCHEDULERS
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.fake_client import FakeClient
from tests.support.world import World, new_world

SPARE = 30
"""Objects that a pause of the garbage collector or a cache may hold; a session makes hundreds."""


def visit(world: World, client: FakeClient) -> None:
    """A session in which tasks finish, one fails, one is skipped and one is cancelled."""
    draft = client.session(on_failure=OnFailure.CONTINUE)
    function = draft.constant(keep=True)
    for _ in range(4):
        draft.task(function, keep=True)
    bad, (never,) = draft.task(function)
    draft.task(never)
    late, _ = draft.task(function)
    client.submit(draft)
    for governor in world.governors:
        if bad in governor.tasks:
            governor.fail(bad)
    client.cancel(draft.session, late)
    for _ in range(6):
        work(world)
        world.turn()
    client.close(draft.session)


def work(world: World) -> None:
    for governor in world.governors:
        if governor.cancelled:
            governor.end(*governor.cancelled)
        if governor.fetching():
            governor.locate(*governor.fetching())
        if governor.runnable():
            governor.finish(*governor.runnable(), data=b"x")


def forget(world: World) -> None:
    """What the test itself remembers goes."""
    for kept in (world.turns, world.effects, world.answers, world.outputs, world.journal):
        kept.clear()
    for governor in world.governors:
        governor.told.clear()


def objects() -> int:
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.no_cover
@pytest.mark.parametrize("scheduler", ["horizon", "rain"])
@pytest.mark.parametrize("new_clients", [False, True])
def test_the_server_has_no_more_objects_after_many_sessions(
    scheduler: str, *, new_clients: bool
) -> None:
    # given
    world = new_world(SCHEDULERS[scheduler], ReactorSettings(governor_silence=1e9))
    for _ in range(2):
        world.governor(cpus=4)
    resident = world.client()
    counts: list[int] = []
    # when
    for _ in range(2):
        for _ in range(60):
            client = world.client() if new_clients else resident
            visit(world, client)
            if new_clients:
                client.leave()
            forget(world)
        for _ in range(5):
            world.turn()
        forget(world)
        counts.append(objects())
    # then
    assert counts[1] - counts[0] < SPARE
