"""Runs a daemon: one trio loop; an error ends the program with its original exception."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio


def run(main: Callable[[], Awaitable[int]]) -> int:
    """Runs a daemon and returns its exit status, or raises the error that ended it.

    The tasks of a daemon fail inside nurseries, which wrap each error in a group. Only the first
    error is raised: it has caused the others.
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
