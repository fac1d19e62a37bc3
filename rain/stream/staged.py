"""Writes large data of a client into a file that has no name yet.

A client writes what it uploads once, from the memory of its values into a file. If the server runs
on the same machine, that file lies in the folder of the server's uploads: the client gives it a
name there, and nothing is copied again (`rain/stream/protocol.py`). An unnamed file disappears when
its program ends, in whatever way. If the server keeps a file of about the same size, of an upload
that is gone, the client writes over that one (`rain/stream/spare_uploads.py`).

A program that cannot write into that folder (it is on another machine, belongs to another user, or
is outside of the container) makes the file in its temporary folder, and sends it through a socket.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from attrs import frozen

from rain.base.errors import ProtocolError
from rain.stream.mapping import map_descriptor
from rain.stream.protocol import NOBODY, SharedPlace
from rain.stream.spare_files import MARK
from rain.stream.spare_uploads import take_for_upload
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

    def __init__(self, descriptor: int, length: int, *, is_linkable: bool, taken: str = "") -> None:
        self.descriptor = descriptor  # for reading
        self.is_linkable = is_linkable  # whether it lies in the folder of a server
        self._length = length
        self._taken = taken  # the name of a file that was written over, until it gets another one
        Staged._open.add(descriptor)

    def __len__(self) -> int:
        return self._length

    def __del__(self) -> None:
        Staged._open.discard(self.descriptor)  # first, since another file gets its number
        os.close(self.descriptor)
        self._leave_name()

    def view(self) -> memoryview:
        """Its bytes."""
        return map_descriptor(self.descriptor, self._length)

    def link(self, path: str) -> None:
        """Gives it a name; `OSError` where that cannot be."""
        itself = f"/proc/self/fd/{self.descriptor}"
        # Python follows the source only where a folder is named, though this path needs none.
        os.link(itself, path, src_dir_fd=self.descriptor, follow_symlinks=True)
        self._leave_name()

    def _leave_name(self) -> None:
        if self._taken:
            with suppress(FileNotFoundError):  # the server has ended
                os.unlink(self._taken)  # noqa: PTH108 # also while the program ends
            self._taken = ""

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
    taken = take_for_upload(folder, length) if is_linkable else None
    if taken is not None:
        try:
            reading = _filled(os.open(taken, os.O_WRONLY | os.O_CLOEXEC), parts, length)
            return Staged(reading, length, is_linkable=True, taken=taken)
        except OSError:  # it cannot grow; a new file says why
            Path(taken).unlink()
    flags = os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC
    reading = _filled(os.open(folder, flags, 0o600), parts, length)
    return Staged(reading, length, is_linkable=is_linkable)


def _filled(writing: int, parts: Sequence[bytes | memoryview], length: int) -> int:
    """Writes all parts behind each other into an open file, and opens it for reading instead."""
    try:
        reserve(writing, length)
        for piece in in_pieces(parts):
            left = memoryview(piece)
            while left:
                left = left[os.write(writing, left) :]
        os.ftruncate(writing, length)  # a file that is written over may have been longer
        os.fchmod(writing, MARK | 0o444)  # tasks may read the file itself
        # A file that others have must not change: from here on nobody can write into it.
        return os.open(f"/proc/self/fd/{writing}", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(writing)
