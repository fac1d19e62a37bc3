"""What happens is counted here: messages, bytes, and calls of Python functions."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType, TracebackType
from typing import Any

from rain.base.moves import Ends


class Counted(Counter[str]):
    """How often something was done, and how many bytes were sent, by name."""

    def message(self, way: str, length: int) -> None:
        self[f"messages {way}"] += 1
        self[f"bytes {way}"] += length

    def calls(self, part: str) -> AbstractContextManager[None]:
        """Counts the calls of Python functions meanwhile."""
        return _Calls(self, part)


MOVES = {"Task.move", "DataObject.move", "_looked_up"}
"""The functions that move something along a table of states."""

MOVES_OF_MANY = {"move_objects": "objects"}
"""Those that move several at once, and the names of what they move."""


def _looked_up(ends: dict[Any, Any], row: Any) -> Any:
    """Stands in for the look-up in a table of states, which calls no function elsewhere."""
    return dict[Any, Any].__getitem__(ends, row)


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
        self._has_tables = part != "client"  # around which the others are counted, too

    def __enter__(self) -> None:
        if self._has_tables:
            setattr(Ends, "__getitem__", _looked_up)  # noqa: B010 # no type knows of it
        sys.setprofile(self._saw)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        sys.setprofile(None)
        if self._has_tables:
            delattr(Ends, "__getitem__")

    def _saw(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            name = frame.f_code.co_qualname
            if name != _looked_up.__name__:
                self._counted[self._calls] += 1
            if name in MOVES:
                self._counted[self._moves] += 1
            elif name in MOVES_OF_MANY:
                self._counted[self._moves] += len(frame.f_locals[MOVES_OF_MANY[name]])
