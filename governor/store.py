"""Stored objects: files and folders in data/, each under its number, read-only.

The state knows objects, the store knows numbers. Small objects are in memory and never come here.
"""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import socket
import stat
import tarfile
from pathlib import Path

from rain.base.errors import RainError
from rain.governor.messages import Stored
from rain.stream.archive import Archive, ChangedError, receive_folder
from rain.stream.copying import copy_bytes
from rain.stream.protocol import SharedPlace
from rain.stream.sockets import receive_file

MEMORY_LIMIT = 256 * 1024
"""Objects from this size on are stored as files."""

_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class StoreError(RainError):
    """Something cannot be stored; says what and why."""


class NoRoomError(StoreError):
    """What has come from elsewhere cannot be written here, whoever gives it."""


class Store:
    """The folder data/ of one governor."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Numbers are drawn in threads too, and this count gives each to one of them.
        self._numbers = itertools.count(1)
        self.copied = 0  # bytes that were not shared though they were on this machine

    def path(self, number: int) -> Path:
        """Where the number is."""
        return self.folder / str(number)

    def new_number(self) -> int:
        """A number for something that is written now."""
        return next(self._numbers)

    def free(self) -> int:
        """How many bytes the disk has left for us."""
        status = os.statvfs(self.folder)
        return status.f_bavail * status.f_frsize

    # Storing.

    def write(self, data: bytes) -> Stored:
        """A new file with these bytes."""
        number = self.new_number()
        try:
            self.path(number).write_bytes(data)
        except OSError as error:
            self.path(number).unlink(missing_ok=True)
            raise StoreError(f"cannot write into {self.folder}: {error.strerror}") from None
        return self.settle(number)

    def keep(self, data: bytes) -> bytes | Stored:
        """The bytes themselves when they are few, else a file."""
        return data if len(data) < MEMORY_LIMIT else self.write(data)

    def adopt(self, path: Path) -> Stored:
        """Moves a file or folder from elsewhere on this machine into the store.

        What is reached through a link into the store belongs to another object, and is copied.
        """
        number = self.new_number()
        target = self.path(number)
        try:
            if path.is_symlink():
                _copy(path.resolve(strict=True), target)
                path.unlink()
            else:
                path.rename(target)
                self._own_links(target, target)
            return self.settle(number)
        except OSError as error:
            self.delete([number])
            raise StoreError(f"cannot store {path}: {error.strerror}") from None
        except ChangedError as error:  # a pipe, a socket or a device somewhere in a directory
            self.delete([number])
            raise StoreError(f"cannot store {path}: {error}") from None

    def adopts_at_once(self, path: Path) -> bool:
        """Whether to adopt it takes no longer than to move a file."""
        try:
            status = path.lstat()
            return stat.S_ISREG(status.st_mode) and status.st_dev == self.folder.stat().st_dev
        except OSError:
            return True  # it cannot be adopted, which is found at once

    def copy_in(self, path: Path) -> Stored:
        """A copy of a file or folder that stays where it is."""
        number = self.new_number()
        try:
            _copy(path, self.path(number))
            return self.settle(number)
        except OSError as error:
            self.delete([number])
            raise StoreError(f"cannot copy {path}: {error.strerror}") from None

    # From other governors; in threads.

    def receive(self, connected: socket.socket, length: int) -> Stored:
        """A new file with so many bytes of a socket, which go there without passing through us."""
        number = self.new_number()
        try:
            with self.path(number).open("wb") as file:
                reserve(file.fileno(), length)
                receive_file(connected, file.fileno(), length)
        except OSError as error:
            self.delete([number])
            raise NoRoomError(f"cannot write into {self.folder}: {error.strerror}") from None
        except RainError:
            self.delete([number])
            raise
        return self.settle(number)

    def receive_folder(self, connected: socket.socket, length: int) -> Stored:
        """A new folder, unpacked from the archive that a socket brings."""
        number = self.new_number()
        try:
            receive_folder(connected, self.path(number), length)
        except OSError as error:
            self.delete([number])
            raise NoRoomError(f"cannot write into {self.folder}: {error.strerror}") from None
        except tarfile.TarError as error:
            self.delete([number])
            raise StoreError(f"cannot unpack an archive: {error}") from None
        except RainError:
            self.delete([number])
            raise
        return self.settle(number)

    def link_in(self, place: SharedPlace, length: int, *, is_folder: bool) -> Stored | None:
        """Shares what another governor of this machine stores; None if that does not work.

        Both then have the same file, and it stays until both have let it go.
        """
        number = self.new_number()
        source, target = Path(place.path), self.path(number)
        try:
            # The server has directories of clients as archives, which must be unpacked.
            if not _is_at(place, source) or source.is_dir() != is_folder:
                return None
            if is_folder:
                _link_tree(source, target)
                # Who removes a folder moves it away first: if it is still there, all of it was.
                if not _is_at(place, source):
                    self.delete([number])
                    return None
                _make_read_only(target)
            elif not self._share_file(place, target):
                self.delete([number])
                return None
        except OSError:  # not our user's, or removed by now, or a folder elsewhere
            self.delete([number])
            return None
        return Stored(number, length)

    def _share_file(self, place: SharedPlace, target: Path) -> bool:
        """A link to the file or, from another filesystem, a copy made by the kernel."""
        try:
            target.hardlink_to(place.path)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
        else:
            return _is_at(place, target)
        with Path(place.path).open("rb") as source, target.open("wb") as copy:
            status = os.fstat(source.fileno())
            if (status.st_dev, status.st_ino) != (place.device, place.inode):
                return False
            reserve(copy.fileno(), status.st_size)
            copy_bytes(source.fileno(), copy.fileno(), status.st_size)
            self.copied += status.st_size
        _make_read_only(target)
        return True

    def settle(self, number: int) -> Stored:
        """The number is complete: from now on it is only read."""
        path = self.path(number)
        _make_read_only(path)
        if path.is_dir():
            return Stored(number, Archive.of(path).length)
        return Stored(number, path.stat().st_size)

    def _own_links(self, path: Path, adopted: Path) -> None:
        """Links to other objects of the store, somewhere in an adopted folder, become copies."""
        if not path.is_dir():
            return
        for entry in list(path.iterdir()):
            if not entry.is_symlink():
                self._own_links(entry, adopted)
                continue
            source = Path(os.path.realpath(entry))  # resolve() stumbles over links in circles
            is_other = source.is_relative_to(self.folder) and not source.is_relative_to(adopted)
            if is_other and source.exists():
                entry.unlink()
                _copy(source, entry)

    # Removing.

    def delete(self, numbers: list[int]) -> None:
        """Removes files and folders that no object has any more."""
        for number in numbers:
            path = self.path(number)
            if path.is_dir() and not path.is_symlink():
                # At once and whole, for whoever is just looking at it.
                going = self.folder / f".going-{number}"
                path.rename(going)
                path = going
            remove(path)


def reserve(descriptor: int, length: int) -> None:
    """Makes sure of the room for a file; OSError when the disk is too full for it."""
    if length:
        os.posix_fallocate(descriptor, 0, length)


def _is_at(place: SharedPlace, path: Path) -> bool:
    """Whether a path leads to that very file or folder."""
    status = path.lstat()
    return (status.st_dev, status.st_ino) == (place.device, place.inode)


def _link_tree(source: Path, target: Path) -> None:
    """The same folder once more, its files shared."""
    target.mkdir()
    for entry in source.iterdir():
        if entry.is_symlink():
            (target / entry.name).symlink_to(entry.readlink())
        elif entry.is_dir():
            _link_tree(entry, target / entry.name)
        else:
            (target / entry.name).hardlink_to(entry)


def remove(path: Path) -> None:
    """Removes a file, or a folder and all in it, read-only or not; what is gone is gone."""
    if path.is_dir() and not path.is_symlink():
        _make_folders_writable(path)
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
        _make_folders_writable(target)
    else:
        shutil.copyfile(source, target)
        target.chmod(stat.S_IMODE(source.stat().st_mode) | stat.S_IWUSR)


def _make_read_only(path: Path) -> None:
    if path.is_symlink():
        return  # what it points to is not ours
    if path.is_dir():
        for entry in path.iterdir():
            _make_read_only(entry)
    path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_WRITE)


def _make_folders_writable(path: Path) -> None:
    path.chmod(stat.S_IMODE(path.stat().st_mode) | stat.S_IRWXU)
    for entry in path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            _make_folders_writable(entry)
