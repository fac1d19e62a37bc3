"""When files of the store go: with the last object that has them as its content."""

from __future__ import annotations

from rain.governor.messages import Content, Stored
from rain.governor.outbox import Outbox


class SharedFiles:
    """Counts those that more than one object has, and names those that nobody has any more."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self.counts: dict[int, int] = {}  # of objects, by the number of the file

    def share(self, content: Content) -> None:
        """One more object has this content."""
        if isinstance(content, int):
            self.counts[content] = self.counts.get(content, 1) + 1

    def let_go(self, content: Content) -> None:
        """One object less has this content."""
        if isinstance(content, int):
            others = self.counts.pop(content, 1) - 1
            if others > 1:
                self.counts[content] = others
            elif not others:
                self._outbox.files.append(content)

    def discard(self, content: bytes | Stored) -> None:
        """A result that came too late."""
        if isinstance(content, Stored):
            self._outbox.files.append(content.file)
