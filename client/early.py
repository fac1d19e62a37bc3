"""Ids whose handles were collected before the server has told of them: it may still do so.

What it tells then is for nobody, and would stay until the session ends.
"""

from contextlib import suppress

AT_MOST = 100_000
"""Ids that are remembered; the oldest are forgotten first."""


class Early:
    """A bounded set. It is changed by finalizers, so nothing here takes a lock."""

    def __init__(self, at_most: int = AT_MOST) -> None:
        self._at_most = at_most
        self._ids: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def note(self, packed_id: int) -> None:
        """The last handle was collected."""
        ids = self._ids
        ids[packed_id] = None
        if len(ids) > self._at_most:
            with suppress(StopIteration, RuntimeError):  # another thread changes it: next time
                ids.pop(next(iter(ids)), None)

    def take(self, packed_id: int) -> bool:
        """Whether it was noted; now the server has told of it."""
        return self._ids.pop(packed_id, self) is None

    def clear(self) -> None:
        self._ids.clear()
