"""Stored objects: files and folders in data/, each under its number, read-only.

The state knows objects, the store knows numbers. Small objects are in memory and never come here.
"""

from __future__ import annotations

import itertools
import os
import shutil
import stat
import tarfile
from pathlib import Path

from rain.base.errors import RainError
from rain.governor.archive import Archive, ChangedError
from rain.governor.messages import Content, Stored

MEMORY_LIMIT = 256 * 1024
"""Objects from this size on are stored as files."""

ARCHIVES_REMEMBERED = 32

_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class StoreError(RainError):
    """Something cannot be stored; says what and why."""


class Store:
    """The folder data/ of one governor."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Numbers are drawn in threads too, and this count gives each to one of them.
        self._numbers = itertools.count(1)
        self._archives: dict[int, Archive] = {}  # of stored folders, the last used one at the end

    def path(self, number: int) -> Path:
        """Where the number is."""
        return self.folder / str(number)

    def new_number(self) -> int:
        """A number for something that is written now."""
        return next(self._numbers)

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

    def copy_in(self, path: Path) -> Stored:
        """A copy of a file or folder that stays where it is."""
        number = self.new_number()
        try:
            _copy(path, self.path(number))
            return self.settle(number)
        except OSError as error:
            self.delete([number])
            raise StoreError(f"cannot copy {path}: {error.strerror}") from None

    def unpack(self, number: int, archive: Path) -> Stored:
        """Turns an archive into the folder with this number."""
        try:
            with tarfile.open(archive, "r:") as opened:
                opened.extraction_filter = getattr(tarfile, "data_filter", None)
                opened.extractall(self.path(number))
        except (OSError, tarfile.TarError) as error:
            self.delete([number])
            raise StoreError(f"cannot unpack an archive: {error}") from None
        return self.settle(number)

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
            source = entry.resolve()
            is_other = source.is_relative_to(self.folder) and not source.is_relative_to(adopted)
            if is_other and source.exists():
                entry.unlink()
                _copy(source, entry)

    # Reading.

    def read(self, content: Content, offset: int, size: int) -> tuple[int, bytes]:
        """The length of the transport form, and one piece of it."""
        if isinstance(content, bytes):
            return len(content), content[offset : offset + size]
        path = self.path(content)
        if path.is_dir():
            archive = self._archive(content)
            return archive.length, archive.read(offset, size)
        with path.open("rb") as file:
            descriptor = file.fileno()
            return os.fstat(descriptor).st_size, os.pread(descriptor, size, offset)

    def _archive(self, number: int) -> Archive:
        archive = self._archives.pop(number, None) or Archive.of(self.path(number))
        self._archives[number] = archive
        while len(self._archives) > ARCHIVES_REMEMBERED:
            del self._archives[next(iter(self._archives))]
        return archive

    # Removing.

    def delete(self, numbers: list[int]) -> None:
        """Removes files and folders that no object has any more."""
        for number in numbers:
            self._archives.pop(number, None)
            remove(self.path(number))


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
