"""Directories as tar archives for transport: generated while sending, unpacked while receiving.

No archive is stored, and only one header at a time is in memory. Equal directories give equal
bytes: entries are sorted by name and have no times and no owners, as in rain/common/fs.py.
"""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from attrs import define, frozen

from rain.base import modes
from rain.base.errors import RainError
from rain.stream.bodies import Body, Joined, OfMemory, OfPath, Zeros
from rain.stream.sockets import BUFFER, BrokenError, Incoming, receive_into
from rain.stream.unpacking import extract


class ChangedError(RainError):
    """A stored directory has changed since it was stored."""


class Writable(Protocol):
    """What an archive can be written to."""

    def write(self, data: bytes, /) -> object: ...


class Readable(Protocol):
    """What an archive can be read from."""

    def read(self, size: int, /) -> bytes: ...


@frozen
class _Part:
    """Bytes of the archive: a header, or a file and the zeros that fill its last block."""

    header: bytes
    path: Path | None
    size: int
    length: int  # including the zeros


@define(eq=False)
class Archive:
    """The archive of a folder; the contents of its files are not kept in memory."""

    length: int
    _parts: list[_Part]
    places: dict[str, tuple[int, int]]
    """Where the bytes of each file begin in the archive, and how many they are, by its path.

    So are links to files inside of the directory.
    """

    @staticmethod
    def of(folder: Path) -> Archive:
        """Lists the folder and makes the headers; reads no file."""
        parts: list[_Part] = []
        places: dict[str, tuple[int, int]] = {}
        links: list[tuple[str, Path]] = []
        end = 0
        for name, path in _walk(folder):
            info = _entry(name, path)
            header = info.tobuf(tarfile.PAX_FORMAT)
            parts.append(_Part(header, None, len(header), len(header)))
            end += len(header)
            if info.isreg():
                places[name.removeprefix("./")] = end, info.size
            elif info.issym():
                links.append((name.removeprefix("./"), path))
            if info.isreg() and info.size:
                length = -(-info.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
                parts.append(_Part(b"", path, info.size, length))
                end += length
        end += 2 * tarfile.BLOCKSIZE
        length = -(-end // tarfile.RECORDSIZE) * tarfile.RECORDSIZE
        if links:
            places |= _linked(folder.resolve(), links, places)
        return Archive(length, parts, places)

    def body(self) -> Joined:
        """What is sent of it; a folder that has changed breaks the stream."""
        bodies: list[Body] = []
        for part in self._parts:
            if part.path is None:
                bodies.append(OfMemory(part.header))
            else:
                bodies.append(OfPath(part.path, part.size))
                bodies.append(Zeros(part.length - part.size))
        sent = sum(part.length for part in self._parts)
        return Joined([*bodies, Zeros(self.length - sent)])

    def write(self, file: Writable) -> None:
        """Writes the archive to a file; raises as `send` does."""
        written = 0
        for part in self._parts:
            file.write(part.header)
            if part.path is not None:
                _write_part(file, part.path, part.size)
                file.write(bytes(part.length - part.size))
            written += part.length
        file.write(bytes(self.length - written))


def _linked(
    folder: Path, links: list[tuple[str, Path]], places: dict[str, tuple[int, int]]
) -> dict[str, tuple[int, int]]:
    """The places of the files that these links lead to, if they are in the folder."""
    found: dict[str, tuple[int, int]] = {}
    for name, link in links:
        target = os.path.realpath(link)  # resolve() raises for a loop of links
        place = places.get(os.path.relpath(target, folder))
        if place is not None:
            found[name] = place
    return found


def _walk(folder: Path) -> Iterator[tuple[str, Path]]:
    yield ".", folder
    yield from _below(".", folder)


def _below(prefix: str, folder: Path) -> Iterator[tuple[str, Path]]:
    for name in sorted(os.listdir(folder)):  # noqa: PTH208 # names are needed
        path = folder / name
        yield f"{prefix}/{name}", path
        if path.is_dir() and not path.is_symlink():
            yield from _below(f"{prefix}/{name}", path)


def _entry(name: str, path: Path) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    if path.is_symlink():
        info.type = tarfile.SYMTYPE
        info.linkname = str(path.readlink())
        info.mode = 0o777
    elif path.is_dir():
        info.type = tarfile.DIRTYPE
        info.mode = modes.FOLDER
    elif path.is_file():
        status = path.stat()
        info.size = status.st_size
        info.mode = modes.PROGRAM if status.st_mode & modes.ANY_EXECUTE else modes.FILE
    else:
        raise ChangedError(f"{path} is neither a file nor a directory nor a link")
    return info


def _write_part(file: Writable, path: Path, size: int) -> None:
    with path.open("rb") as source:
        if os.fstat(source.fileno()).st_size < size:
            raise ChangedError(f"{path} has become shorter")
        shutil.copyfileobj(source, file)


class _Arriving(io.RawIOBase):
    """The next `length` bytes of a socket as a file that can be read once."""

    def __init__(self, connected: Incoming, length: int) -> None:
        super().__init__()
        self._socket = connected
        self.left = length

    def readable(self) -> bool:
        return True

    # Accepts any buffer, like the base class with its more complicated type.
    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer)[: self.left]
        count = receive_into(self._socket, view)
        if count < len(view):
            raise BrokenError("the stream was cut off")
        self.left -= count
        return count


def receive_folder(connected: Incoming, target: Path, length: int) -> None:
    """Unpacks an archive of this length while it arrives; tarfile.TarError if it is not valid."""
    arriving = _Arriving(connected, length)
    with io.BufferedReader(arriving, BUFFER) as buffered:
        unpack(buffered, target)


def unpack(source: Readable, target: Path) -> None:
    """Unpacks an archive while it is read, to its end; tarfile.TarError if it is not valid."""
    file: Any = source  # tarfile wants no more than that in this mode
    with tarfile.open(fileobj=file, mode="r|", bufsize=tarfile.RECORDSIZE) as archive:
        extract(archive, target)
    while source.read(BUFFER):
        pass  # the zeros at its end
