"""Requests for ranges of objects, and the answers to them.

A range is some bytes of a blob, or of one file of a directory. Nothing else of the object is sent.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from struct import Struct
from typing import BinaryIO

from attrs import frozen

from rain.base.errors import ProtocolError, RainError
from rain.stream import sockets
from rain.stream.blocks import answer_with, body_of
from rain.stream.bodies import Body, OfFile, OfMemory
from rain.stream.holder import InFar, InFile, InFolder, InMemory
from rain.stream.host_links import HostLinks
from rain.stream.protocol import TEXT_LIMIT, Say, StreamAnswer, number_in
from rain.stream.sockets import BrokenError, Connected

_RANGE = Struct("!QQI")

LARGEST = 1 << 62
"""No object has as many bytes; as the end of a range it means that of the object."""


class NoSuchFileError(RainError):
    """A directory does not have the file, or the object is no directory, or is one."""


@frozen
class Range:
    """The bytes from `start` to `stop`, or to the end if that comes first."""

    start: int
    stop: int
    path: str = ""  # of a file, if the object is a directory

    def encode(self) -> bytes:
        """What follows a request that asks for it."""
        path = self.path.encode(errors="surrogateescape")
        return _RANGE.pack(self.start, self.stop, len(path)) + path

    @staticmethod
    def receive(connected: Connected) -> Range:
        """Reads it; ProtocolError if it cannot be one."""
        start, stop, length = _RANGE.unpack(sockets.receive_rest(connected, _RANGE.size))
        if length > TEXT_LIMIT or not start <= stop <= LARGEST:
            raise ProtocolError(f"a stream asks for the range {start}-{stop} of {length} letters")
        path = sockets.receive_rest(connected, length)
        return Range(start, stop, path.decode(errors="surrogateescape"))


@frozen
class Piece:
    """The bytes of a range, and how many the whole blob or file has."""

    data: bytes
    size: int


@frozen
class _Place:
    """Where the bytes of a blob or file begin in what holds them, and how many they are."""

    file: BinaryIO
    start: int
    size: int

    def clip(self, wanted: Range) -> tuple[int, int]:
        """Where the range begins in the file, and its length."""
        start = min(wanted.start, self.size)
        return self.start + start, min(wanted.stop, self.size) - start


def piece_of(data: bytes | memoryview, wanted: Range) -> Piece:
    """The range of an object whose bytes are here: those of a blob, or the archive of a directory.

    NoSuchFileError if there is no such file.
    """
    with _found(InMemory(bytes(data)), wanted.path) as place:
        start, length = place.clip(wanted)
        place.file.seek(start)
        return Piece(place.file.read(length), place.size)


def give_range(
    connected: Connected,
    held: InMemory | InFile | InFolder,
    wanted: Range,
    links: HostLinks | None,
) -> None:
    """Answers with the range; the text has the size of the whole.

    It is sent in blocks over one of these links if that pays.
    """
    try:
        with _found(held, wanted.path) as place:
            start, length = place.clip(wanted)
            body: Body
            if isinstance(held, InMemory):
                body = OfMemory(held.data[start : start + length])
            else:
                body = OfFile(place.file.fileno(), start, length)
            answer = StreamAnswer(Say.BYTES, length, str(place.size))
            link = None if links is None else links.for_body(connected, length, blocks=True)
            answer_with(connected, answer, body, link)
    except NoSuchFileError as error:
        sockets.send(connected, StreamAnswer(Say.REFUSED, text=str(error)).encode())


def give_far_range(connected: Connected, held: InFar, wanted: Range) -> None:
    """As `give_range`; only these bytes are asked for."""
    try:
        begin, size = (0, held.size) if held.files is None else _far_file(held.files, wanted.path)
    except NoSuchFileError as error:
        sockets.send(connected, StreamAnswer(Say.REFUSED, text=str(error)).encode())
        return
    start, stop = min(wanted.start, size), min(wanted.stop, size)
    data = held.part(begin + start, begin + stop) if stop > start else b""
    sockets.send(connected, StreamAnswer(Say.BYTES, len(data), str(size)).encode())
    sockets.send(connected, data)


def _far_file(files: Mapping[str, tuple[int, int]], path: str) -> tuple[int, int]:
    if not path:
        raise NoSuchFileError("it is a directory: name one of its files")
    _expect_inside(path)
    found = files.get(str(PurePosixPath(path)))
    if found is None:
        raise NoSuchFileError(f"it has no file {path!r}")
    return found


def receive_piece(connected: Connected, answer: StreamAnswer) -> Piece:
    """Reads what has been answered."""
    size = number_in(answer.text)
    if size is None:
        raise ProtocolError("a stream does not say how large the whole of a range is")
    data = bytearray(answer.length)
    body = body_of(connected, answer)
    if sockets.receive_into(body, memoryview(data)) < answer.length:
        raise BrokenError("the stream was cut off")
    return Piece(bytes(data), size)


@contextmanager
def _found(held: InMemory | InFile | InFolder, path: str) -> Generator[_Place, None, None]:
    if isinstance(held, InFolder):
        with _opened(held.path, path) as file:
            yield _Place(file, 0, os.fstat(file.fileno()).st_size)
        return
    whole: BinaryIO
    if isinstance(held, InMemory):
        whole, size = io.BytesIO(held.data), len(held.data)
    else:
        whole = os.fdopen(os.dup(held.descriptor), "rb")
        size = os.fstat(held.descriptor).st_size
    with whole:
        yield _in_archive(whole, path) if path else _Place(whole, 0, size)


def _opened(folder: Path, path: str) -> BinaryIO:
    if not path:
        raise NoSuchFileError("it is a directory: name one of its files")
    _expect_inside(path)
    try:
        found = (folder / path).resolve(strict=True)
        if found.is_relative_to(folder.resolve()) and found.is_file():
            return found.open("rb")
    except OSError:
        pass
    raise NoSuchFileError(f"it has no file {path!r}")


def _in_archive(whole: BinaryIO, path: str) -> _Place:
    """A file in the archive of a directory, as clients upload it and memory holds it."""
    _expect_inside(path)
    wanted = PurePosixPath(path)
    try:
        whole.seek(0)
        with tarfile.open(fileobj=whole, mode="r:") as archive:
            for entry in archive:
                if entry.isreg() and PurePosixPath(entry.name) == wanted:
                    return _Place(whole, entry.offset_data, entry.size)
    except tarfile.TarError:
        raise NoSuchFileError(f"it is no directory, and has no file {path!r}") from None
    raise NoSuchFileError(f"it has no file {path!r}")


def _expect_inside(path: str) -> None:
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or "\0" in path:
        raise NoSuchFileError(f"{path!r} is not a path inside of a directory")
