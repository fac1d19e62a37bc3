"""The value that a function returns to pass on its result to another task (`rain.client.then`)."""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

from rain.common.errors import RainException
from rain.common.references import Reference


class Future(Reference, Protocol):
    """The result of the other task."""

    def result(self) -> Any:
        """Waits for it."""
        ...


class Then:
    """The result of the task is that of this future."""

    __slots__ = ("future",)

    def __init__(self, future: Future) -> None:
        self.future = future

    def __reduce__(self) -> NoReturn:
        raise RainException(
            "then(...) stands for the whole result of a task: return it alone, not inside of"
            " another object"
        )
