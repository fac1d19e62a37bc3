"""Writes large data of a client into a file that has no name yet.

A client writes what it uploads once, from the memory of its values into a file. If the server runs
on the same machine, that file lies in the folder of the server's uploads: the client gives it a
name there, and nothing is copied again (`rain/stream/protocol.py`). An unnamed file disappears when
its program ends, in whatever way.

A program that cannot write into that folder (it is on another machine, belongs to another user, or
is outside of the container) makes the file in its temporary folder, and sends it through a socket.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from attrs import frozen

from rain.base.errors import ProtocolError
from rain.stream.mapping import map_descriptor
from rain.stream.protocol import NOBODY, SharedPlace
from rain.stream.writing import in_pieces, reserve

STAGED_FROM = 1 << 20
"""Data of at least this size is staged."""

MOST_OPEN = 128
"""Files of one program that may be staged at the same time: each takes a descriptor."""


@frozen
class UploadFolder:
    """The upload folder of a server, for clients on its machine."""

    machine: bytes
    place: SharedPlace

    @staticmethod
    def of(folder: Path, machine: bytes) -> UploadFolder | None:
        """That of a server which shares it; None if it does not know its machine."""
        if machine == NOBODY:
            return None
        status = folder.stat()
        return UploadFolder(machine, SharedPlace(str(folder), status.st_dev, status.st_ino))

    def spell(self) -> str:
        return f"{self.machine.hex()} {self.place.spell()}"

    @staticmethod
    def read(text: str) -> UploadFolder | None:
        """None for a server that does not share its folder."""
        if not text:
            return None
        machine, _, place = text.partition(" ")
        try:
            return UploadFolder(bytes.fromhex(machine), SharedPlace.read(place))
        except ValueError:
            raise ProtocolError(f"a server names the invalid machine {machine[:100]!r}") from None

    def for_us(self, machine: bytes) -> str:
        """The path, if this program has found the same folder there; else ""."""
        if machine != self.machine or machine == NOBODY:
            return ""
        place = self.place
        try:
            status = Path(place.path).stat()
        except OSError:  # another user's, or in a container
            return ""
        return place.path if (status.st_dev, status.st_ino) == (place.device, place.inode) else ""


class Staged:
    """One file, which does not change any more. It is removed with its last reference."""

    _open: ClassVar[set[int]] = set()  # descriptors; each change is a single step, without a lock

    def __init__(self, descriptor: int, length: int, *, is_linkable: bool) -> None:
        self.descriptor = descriptor  # for reading
        self.is_linkable = is_linkable  # whether it lies in the folder of a server
        self._length = length
        Staged._open.add(descriptor)

    def __len__(self) -> int:
        return self._length

    def __del__(self) -> None:
        Staged._open.discard(self.descriptor)  # first, since another file gets its number
        os.close(self.descriptor)

    def view(self) -> memoryview:
        """Its bytes."""
        return map_descriptor(self.descriptor, self._length)

    def link(self, path: str) -> None:
        """Gives it a name; `OSError` where that cannot be. It had none before."""
        itself = f"/proc/self/fd/{self.descriptor}"
        # Python follows the source only where a folder is named, though this path needs none.
        os.link(itself, path, src_dir_fd=self.descriptor, follow_symlinks=True)

    @staticmethod
    def has_room() -> bool:
        """Whether there may be another one."""
        return len(Staged._open) < MOST_OPEN


def stage(folder: str, parts: Sequence[bytes | memoryview]) -> Staged | None:
    """Writes data into a file in the folder of a server, or where that is "", in a temporary one.

    None if that cannot be: the caller then keeps the data in memory.
    """
    if not Staged.has_room():
        return None
    try:
        return _written(folder or _temporary_folder(), parts, is_linkable=bool(folder))
    except OSError:  # no room, or a file system that has no files without names
        return None


def _temporary_folder() -> str:
    from tempfile import gettempdir  # noqa: PLC0415 # few programs have large data elsewhere

    return gettempdir()


def _written(folder: str, parts: Sequence[bytes | memoryview], *, is_linkable: bool) -> Staged:
    length = sum(map(len, parts))
    flags = os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC
    writing = os.open(folder, flags, 0o600)
    try:
        _write_all(writing, parts, length)
        os.fchmod(writing, 0o444)  # tasks may read the file itself
        # A file that others have must not change: from here on nobody can write into it.
        reading = os.open(f"/proc/self/fd/{writing}", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(writing)
    return Staged(reading, length, is_linkable=is_linkable)


def _write_all(descriptor: int, parts: Sequence[bytes | memoryview], length: int) -> None:
    """Writes all parts behind each other."""
    reserve(descriptor, length)
    for piece in in_pieces(parts):
        left = memoryview(piece)
        while left:
            left = left[os.write(descriptor, left) :]
