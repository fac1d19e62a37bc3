"""The result of a run, from an executor or the governor itself: its outputs, or why it failed."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from rain.base.ids import ObjectId
from rain.base.runs import RunCause

# The content of a data object: bytes in memory, or the number of a file or folder of the store.
Content = bytes | int


@frozen
class Stored:
    """A new file or folder of the store; `size` counts the bytes of the transport form."""

    file: int
    size: int


@frozen
class PassedOn:
    """The output is one of the inputs, unchanged."""

    object: ObjectId


@frozen
class Made:
    """An output with more than just its bytes."""

    content: bytes | Stored | PassedOn
    content_type: str = ""
    user: str = ""  # JSON
    contents: tuple[ObjectId, ...] = ()  # the objects of the futures inside of it


@frozen
class Failed:
    """The result of a task that has failed."""

    message: str
    debug: str = ""
    cause: RunCause = RunCause.TASK
    exception: bytes = b""  # its pickle, for clients that use Python
    status: int | None = None  # exit code of what has ended; of a signal the negative number
    retryable: bool = True  # the executor thinks that this is worth another try
    handed_on: tuple[ObjectId, ...] = ()  # it has ended well, and others make these for it
    disk: int = 0  # bytes for which the disk had no room


STOPPED: Final = Failed("the task was stopped")
"""The result of a run inside the governor that is not wanted any more."""


@frozen
class NotRun:
    """The executor did not run the call, because it does not have an input (any more)."""


NOT_RUN = NotRun()

Outputs = list[bytes | Made]
