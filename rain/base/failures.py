"""The causes of failures, and what the failure of a task means for its session."""

import enum

from attrs import frozen

from rain.base.ids import TaskId
from rain.base.runs import RunReport

REMEMBERED_TEXT = 8 * 1024
"""Characters of a failed run's texts that are kept when another run follows."""


class OnFailure(enum.Enum):
    """What a task that has failed for good means for its session."""

    STOP = "stop"  # the session fails with it, as in Rain 0.4
    CONTINUE = "continue"  # only what depends on it fails


@frozen
class SessionFailure:
    """Why a session has failed; in a session that goes on: why a task has, and what depends on it.

    The task is None when no task is to blame. The last of its `runs` is the one that has failed.
    """

    message: str
    debug: str = ""
    task: TaskId | None = None
    runs: tuple[RunReport, ...] = ()
    exception: bytes = b""  # of a Python function: its pickle, if it can be pickled
    cancelled: bool = False  # the task did not fail by itself: a client has cancelled it


LOGS_OF_A_RUN = 2 * 1024
"""Characters of a failed run's output that are reported: the end of it."""


def end_of(printed: str) -> str:
    """The end of what a run has printed."""
    return printed if len(printed) <= LOGS_OF_A_RUN else f"[...]{printed[-LOGS_OF_A_RUN:]}"


def shortened(text: str) -> str:
    """Text for people without its middle, when it is too long to be remembered."""
    if len(text) <= REMEMBERED_TEXT:
        return text
    half = REMEMBERED_TEXT // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
