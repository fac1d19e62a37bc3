"""Errors for a lack of machine resources: a task could not run, through no fault of its own."""

import errno
from types import TracebackType
from typing import Final

_SHORTAGES: Final = frozenset(
    {
        errno.EMFILE,  # descriptors of the process
        errno.ENFILE,  # descriptors of the machine
        errno.EAGAIN,  # processes
        errno.ENOMEM,
        errno.ENOSPC,
        errno.EDQUOT,
    }
)

NO_THREAD: Final = "can't start new thread"
"""What Python says when the system refuses one."""


def is_shortage(error: BaseException) -> bool:
    """Whether the operation could succeed on another governor, or here later."""
    if isinstance(error, OSError):
        return error.errno in _SHORTAGES
    return isinstance(error, RuntimeError) and str(error) == NO_THREAD


class ShortageError(OSError):
    """Rain's own part of a task lacks a resource of the machine. It may be raised below user code.

    If user code itself lacks something, that is an ordinary error of its task.
    """


class NoRoomError(ShortageError):
    """A file of Rain's own has no room on the disk. `size` is what it would have."""

    def __init__(self, size: int, message: str) -> None:
        super().__init__(errno.ENOSPC, message)
        self.size = size


class OwnFiles:
    """A block that works on files of Rain's own: what it lacks is not the fault of the task."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, OSError) and is_shortage(error):
            raise ShortageError(error.errno, f"{self._what}: {error.strerror}") from error


def lacks_thread_of_ours(error: BaseException) -> bool:
    """Whether a thread is missing that Rain wanted to start, and not user code."""
    if not isinstance(error, RuntimeError) or not is_shortage(error):
        return False
    starter, trace = "", error.__traceback__
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__"))
        if module != "threading":
            starter = module
        trace = trace.tb_next
    return starter.startswith("rain.")
