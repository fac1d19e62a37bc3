"""Waiting in tests: for turns of the host loop, and for what tells nobody that it has happened.

Whoever can wait for an event does. What is left is outside of the program under test (a process
that ends, a file that another program writes): that is looked at again and again, here and nowhere
else, and not for ever.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

import trio

from rain.rpc import host

T = TypeVar("T")
PATIENCE = 30.0
_BETWEEN = 0.005


async def turns_of_the_host(count: int = 10) -> None:
    """Returns when the host loop has gone round so often: what was put off has happened."""

    async def go_round() -> None:
        for _ in range(count):
            await asyncio.sleep(0)

    await host.in_host(go_round)


async def until(look: Callable[[], T]) -> T:
    """What is seen as soon as it is something."""
    with trio.fail_after(PATIENCE):
        while not (seen := look()):  # noqa: ASYNC110 -- what it looks at has no event
            await trio.sleep(_BETWEEN)
    return seen


def until_now(look: Callable[[], T]) -> T:
    """The same for tests without trio."""
    deadline = time.monotonic() + PATIENCE
    while not (seen := look()):
        assert time.monotonic() < deadline, "this has not happened"
        time.sleep(_BETWEEN)
    return seen
