"""Tracebacks of failures for users: the lines of their program, and then the error.

A traceback lists each function that an exception passes. Without this module, the traceback of a
failed task would end with functions of this library, which say nothing about the failure.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from rain.common.errors import RainException, TaskException

P = ParamSpec("P")
T = TypeVar("T")


def hide_frames(error: BaseException, *others: type[Exception]) -> None:
    """Removes our functions from the beginning of the traceback of an error for users.

    A public function calls this where it catches the error, and raises it again with a plain
    `raise`: that adds no line of its own. Errors that Rain never raises on purpose keep theirs;
    `others` are raised on purpose there.
    """
    if not (_is_told(error) or isinstance(error, others)):
        return
    trace = error.__traceback__
    while trace is not None and _is_ours(trace.tb_frame.f_globals.get("__name__")):
        trace = trace.tb_next
    error.__traceback__ = trace


def hides_frames(function: Callable[P, T]) -> Callable[P, T]:
    """A decorator for public functions: the exceptions that they raise for users have no frames of
    this library.
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            hide_frames(error)
            raise

    return called


_TOLD = RainException | TimeoutError | concurrent.futures.CancelledError | KeyboardInterrupt

_CALLED = ("rain.", "concurrent.futures.", "threading", "asyncio.", "trio.", "cloudpickle.")
"""Our modules, and those whose functions ours call around the user's code."""


def _is_told(error: BaseException) -> bool:
    return isinstance(error, _TOLD) or isinstance(error.__cause__, TaskException)


def _is_ours(module: object) -> bool:
    return str(module).startswith(_CALLED)
