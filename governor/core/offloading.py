"""Decides which objects move from the disk to the far store, and when they come back. No I/O.

The far store is an object store or a slow disk (`--spill-to`), for data that the local disk has no
room for. When the disk is filled up to its mark, or something waits for room, objects that no task
here reads are copied there, least recently used first; a directory as one archive. If that does not
help, inputs of waiting tasks follow (`making_way`). When a copy is complete, its object is *far*,
and its file on the disk goes. An object that was far before keeps its copy, since contents never
change, and leaves at once the next time.

A task that reads a far object makes it remote: it is fetched like one that another governor has,
when there is room. Other governors and clients read it where it is. If it cannot be read, it is
lost for this governor, and the server finds another copy or makes it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf

from rain.governor.core.effects import SendFar
from rain.governor.core.events import SentFar
from rain.governor.core.nodes import DataObject
from rain.governor.core.outbox import Outbox
from rain.governor.core.shared_files import SharedFiles
from rain.governor.core.tables import ObjectMove, ObjectRow

Pinned = Callable[[], set[int]]
"""Gives the files whose paths are in use."""

LOW_TENTHS = 6
"""Down to this part of the limit objects leave, so that this happens seldom."""

AT_ONCE = 4
"""Copies on their way to the far store."""

RETRY_AFTER = 5.0
"""Seconds until it is tried again, after the far store has refused a copy."""


class Offloading:
    """The objects that are far, or on their way there."""

    def __init__(self, outbox: Outbox, files: SharedFiles) -> None:
        self._outbox = outbox
        self._files = files
        self._disk = files.disk
        self._count = 0
        self.sending: dict[int, DataObject] = {}  # by the number of the copy
        self.trouble = ""  # why the last copy could not be made
        self._retry_at = -inf

    def send_away(self, now: float, pinned: Pinned, *, wanted: bool) -> None:
        """Sends objects away if the disk is short, or if something waits for room (`wanted`)."""
        disk, sending = self._disk, self.sending
        if not self.is_willing(now) or len(sending) >= AT_ONCE:
            return
        if not wanted and disk.used <= disk.mark:
            return
        leaving = sum(disk.sizes[file] for file in disk.going)
        leaving += sum(target.size for target in sending.values())
        surplus = disk.used - leaving - disk.limit * LOW_TENTHS // 10
        if surplus <= 0 and not (wanted and not leaving):
            return
        told, busy = pinned(), set(sending.values())
        for target in self.candidates():
            if target.consumers or target in busy or target.content in told:
                continue
            if target.far:
                self.leave(target)
            else:
                self.send(target)
            surplus -= target.size
            if surplus <= 0 or len(sending) >= AT_ONCE:
                return

    def sent(self, event: SentFar, now: float, pinned: Pinned) -> None:
        """A copy is complete, or could not be made."""
        target = self.sending.pop(event.number)
        if target.content != event.file:  # it has gone meanwhile, and a directory from under us
            if not event.reason:
                self._outbox.far_files.append(event.number)
            return
        self.trouble = event.reason
        if event.reason:
            self._retry_at = now + RETRY_AFTER
            return
        assert not target.far
        target.far = event.number
        if may_leave(target) and not target.consumers and target.content not in pinned():
            self.leave(target)

    def is_willing(self, now: float) -> bool:
        """Whether the far store has not just refused a copy."""
        return now >= self._retry_at

    def candidates(self) -> Iterator[DataObject]:
        """Objects that may leave if no task needs them, least recently used first."""
        shared, owners = self._files.counts, self._files.owners
        for file in list(self._disk.sizes):
            target = owners.get(file)
            if target is not None and file not in shared and may_leave(target):
                yield target

    def send(self, target: DataObject) -> None:
        """A copy is made."""
        assert isinstance(target.content, int)
        self._count += 1
        self.sending[self._count] = target
        self._outbox.effects.append(SendFar(self._count, target.content, target.size))

    def leave(self, target: DataObject) -> None:
        """The copy takes the place of the file."""
        assert isinstance(target.content, int)
        target.move(ObjectMove.SEND_FAR)
        self._files.leave(target.content, target)
        target.content = None


def may_leave(target: DataObject) -> bool:
    """Whether the object is a file on which the server relies, so that it may be far."""
    return (
        target.row is ObjectRow.HELD
        and target.wanted
        and not target.lent
        and target.producer is None
        and isinstance(target.content, int)
    )
