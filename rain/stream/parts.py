"""The format of a partitioned object: an index, and then the pieces, some of which may be missing.

    magic | number of parts | offset and length of each piece | piece | piece | ...

Lengths are 0 where there is no piece. Pieces begin at multiples of 64 bytes, so that arrays in a
mapped file are aligned.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from struct import Struct
from typing import BinaryIO, TypeAlias

from rain.base.errors import RefusedError
from rain.stream.writing import in_pieces

Part: TypeAlias = bytes | memoryview

ALIGNMENT = 64
MAGIC = b"rainpart"

_HEAD = Struct("<8sQ")
_PLACE = Struct("<QQ")

ReadAt: TypeAlias = Callable[[int, int], bytes]
"""Reads a number of bytes from an offset on; fewer at the end."""


def laid_out(pieces: Sequence[Sequence[Part]]) -> list[Part]:
    """The bytes of an object with these pieces, each in several parts; an empty one is none."""
    end = _index_size(len(pieces))
    places: list[tuple[int, int]] = []
    behind: list[Part] = []
    for piece in pieces:
        length = sum(map(len, piece))
        if length:
            filling = -end % ALIGNMENT
            behind += [bytes(filling), *piece]
            end += filling
        places.append((end, length))
        end += length
    return [_index(places), *behind]


def write_laid_out(file: BinaryIO, pieces: Iterable[Sequence[Part]], count: int) -> None:
    """Writes the same bytes to a new file, of each piece as soon as it has come."""
    file.write(bytes(_index_size(count)))
    end = _index_size(count)
    places: list[tuple[int, int]] = []
    for piece in pieces:
        length = sum(map(len, piece))
        if length:
            filling = -end % ALIGNMENT
            file.write(bytes(filling))
            file.writelines(in_pieces(piece))
            end += filling
        places.append((end, length))
        end += length
    file.seek(0)
    file.write(_index(places))


def _index_size(count: int) -> int:
    return _HEAD.size + _PLACE.size * count


def _index(places: Sequence[tuple[int, int]]) -> bytes:
    return _HEAD.pack(MAGIC, len(places)) + b"".join(_PLACE.pack(*place) for place in places)


def count_of(read: ReadAt) -> int:
    """How many parts an object has; `RefusedError` if it has none."""
    head = read(0, _HEAD.size)
    if len(head) < _HEAD.size or not head.startswith(MAGIC):
        raise RefusedError("the object has no parts")
    count: int = _HEAD.unpack(head)[1]
    return count


def place_of(read: ReadAt, part: int) -> tuple[int, int]:
    """Offset and length of one piece; `RefusedError` if there is no such part."""
    count = count_of(read)
    if not 0 <= part < count:
        raise RefusedError(f"the object has {count} parts, and none with the number {part}")
    place = read(_HEAD.size + part * _PLACE.size, _PLACE.size)
    if len(place) < _PLACE.size:
        raise RefusedError("the index of the object is cut off")
    offset, length = _PLACE.unpack(place)
    return offset, length


def in_memory(data: Part) -> ReadAt:
    """Reads from bytes."""
    return lambda offset, length: bytes(data[offset : offset + length])


def in_file(descriptor: int) -> ReadAt:
    """Reads from an open file, of which only what is asked for comes from the disk from now on."""
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
    return lambda offset, length: os.pread(descriptor, length, offset)
