"""Reference counts of files in the store: a file is deleted with the last object that uses it."""

from __future__ import annotations

from rain.base.executor_protocol import SHARED
from rain.governor.core.disk import Disk
from rain.governor.core.nodes import DataObject
from rain.governor.core.outbox import Outbox
from rain.governor.core.results import Content, Stored
from rain.governor.core.spares import Spares
from rain.governor.core.tiers import Tiers


class SharedFiles:
    """Counts files that several objects use, and reports files that no object uses any more."""

    def __init__(self, outbox: Outbox, tiers: Tiers, disk: Disk) -> None:
        self._outbox = outbox
        self.counts: dict[int, int] = {}  # objects per file number
        self.tiers = tiers
        self.disk = disk
        self.spares = Spares(tiers, disk)
        self.owners: dict[int, DataObject] = {}  # the first object of each file
        self.on_disk: set[int] = set()  # files that were made in shared memory, and have left it

    def hold(self, file: int, size: int, target: DataObject) -> None:
        """An object has this file as its content."""
        self.disk.hold(file, size)
        self.owners.setdefault(file, target)
        if file & SHARED and file not in self.on_disk:
            self.tiers.hold(file, size, target)

    def use(self, file: int) -> None:
        """A task reads it."""
        self.tiers.use(file)
        self.disk.use(file)

    def leave(self, file: int, target: DataObject) -> None:
        """An object that had this file goes."""
        if file & SHARED:
            self.tiers.let_go(file, target)
        self.let_go(file)

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
                self.on_disk.discard(content)
                self.owners.pop(content, None)
                self.spares.deleted()
                if self.disk.let_go(content):
                    self._outbox.awaited_files.append(content)
                else:
                    self._outbox.files.append(content)

    def discard(self, content: bytes | Stored) -> None:
        """Deletes the content of a result that came too late."""
        if isinstance(content, Stored):
            self._outbox.files.append(content.file)
