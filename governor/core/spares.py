"""How many bytes of deleted files may be kept to be written over. No I/O.

`rain.stream.spare_files` says what for. They are kept until no file was deleted for some seconds,
so a governor without work gives all of them back. On the disk they never exceed what the kernel
keeps in memory anyway, and the mark above which tasks wait for room. In shared memory they never
make other files leave.
"""

from __future__ import annotations

from math import inf

from rain.governor.core.disk import Disk
from rain.governor.core.tiers import HIGH_TENTHS, Tiers

SECONDS = 10.0
"""How long they are kept after the last file was deleted."""

UNWRITTEN_TENTHS = 1
"""How much of its memory a machine keeps of files before it writes them to the disk."""


class Spares:
    """The limit of the spare files that may be kept now."""

    def __init__(self, tiers: Tiers, disk: Disk) -> None:
        self._tiers = tiers
        self._disk = disk
        self._has_deleted = False  # since the last look
        self._until = -inf
        self.is_awake = False  # whether any may be kept; else there is nothing to look at

    def deleted(self) -> None:
        """A file is deleted, or it leaves shared memory."""
        self._has_deleted = True
        self.is_awake = True

    def look(self, now: float) -> tuple[int, int]:
        """The bytes that may be kept on the disk, and in shared memory."""
        if self._has_deleted:
            self._has_deleted = False
            self._until = now + SECONDS
        if now >= self._until:
            self.is_awake = False
            return 0, 0
        tiers, disk = self._tiers, self._disk
        on_disk = tiers.memory * UNWRITTEN_TENTHS // 10
        if disk.budget:
            on_disk = min(on_disk, max(disk.mark - disk.used, 0))
        return on_disk, max(tiers.limit * HIGH_TENTHS // 10 - tiers.used, 0)
