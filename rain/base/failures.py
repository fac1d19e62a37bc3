"""How tasks fail: by whose doing, how often they may, and what that means for their session."""

import enum

from attrs import frozen

from rain.base.ids import TaskId

MOST_TRIES = 100
"""How many tries a task may have at most: each that fails is remembered."""

REMEMBERED_TEXT = 8 * 1024
"""Characters that are remembered of what a failed try has said, when another one follows."""


class OnFailure(enum.Enum):
    """What a task that has failed for good means for its session."""

    STOP = "stop"  # the session fails with it, as in Rain 0.4
    CONTINUE = "continue"  # only what depends on it fails


class FailureCause(enum.Enum):
    """By whose doing an attempt has failed."""

    TASK = "task"  # its own: an exception, an exit code, wrong outputs
    EXECUTOR = "executor"  # the process that ran it has ended under it
    GOVERNOR = "governor"  # its governor was lost while it ran; the server finds that out
    NOT_STARTED = "not started"  # nobody's: its governor had no room for it, and hands it back


@frozen
class FailedAttempt:
    """One attempt of a task that has failed."""

    attempt: int  # the number of the assignment
    governor: str  # its address
    cause: FailureCause
    message: str
    debug: str = ""


@frozen
class SessionFailure:
    """Why a session failed, or in one that goes on: why a task did, and what depends on it.

    The task is None when no task is to blame. `attempts` are all that it had, when there was more
    than one.
    """

    message: str
    debug: str = ""
    task: TaskId | None = None
    attempts: tuple[FailedAttempt, ...] = ()
    governor: str = ""  # that of the last attempt
    start_time: str = ""  # of the last attempt, as far as its start was told
    duration: float = 0.0
    exception: bytes = b""  # of a Python function: its pickle, if it can be pickled
    cancelled: bool = False  # the task did not fail by itself: a client has cancelled it


def shortened(text: str) -> str:
    """Text for people without its middle, when it is too long to be remembered."""
    if len(text) <= REMEMBERED_TEXT:
        return text
    half = REMEMBERED_TEXT // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
