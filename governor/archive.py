"""Directories as tar archives, for transport: read in pieces, without writing an archive anywhere.

Equal directories give equal bytes: entries in the order of their names, no times and no owners, the
same rules as rain/common/fs.py.
"""

from __future__ import annotations

import os
import tarfile
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from attrs import define, frozen

from rain.base.errors import RainError

_FOLDER_MODE = 0o755
_FILE_MODE = 0o644
_PROGRAM_MODE = 0o755
_ANY_EXECUTE = 0o111


class ChangedError(RainError):
    """A stored directory is not what it was when it was stored."""


@frozen
class _Part:
    """Bytes of the archive: a header, or a file and the zeros that fill its last block."""

    start: int
    header: bytes
    path: Path | None
    size: int
    length: int  # with the zeros


@define(eq=False)
class Archive:
    """The archive that a folder would be; nothing of its files is kept in memory."""

    length: int
    _parts: list[_Part]
    _starts: list[int]

    @staticmethod
    def of(folder: Path) -> Archive:
        """Looks at every entry of the folder, and reads none."""
        parts: list[_Part] = []
        end = 0
        for name, path in _walk(folder):
            info = _entry(name, path)
            header = info.tobuf(tarfile.PAX_FORMAT)
            parts.append(_Part(end, header, None, len(header), len(header)))
            end += len(header)
            if info.isreg() and info.size:
                length = -(-info.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
                parts.append(_Part(end, b"", path, info.size, length))
                end += length
        end += 2 * tarfile.BLOCKSIZE
        length = -(-end // tarfile.RECORDSIZE) * tarfile.RECORDSIZE
        return Archive(length, parts, [part.start for part in parts])

    def read(self, offset: int, size: int) -> bytes:
        """Some bytes from the middle of the archive."""
        stop = min(offset + size, self.length)
        pieces: list[bytes] = []
        position = max(bisect_right(self._starts, offset) - 1, 0)
        while offset < stop and position < len(self._parts):
            part = self._parts[position]
            take = min(stop, part.start + part.length) - offset
            if take > 0:
                pieces.append(_read_part(part, offset - part.start, take))
                offset += take
            position += 1
        pieces.append(bytes(max(stop - offset, 0)))
        return b"".join(pieces)


def _walk(folder: Path) -> Iterator[tuple[str, Path]]:
    yield ".", folder
    yield from _below(".", folder)


def _below(prefix: str, folder: Path) -> Iterator[tuple[str, Path]]:
    for name in sorted(os.listdir(folder)):  # noqa: PTH208 # names are wanted
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
        info.mode = _FOLDER_MODE
    elif path.is_file():
        status = path.stat()
        info.size = status.st_size
        info.mode = _PROGRAM_MODE if status.st_mode & _ANY_EXECUTE else _FILE_MODE
    else:
        raise ChangedError(f"{path} is neither a file nor a directory nor a link")
    return info


def _read_part(part: _Part, offset: int, size: int) -> bytes:
    if part.path is None:
        return part.header[offset : offset + size]
    wanted = min(size, max(part.size - offset, 0))
    with part.path.open("rb") as file:
        data = os.pread(file.fileno(), wanted, offset)
    if len(data) < wanted:
        raise ChangedError(f"{part.path} has become shorter")
    return data + bytes(size - wanted)
