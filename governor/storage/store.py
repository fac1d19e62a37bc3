"""Stored objects: files and folders in data/, each under its number, read-only.

The state knows objects, the store knows numbers. Small objects are in memory, not in the store.
Some files are made in a second folder, in shared memory, and their numbers say so. `tiers` decides
which of them leave it: such a file is copied to data/, and then renamed there, so that under its
number there is always one complete file.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
import tarfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rain.base.errors import RainError
from rain.base.executor_protocol import SHARED
from rain.base.shortage import is_shortage
from rain.governor.core.results import Made, Outputs, Stored
from rain.governor.storage.errors import NoRoomError, StoreError
from rain.governor.storage.files import (
    copy_to,
    is_at,
    link_tree,
    make_read_only,
    part_links,
    reserve,
)
from rain.stream.archive import Archive, ChangedError, Readable, receive_folder, unpack
from rain.stream.copying import copy_bytes
from rain.stream.protocol import SharedPlace
from rain.stream.removing import remove
from rain.stream.shared_memory import BOARD, Board, Placing
from rain.stream.sockets import Incoming
from rain.stream.spare_files import SpareFiles, mark_shown
from rain.stream.stamps import Stamp
from rain.stream.unpacking import extract

MEMORY_LIMIT = 256 * 1024
"""Objects of this size or more are stored as files."""

COPIED_AT_ONCE = 64 * 1024 * 1024
"""Bytes of a file that leaves shared memory between two looks whether the governor ends."""


@contextmanager
def writing_into(store: Store) -> Generator[None]:
    """Around what writes a fetched object: says that it has no room here."""
    try:
        yield
    except OSError as error:
        raise NoRoomError(f"cannot write into {store.folder}: {error.strerror}") from None


class Store:
    """The folder data/ of one governor, and its folder in shared memory if it has one."""

    def __init__(self, folder: Path, shared: Path | None = None) -> None:
        self.folder = folder
        self.shared = shared
        self._device = None if shared is None else _other_device(shared, folder)
        self._board = None if shared is None else Board(f"{shared}/{BOARD}", new=True)
        self._placing = None if self._board is None else Placing(self._board)
        self._spare_on_disk: SpareFiles | None = None
        self._spare_in_memory: SpareFiles | None = None
        # Numbers of shared memory whose files have left it. The loop adds them, and a thread may
        # discard one, each in a single step. No thread asks for such a path meanwhile: a file that
        # leaves is not pinned (`tiers`), and what is deleted belongs to no object any more.
        self._on_disk: set[int] = set()
        # Threads draw numbers too; `count` never gives a number twice.
        self._numbers = itertools.count(1)
        self.copied = 0  # bytes copied although their source was on this machine

    @property
    def folders(self) -> tuple[Path, ...]:
        """All folders that have files of objects."""
        return (self.folder,) if self.shared is None else (self.folder, self.shared)

    def path(self, number: int) -> Path:
        """The path of the number for a reader; that of an object that is not pinned may change."""
        path = self._path(number)
        mark_shown(path)
        return path

    def _path(self, number: int) -> Path:
        return self._folder_of(number) / str(number)

    def _folder_of(self, number: int) -> Path:
        if number & SHARED and self.shared is not None and number not in self._on_disk:
            return self.shared
        return self.folder

    def new_number(self, *, shared: bool = False) -> int:
        """Returns a number for a new file or folder."""
        number = next(self._numbers)
        return number | SHARED if shared else number

    def _number_for(self, size: int) -> int:
        """A number for a new file of this size, where it belongs."""
        return self.new_number(shared=self._placing is not None and self._placing.is_shared(size))

    def tell_room(self, room: int, memory: int) -> None:
        """Tells executors how large a new file in shared memory may be."""
        if self._board is not None:
            self._board.write(room, memory)

    def close(self) -> None:
        """Nothing is written here any more."""
        if self._board is not None:
            self._board.close()

    def free(self) -> int:
        """The free bytes of the disk."""
        status = os.statvfs(self.folder)
        return status.f_bavail * status.f_frsize

    # Storing.

    @contextmanager
    def _whole_or_gone(self, number: int) -> Generator[None]:
        """Around what writes a new file or folder: removes the beginning of it if that fails."""
        try:
            yield
        except (OSError, RainError, tarfile.TarError):
            self.delete([number])
            raise

    def write(self, data: bytes) -> Stored:
        """Writes these bytes to a new file."""
        number = self._number_for(len(data))
        try:
            self._path(number).write_bytes(data)
        except OSError as error:
            self._path(number).unlink(missing_ok=True)
            reason = f"cannot write into {self.folder}: {error.strerror}"
            raise StoreError(reason, short=is_shortage(error)) from None
        return self.settle(number)

    def keep(self, data: bytes) -> bytes | Stored:
        """Returns the bytes themselves if they are few, else writes them to a file."""
        return data if len(data) < MEMORY_LIMIT else self.write(data)

    def adopt(self, path: Path) -> Stored:
        """Moves a file or folder from elsewhere on this machine into the store.

        The target of a link into the store belongs to another object and is copied.
        """
        number = self.new_number(
            shared=self.shared is not None and path.is_relative_to(self.shared)
        )
        target = self._path(number)
        try:
            with self._whole_or_gone(number):
                if path.is_symlink():
                    copy_to(path.resolve(strict=True), target)
                    path.unlink()
                else:
                    path.rename(target)
                    part_links(target, target, self.folder)
                return self.settle(number)
        except OSError as error:
            reason = f"cannot store {path}: {error.strerror}"
            raise StoreError(reason, short=is_shortage(error)) from None
        except ChangedError as error:  # a pipe, a socket or a device somewhere in a directory
            raise StoreError(f"cannot store {path}: {error}") from None

    def adopts_at_once(self, path: Path) -> bool:
        """Whether adopting it takes no longer than moving a file."""
        try:
            status = path.lstat()
            is_here = status.st_dev in {self._device, self.folder.stat().st_dev}
            return stat.S_ISREG(status.st_mode) and is_here
        except OSError:
            return True  # adopting it will fail at once

    def copy_in(self, path: Path) -> Stored:
        """Copies a file or folder into the store; the original stays."""
        number = self.new_number()
        try:
            with self._whole_or_gone(number):
                copy_to(path, self._path(number))
                return self.settle(number)
        except OSError as error:
            reason = f"cannot copy {path}: {error.strerror}"
            raise StoreError(reason, short=is_shortage(error)) from None

    def unpack(self, archive: Path) -> Stored:
        """Unpacks a stored archive of a folder."""
        number = self.new_number()
        try:
            with self._whole_or_gone(number), tarfile.open(archive, mode="r:") as opened:
                extract(opened, self._path(number))
        except (OSError, tarfile.TarError) as error:
            raise StoreError(f"cannot unpack an archive: {error}") from None
        return self.settle(number)

    # From other governors; in threads.

    def new_file(self, length: int) -> tuple[int, BinaryIO]:
        """A new file with room for so much, and its number; OSError if there is no room."""
        number = self._number_for(length)
        file = self._path(number).open("wb")
        try:
            reserve(file.fileno(), length)
        except OSError:
            file.close()
            self.delete([number])
            raise
        return number, file

    def receive_folder(self, connected: Incoming, length: int) -> Stored:
        """Receives an archive from a socket and unpacks it into a new folder."""
        number = self.new_number()
        try:
            with self._whole_or_gone(number), writing_into(self):
                receive_folder(connected, self._path(number), length)
        except tarfile.TarError as error:
            raise StoreError(f"cannot unpack an archive: {error}") from None
        return self.settle(number)

    def unpack_far(self, archive: Readable) -> Stored:
        """Unpacks an archive into a new folder while it is read; tarfile.TarError as `unpack`."""
        number = self.new_number()
        with self._whole_or_gone(number), writing_into(self):
            unpack(archive, self._path(number))
        return self.settle(number)

    def link_in(self, place: SharedPlace, length: int, *, is_folder: bool) -> Stored | None:
        """Shares a file or folder of another governor on this machine; None if that does not work.

        Both then link to the same file, which exists until both have deleted it.
        """
        number = self.new_number(shared=not is_folder and place.device == self._device)
        source, target = Path(place.path), self._path(number)
        try:
            # The server stores directories of clients as archives, which must be unpacked.
            if not is_at(place, source) or source.is_dir() != is_folder:
                return None
            if is_folder:
                link_tree(source, target)
                # A folder is renamed before it is removed: if it is still there, it was complete.
                if not is_at(place, source):
                    self.delete([number])
                    return None
                make_read_only(target)
            elif not self._share_file(place, target):
                self.delete([number])
                return None
        except OSError:  # another user's, already removed, or a folder on another disk
            self.delete([number])
            return None
        return Stored(number, length)

    def _share_file(self, place: SharedPlace, target: Path) -> bool:
        """Links to the file or, from another filesystem, lets the kernel copy it."""
        try:
            target.hardlink_to(place.path)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
        else:
            return is_at(place, target)
        with Path(place.path).open("rb") as source, target.open("wb") as copy:
            status = os.fstat(source.fileno())
            if (status.st_dev, status.st_ino) != (place.device, place.inode):
                return False
            reserve(copy.fileno(), status.st_size)
            copy_bytes(source.fileno(), copy.fileno(), status.st_size)
            Stamp.of(source.fileno()).mark(copy.fileno())
            self.copied += status.st_size
        make_read_only(target)
        return True

    def take_in(self, path: Path, size: int) -> Stored:
        """Links to what a cache has, or copies it from another filesystem; it stays there."""
        from rain.cache import files  # noqa: PLC0415 # few governors use a cache

        number = self.new_number()
        target = self._path(number)
        try:
            with self._whole_or_gone(number):
                files.put(path, target, None)
                if target.is_dir():
                    make_read_only(target)
        except OSError as error:
            raise StoreError(f"cannot copy {path}: {error.strerror}") from None
        return Stored(number, size)

    def settle(self, number: int) -> Stored:
        """Makes a complete file or folder read-only."""
        path = self._path(number)
        make_read_only(path)
        if path.is_dir():
            return Stored(number, Archive.of(path).length)
        return Stored(number, path.stat().st_size)

    # From shared memory to the disk.

    def copy_out(self, number: int, is_over: Callable[[], bool]) -> None:
        """Copies a file to the disk; in a thread. Raises StoreError if the disk is full, or soon
        after it is over.
        """
        copy = self._copy_of(number)
        try:
            with self._path(number).open("rb") as source, copy.open("wb") as target:
                size = os.fstat(source.fileno()).st_size
                reserve(target.fileno(), size)
                for start in range(0, size, COPIED_AT_ONCE):
                    if is_over():
                        raise InterruptedError(errno.EINTR, "the governor ends")
                    length = min(size - start, COPIED_AT_ONCE)
                    copy_bytes(source.fileno(), target.fileno(), length)
                Stamp.of(source.fileno()).mark(target.fileno())
                os.fchmod(target.fileno(), stat.S_IMODE(os.fstat(source.fileno()).st_mode))
        except OSError as error:  # also if the object has gone meanwhile
            copy.unlink(missing_ok=True)
            raise StoreError(f"cannot write into {self.folder}: {error.strerror}") from None

    def leave_memory(self, number: int) -> Path:
        """Lets the copy on the disk take the place of the file; returns what is to be removed."""
        assert self.shared is not None
        going = self.shared / f".going-{number}"
        self._copy_of(number).rename(self.folder / str(number))
        self._path(number).rename(going)
        self._on_disk.add(number)
        return going

    def drop_copy(self, number: int) -> None:
        """The copy on the disk is not wanted."""
        self._copy_of(number).unlink(missing_ok=True)

    def _copy_of(self, number: int) -> Path:
        return self.folder / f".copy-{number}"

    # Removing.

    def delete(self, numbers: list[int]) -> None:
        """Removes files and folders that no object uses any more."""
        for number in numbers:
            path = self._path(number)
            if path.is_dir() and not path.is_symlink():
                # Renamed atomically, so that no reader sees a part of it.
                going = self.folder / f".going-{number}"
                path.rename(going)
                path = going
            self.remove(path)
            self._on_disk.discard(number)

    def discard(self, outputs: Outputs) -> None:
        """Removes what is stored of outputs of a task that comes to nothing."""
        for output in outputs:
            if isinstance(output, Made) and isinstance(output.content, Stored):
                self.delete([output.content.file])

    def remove(self, path: Path) -> None:
        """Removes a file or folder of the store, or keeps a file to be written over."""
        spares = self._spare_on_disk
        if self.shared is not None and path.is_relative_to(self.shared):
            spares = self._spare_in_memory
        if spares is None or not spares.keep(path):
            remove(path)

    def make_spares(self) -> None:
        """From now on deleted files may be kept to be written over."""
        if self.shared is not None:
            self._spare_on_disk = SpareFiles.make(str(self.folder))
            self._spare_in_memory = SpareFiles.make(str(self.shared))

    def allow_spares(self, on_disk: int, in_memory: int) -> bool:
        """This many bytes may be kept. Returns whether `trim_spares` has some to delete."""
        falls = self._spare_on_disk is not None and self._spare_on_disk.allow(on_disk)
        if self._spare_in_memory is not None:
            falls |= self._spare_in_memory.allow(in_memory)
        return falls

    def trim_spares(self) -> None:
        """Deletes what may not be kept any more; in a thread."""
        for spares in (self._spare_on_disk, self._spare_in_memory):
            if spares is not None:
                spares.trim()


def _other_device(shared: Path, folder: Path) -> int | None:
    """The device of shared memory, unless the other folder is there, too."""
    device = shared.stat().st_dev
    return None if device == folder.stat().st_dev else device
