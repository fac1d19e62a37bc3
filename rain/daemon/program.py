"""Running a daemon: one trio loop, in which a failure of ours ends the program as itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio


def run(main: Callable[[], Awaitable[int]]) -> int:
    """Runs a daemon and gives its exit status, or raises what ended it.

    The tasks of a daemon fail inside of nurseries, which wrap each failure in a group. The first
    failure is the one to tell: the others came of it.
    """
    try:
        return trio.run(main, restrict_keyboard_interrupt_to_checkpoints=True)
    except BaseExceptionGroup as group:
        raise _first(group) from None


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        group: BaseExceptionGroup[BaseException] = error
        inner = group.exceptions
        error = next((one for one in inner if not isinstance(one, trio.Cancelled)), inner[0])
    return error
