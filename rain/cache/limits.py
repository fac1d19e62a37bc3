"""Keeps a cache within its limit: removes the least recently used entries first.

Each process adds up what it has written, and measures the whole folder from time to time. If
several find too much, only one of them removes something at a time; the others go on.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from attrs import frozen

from rain.cache import files
from rain.cache.errors import CacheError
from rain.cache.journal import shorten
from rain.cache.places import CachePlace
from rain.stream.removing import remove

PART_OF_THE_DISK = 10
"""Without another limit a cache may have a tenth of its disk."""

FILLED = 0.9
"""What is left of the limit when entries are evicted."""

COUNTED_AFTER = 0.05
"""The whole folder is counted again when a process has added this part of the limit."""

LEFT_BEHIND = 24 * 3600.0
"""Seconds after which what a killed process was making is removed."""


@frozen
class Usage:
    """One entry: when it was used, and its bytes."""

    used: float
    size: int
    path: Path


def entries_of(place: CachePlace) -> Iterator[Usage]:
    """All entries, in no order."""
    for folder in (place.path / "entries").iterdir():
        with suppress(OSError):  # it goes meanwhile
            paths = list(folder.iterdir())
            for path in paths:
                with suppress(OSError):
                    yield Usage(path.lstat().st_mtime, files.size_of(path), path)


class Limit:
    """The limit of one cache, as one process keeps it; `most` is None for a part of the disk."""

    def __init__(self, place: CachePlace, most: int | None) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._counted: int | None = None  # bytes of all entries, when they were counted last
        self._since = 0  # bytes that were added here since then
        if most is None:
            status = os.statvfs(place.path)
            most = status.f_blocks * status.f_frsize // PART_OF_THE_DISK
        self.most = most

    def has_room_for(self, size: int) -> bool:
        """Whether an entry of this size can be kept at all."""
        return size <= self.most

    def added(self, size: int) -> None:
        """An entry was added here."""
        with self._lock:
            self._since += size
            counted = self._counted
            if (
                counted is not None
                and self._since < self.most * COUNTED_AFTER
                and counted + self._since <= self.most
            ):
                return
            self._since = 0
            self._counted = self._evict()

    def _evict(self) -> int:
        """Removes entries above the limit; returns how many bytes are left."""
        found = sorted(entries_of(self._place), key=lambda one: one.used)
        total = sum(one.size for one in found)
        if total <= self.most:
            return total
        with alone(self._place) as is_alone:
            if is_alone:
                tidy(self._place)
                for one in found:
                    if total <= self.most * FILLED:
                        break
                    if evict(self._place, one.path):
                        total -= one.size
        return total


def evict(place: CachePlace, path: Path) -> bool:
    """Removes an entry, atomically for all readers; returns whether that was possible."""
    gone = place.path / "new" / f"gone-{secrets.token_hex(8)}"
    try:
        path.rename(gone)
        remove(gone)
    except OSError:  # another one has removed it, or it belongs to a user who lets nobody do so
        return False
    return True


def remove_left_behind(place: CachePlace) -> None:
    """Removes incomplete files of killed processes that are older than a day."""
    oldest = time.time() - LEFT_BEHIND
    for path in (place.path / "new").iterdir():
        with suppress(OSError):  # as above
            if path.lstat().st_mtime < oldest:
                remove(path)


def tidy(place: CachePlace) -> None:
    """Removes what killed processes have left behind, and the beginnings of long journals."""
    remove_left_behind(place)
    for path in (place.path / "journals").iterdir():
        with suppress(OSError):
            shorten(path, place)


@contextmanager
def alone(place: CachePlace) -> Generator[bool]:
    """Whether no other process evicts entries meanwhile."""
    lock = place.path / "lock"
    try:
        if not lock.exists():
            lock.touch()
            place.share(lock, place.file_rights)
        descriptor = os.open(lock, os.O_RDWR)
    except OSError as error:
        raise CacheError(f"{lock} cannot be opened: {error.strerror}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
