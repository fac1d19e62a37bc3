"""The exceptions that user programs meet.

RainException
    SessionException            the session has failed
        TaskException           ... because one of its tasks failed
    ConnectionException         no server there, or no longer
    TimeoutException            a wait took longer than its timeout
RainWarning                     raised: something allowed that is surely not meant
"""

from typing import TYPE_CHECKING

from rain.base.ids import ID

if TYPE_CHECKING:
    from rain.common.runs import RunInfo  # needs attrs, which executors do not load


class RainException(Exception):
    """Something that Rain refuses or that went wrong; the base of all the others."""


class SessionException(RainException):
    """The session has failed; nothing can be asked of it any more but to close it."""


class TaskException(SessionException):
    """A task failed, and its session with it; or, if it goes on, all that depends on the task."""

    task_id: ID | None = None
    error: str = ""  # what the task itself has said: its remote traceback, or its stderr
    debug: str = ""  # the lines that it left
    runs: "list[RunInfo]"  # all that the task had; what follows is of the last one
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
    """What was waited for did not happen in time; it may still happen later."""


class RainWarning(Warning):
    """Raised, not warned: what was asked for is possible, and surely a mistake."""
