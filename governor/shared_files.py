"""Reference counts of files in the store: a file is deleted with the last object that uses it."""

from __future__ import annotations

from rain.governor.messages import Content, Stored
from rain.governor.outbox import Outbox


class SharedFiles:
    """Counts files that several objects use, and reports files that no object uses any more."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self.counts: dict[int, int] = {}  # objects per file number

    def share(self, content: Content) -> None:
        """One more object has this content."""
        if isinstance(content, int):
            self.counts[content] = self.counts.get(content, 1) + 1

    def let_go(self, content: Content) -> None:
        """One object fewer has this content."""
        if isinstance(content, int):
            others = self.counts.pop(content, 1) - 1
            if others > 1:
                self.counts[content] = others
            elif not others:
                self._outbox.files.append(content)

    def discard(self, content: bytes | Stored) -> None:
        """Deletes the content of a result that came too late."""
        if isinstance(content, Stored):
            self._outbox.files.append(content.file)
