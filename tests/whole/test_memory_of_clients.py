"""What a client remembers of tasks goes with their handles, however long its sessions live."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

from rain.client import Client, Session, remote

pytestmark = pytest.mark.whole

FIRST, ROUNDS = 20, 200
MANY = 20
"""A wait for some of this number is told of all that ends."""

LITTLE = 3 * MANY
"""Entries that may be there by chance: of the last round, and of news on their way."""


@remote(auto_encode="pickle", auto_load=True)
def inc(ctx: Any, x: int) -> int:
    return x + 1


def remembered(session: Session) -> dict[str, int]:
    """Entries of all that a session keeps by ids."""
    history, news = session._outgoing.history, session._waiting.news
    return {
        "tasks": len(history._tasks) - len(history._left),
        "units": len(history._units),
        "news": len(news),
        "failed": len(news.failed),
        "results": len(session._results),
        "lent": len(session._lent),
    }


def wait_for_each(session: Session) -> None:
    """Waits for one after the other, and drops some of the handles before."""
    waiting = [inc(number) for number in range(2 * MANY)]
    outputs = [task.output for task in waiting[:MANY]]
    for task in waiting:
        task.output.keep()
    session.submit()
    del waiting[MANY:]
    while waiting:
        done, _ = session.wait_some([*waiting, *outputs])
        waiting = [task for task in waiting if task not in done]


def run_a_unit(session: Session) -> None:
    last = inc(inc(inc(1)))
    last.output.keep()
    session.submit()
    last.wait()
    assert last.output.fetch().load() == 4


def grown(session: Session, round_: Callable[[Session], None]) -> dict[str, tuple[int, int]]:
    """What there is more of after many rounds than after few."""
    with session.bind_only():
        for _ in range(FIRST):
            round_(session)
        gc.collect()
        early = remembered(session)
        for _ in range(ROUNDS - FIRST):
            round_(session)
    gc.collect()
    late = remembered(session)
    return {name: (early[name], late[name]) for name in late if late[name] > early[name] + LITTLE}


def test_two_hundred_rounds_leave_the_memory_of_a_client_where_it_was() -> None:
    with Client(cpus=2) as client:
        assert grown(client.new_session("waits"), wait_for_each) == {}
        fused = client.new_session("units", fuse=True)
        assert grown(fused, run_a_unit) == {}
        assert not remembered(fused)["units"]
