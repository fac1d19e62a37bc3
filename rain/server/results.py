"""Results that are kept for a task that may be tried again (`rain.server.adopting`)."""

from __future__ import annotations

from collections import deque

from attrs import Factory, define, frozen

from rain.graph import DataObject, Run

MOST_BYTES = 64 * 1024 * 1024
"""Of results that are kept for one task; what does not fit is made again."""

Key = bytes


@frozen
class Result:
    """What one task has made."""

    data: bytes
    content_type: str
    user: str
    run: Run  # in which it was made


@define
class Results:
    """Those that a task finds when it is tried again."""

    by_key: dict[Key, deque[Result]] = Factory(dict)
    bytes: int = 0
    keys: dict[DataObject, Key] = Factory(dict)  # what is read and made now

    def add(self, key: Key, result: Result) -> None:
        """Keeps one more, unless there are too many."""
        if self.bytes + len(result.data) <= MOST_BYTES:
            self.bytes += len(result.data)
            self.by_key.setdefault(key, deque()).append(result)

    def take(self, key: Key) -> Result | None:
        """The next one of this key, which nobody gets again."""
        found = self.by_key.get(key)
        if not found:
            return None
        result = found.popleft()
        self.bytes -= len(result.data)
        return result
