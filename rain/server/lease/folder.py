"""A lease in a shared folder: one file for each generation.

    leases/00000007    the record of the seventh generation, locked by its holder

Only one server can make the file of a generation (`O_EXCL` is exact on network file systems, too),
and only that server writes to it. So a file never has two writers. The lock ends with the process
of the holder, in whatever way; so a server on the same machine need not wait for the lease to
lapse. The lock of another machine means nothing: the file server may have released it, or may not
know yet that the machine is dead. Then only the heartbeats count.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from attrs import define

from rain.daemon.folders import sync_folder
from rain.server.lease import written
from rain.server.lease.holder import this_boot
from rain.server.lease.rules import NOBODY, Record
from rain.server.lease.store import LeaseStoreError

KEPT = 100
"""The number of old files that are kept, so that even a slow server never tries to make a
generation again.
"""


@define(eq=False)
class FolderStore:
    """Implements `rain.server.lease.store.LeaseStore`."""

    folder: Path
    _lock: int | None = None  # the file of the generation that is ours

    @property
    def where(self) -> str:
        return str(self.folder)

    def read(self) -> Record:
        try:
            newest = self._newest()
            return _decoded(newest, self.path(newest).read_bytes()) if newest else NOBODY
        except OSError as error:
            raise _trouble(self.folder, error) from error

    def put(self, before: Record, after: Record) -> bool:
        try:
            if after.generation > before.generation:
                return self._newest() <= before.generation and self._take(after)
            if self._newest() != after.generation:
                return False
            self._write(after)
            return self._newest() == after.generation
        except OSError as error:
            raise _trouble(self.folder, error) from error

    def has_ended(self, record: Record) -> bool:
        """Its holder was on this machine, and the lock that went with it is free."""
        return bool(record.holder.machine) and (
            record.holder.machine == this_boot() and not is_locked(self.path(record.generation))
        )

    def close(self) -> None:
        """Lets the lock go."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def path(self, generation: int) -> Path:
        return self.folder / f"{generation:08}"

    def _newest(self) -> int:
        return max(self._generations(), default=0)

    def _generations(self) -> list[int]:
        return [int(path.name) for path in self.folder.iterdir() if path.name.isdecimal()]

    def _take(self, record: Record) -> bool:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            lock = os.open(self.path(record.generation), flags, 0o600)
        except FileExistsError:
            return False
        self.close()
        self._lock = lock
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._write(record)
        sync_folder(self.folder)
        for generation in self._generations():
            if generation <= record.generation - KEPT:
                self.path(generation).unlink(missing_ok=True)
        return self._newest() == record.generation

    def _write(self, record: Record) -> None:
        """Closing the file brings the change to a file server, and costs nothing on a disk."""
        with self.path(record.generation).open("r+b", buffering=0) as file:
            file.write(_encoded(record))


_SIZE = 1024
"""Bytes of a record, so that a shorter one covers a longer one. One write is enough for it."""


def _encoded(record: Record) -> bytes:
    return written.written(record).encode().ljust(_SIZE - 1) + b"\n"


def _decoded(generation: int, content: bytes) -> Record:
    """The record of a file. Its holder may be about to write it, or have died before it did."""
    try:
        return written.read(content)
    except ValueError:
        return Record(generation)


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock. Several may ask at once without disturbing others."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _trouble(folder: Path, error: OSError) -> LeaseStoreError:
    return LeaseStoreError(f"the leases in {folder} cannot be used: {error.strerror}")
