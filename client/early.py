"""Ids whose handles were collected before the server has told of them: it may still do so.

Nobody asks for that news any more, and it would be kept until the session ends.
"""

from collections import deque

AT_MOST = 100_000
"""Ids that are remembered; the oldest are forgotten first."""


class Early:
    """A bounded set. It is changed by finalizers, so nothing here takes a lock."""

    def __init__(self, at_most: int = AT_MOST) -> None:
        self._at_most = at_most
        self._ids: set[int] = set()
        # All that were noted lately, in their order, also those that were taken meanwhile: to take
        # the oldest one out of a dict costs more with each one that is gone.
        self._order: deque[int] = deque()

    def __len__(self) -> int:
        return len(self._ids)

    def note(self, packed_id: int) -> None:
        """The last handle was collected."""
        self._ids.add(packed_id)
        self._order.append(packed_id)
        if len(self._order) > self._at_most:
            self._ids.discard(self._order.popleft())

    def take(self, packed_id: int) -> bool:
        """Whether it was noted; now the server has told of it."""
        if packed_id not in self._ids:
            return False
        self._ids.discard(packed_id)
        return True

    def clear(self) -> None:
        self._ids.clear()
        self._order.clear()
