"""The exceptions for user programs.

RainException
    SessionException            the session has failed
        TaskException           ... because one of its tasks failed
    ConnectionException         no server, or it has gone
    TimeoutException            a wait took longer than its timeout
RainWarning                     raised: something allowed that is surely a mistake
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rain.base.ids import ID

if TYPE_CHECKING:
    from rain.common.runs import RunInfo  # needs attrs, which executors do not load


class RainException(Exception):
    """Something that Rain refuses or that went wrong; the base class of the others."""


class SessionException(RainException):
    """The session has failed; it can only be closed."""


class TaskException(SessionException):
    """A task has failed, and with it the session or, if that continues, all dependent tasks."""

    task_id: ID | None = None
    error: str = ""  # the error of the task itself: its remote traceback, or its stderr
    debug: str = ""  # its debug lines
    runs: "list[RunInfo]"  # all runs of the task; what follows is of the last one
    governor: str = ""
    start_time: str = ""
    duration: float | None = None  # seconds

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.runs = []

    @property
    def failed_tries(self) -> "list[RunInfo]":
        """Those of the runs that have failed."""
        return [run for run in self.runs if run.has_failed]


class ConnectionException(RainException, ConnectionError):
    """The server cannot be reached, or the connection to it has ended."""


class TimeoutException(RainException, TimeoutError):
    """A wait took longer than its timeout; the event may still happen later."""


class RainWarning(Warning):
    """Raised, not warned: what was asked for is possible, and surely a mistake."""


def rebuilt(
    kind: type[Exception], args: tuple[object, ...], attributes: Mapping[str, Any]
) -> Exception:
    """An exception of a task, made without its `__init__`."""
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(attributes)
    return error
