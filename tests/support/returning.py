"""A server that comes back when it has died, so that governors may go on without it for a while."""

from __future__ import annotations

from rain.server.core.reactor_settings import ReactorSettings
from tests.support.fake_governor import FakeGovernor
from tests.support.submissions import Draft
from tests.support.world import World, new_world

RETURNS = ReactorSettings(
    debug=True,
    governor_silence=20.0,
    governor_grace=3.0,
    much_wait=0.0,
    little_wait=0.0,
    returns=True,
)


def scene(tasks: int = 1) -> tuple[World, FakeGovernor, Draft]:
    """A server that comes back, and a governor that was told of some tasks."""
    world = new_world(settings=RETURNS)
    governor = world.governor(cpus=4)
    client = world.client()
    draft = client.session()
    for _ in range(tasks):
        draft.task(keep=True)
    client.submit(draft)
    world.turn()
    assert len(governor.tasks) == tasks
    return world, governor, draft
