"""The errors of the store, and what they mean for the task that has made an output."""

from __future__ import annotations

from rain.base.errors import RainError
from rain.base.runs import RunCause
from rain.governor.core.results import Failed


class StoreError(RainError):
    """Something cannot be stored; says what and why.

    `short` says whether it could be stored on another governor, or here later.
    """

    def __init__(self, message: str, *, short: bool = False) -> None:
        super().__init__(message)
        self.short = short


class NoRoomError(StoreError):
    """A fetched object cannot be written here, from any source."""


def not_stored(error: StoreError, debug: str = "") -> Failed:
    """The result of a task whose output cannot be stored; it is handed back if that is our fault.

    Its executor may have written all of it, and still the disk may be full for the last part of a
    copy, or there may be no descriptor for it.
    """
    cause = RunCause.NOT_STARTED if error.short else RunCause.TASK
    return Failed(str(error), debug, cause)
