"""Waiting in tests for what tells nobody that it has happened.

A test that can wait for an event does. What is left is outside of the program under test (a process
that ends, a file that another program writes): that is looked at again and again, here and nowhere
else, and not for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import trio

T = TypeVar("T")
PATIENCE = 30.0
_BETWEEN = 0.005


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
