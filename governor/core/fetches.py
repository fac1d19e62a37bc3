"""Starts and stops the fetches of a governor, and limits how many run at a time. No I/O.

The queue has the most urgent object first. Each running fetch has a number, so that the late end of
a stopped fetch is recognised.
"""

from __future__ import annotations

from rain.governor.core.disk import Disk
from rain.governor.core.effects import FetchObject, StopFetch
from rain.governor.core.fetch_queue import FetchQueue, is_fetchable
from rain.governor.core.nodes import DataObject, Task
from rain.governor.core.outbox import Outbox
from rain.governor.core.tables import ObjectMove, ObjectRow

FETCHES_AT_ONCE = 8
"""With more fetches at once, all of them would take longer, also the most urgent one."""

SMALL_AT_ONCE, SMALL_BYTES = 32, 8 << 20
"""Up to 32 objects at a time, if all of them together have at most this many bytes: small objects
wait for the round trip. If that takes 80 ms, eight of 64 KiB at a time are 30 in a second."""

BYTES_AT_ONCE = 1 << 30
"""All running fetches together may have this many bytes; a larger object is fetched alone."""


class Fetches:
    """Starts and stops fetches. Objects move along their table here only as these begin."""

    def __init__(self, outbox: Outbox, disk: Disk) -> None:
        self._outbox = outbox
        self._disk = disk
        self.queue = FetchQueue()
        self.going: dict[int, DataObject] = {}  # objects on their way, by the number of the fetch
        self._count = 0
        self.chosen: Task | None = None  # nothing but its inputs is fetched (see `making_way`)

    def first(self) -> DataObject | None:
        """The object to fetch next."""
        if self.chosen is None:
            return self.queue.first()
        return next((target for target in self.chosen.inputs if is_fetchable(target)), None)

    def coming_bytes(self) -> int:
        """The bytes of all that is on its way."""
        return sum(one.size for one in self.going.values())

    def start(self) -> None:
        """Starts the fetches that may start now, the most urgent first."""
        going = self.going
        while (target := self.first()) is not None and self.may_start(target):
            self.queue.remove(target)
            target.move(ObjectMove.PULL)
            self._count += 1
            target.fetch = self._count
            going[target.fetch] = target
            fetch = FetchObject(target.fetch, target.id, target.source, target.size, target.kind)
            self._outbox.effects.append(fetch)

    def may_start(self, target: DataObject) -> bool:
        """Whether the fetch of one more object may start."""
        going = self.going
        if len(going) >= SMALL_AT_ONCE:
            return False
        coming = self.coming_bytes() + target.size
        if len(going) >= FETCHES_AT_ONCE and coming > SMALL_BYTES:
            return False
        return self._disk.has_room(coming) and (not going or coming <= BYTES_AT_ONCE)

    def lack_room(self) -> bool:
        """Whether the disk has no room for what is on its way and for what comes next."""
        target = self.first()
        return target is not None and not self._disk.has_room(self.coming_bytes() + target.size)

    def wait_for_room(self) -> bool:
        """Whether nothing is on its way, because the disk has no room for the next object."""
        if not self.queue.ranks or self.going:
            return False
        target = self.first()
        return target is not None and not self.may_start(target)

    def take(self, fetch: int) -> DataObject | None:
        """The object of a fetch that has ended; None if it was stopped before."""
        return self.going.pop(fetch, None)

    def take_next(self) -> DataObject | None:
        """The object that would be fetched next, which is not fetched now."""
        target = self.first()
        if target is not None:
            self.queue.remove(target)
        return target

    def stop(self, target: DataObject) -> None:
        """The object is not waited for any more. Does nothing if it is not on its way."""
        if target.row is ObjectRow.PULLING:
            del self.going[target.fetch]
            self._outbox.effects.append(StopFetch(target.fetch))
