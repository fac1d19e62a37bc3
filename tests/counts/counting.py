"""What happens is counted here: messages, bytes, and calls of Python functions."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType, TracebackType
from typing import Any


class Counted(Counter[str]):
    """How often something was done, and how many bytes were sent, by name."""

    def message(self, way: str, length: int) -> None:
        self[f"messages {way}"] += 1
        self[f"bytes {way}"] += length

    def calls(self, part: str) -> AbstractContextManager[None]:
        """Counts the calls of Python functions meanwhile."""
        return _Calls(self, part)


MOVES = {"Task.move", "DataObject.move"}
"""The functions that move something along a table of states."""


@contextmanager
def nobody_counts() -> Generator[None]:
    """What happens elsewhere is no call of the client."""
    counting = sys.getprofile()
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.setprofile(counting)


class _Calls:
    """Counts calls while it is open; those of the tables of states as moves too."""

    def __init__(self, counted: Counted, part: str) -> None:
        self._counted = counted
        self._calls, self._moves = f"calls {part}", f"moves {part}"

    def __enter__(self) -> None:
        sys.setprofile(self._saw)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        sys.setprofile(None)

    def _saw(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            name = frame.f_code.co_qualname
            self._counted[self._calls] += 1
            if name in MOVES:
                self._counted[self._moves] += 1
