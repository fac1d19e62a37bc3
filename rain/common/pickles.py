"""Pickles that need not be read to be loaded: their large buffers stay where they are.

A value with large buffers (numpy arrays, above all) becomes an ordinary pickle that anybody can
load, in which every large buffer lies in one piece at an aligned place. Behind its end, where no
unpickler looks, follows the same pickle once more without the buffers, and where in the file these
are. `load` reads only that where the data is a mapped file, and gives the value views of the
buffers. What is loaded belongs to its reader, whatever its size: a page of the file is copied when
it is written to, and nobody else sees that.

    pickle | the pickle without its buffers | offset and length of each buffer | footer
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any, TypeAlias

LARGE = 256 * 1024
"""Buffers from this size on stay where they are; smaller values are loaded as ever."""

ALIGNMENT = 64
MAGIC = b"rainview"

Part: TypeAlias = bytes | memoryview
Dump = Callable[..., bytes]
"""`pickle.dumps`, or cloudpickle's."""

WITHOUT_BUFFERS = frozenset({int, float, bool, str, bytes, type(None)})
"""Types whose values are always one part."""

_PLACE = Struct("<QQ")
_FOOTER = Struct("<QQQ8s")  # where the second pickle is, its length, the number of buffers
_LENGTH = Struct("<Q")
_MOST_TO_SCAN = 1024 * 1024
_MOST_PADDING = 255

# Operations of pickles (see pickletools).
_FRAME = "FRAME"
_BUFFER = "NEXT_BUFFER"
_READ_ONLY = "READONLY_BUFFER"
_BYTEARRAY = b"\x96"
_BYTES = b"\x8e"
_SHORT_BYTES = b"C"
_POP = b"0"


def dump_parts(dump: Dump, value: Any, protocol: int) -> list[Part]:
    """The pickle of a value, as parts that belong one behind the other; large ones are no copies.

    Whoever writes them must do so before the value changes.
    """
    if type(value) in WITHOUT_BUFFERS:
        return [dump(value, protocol)]
    buffers: list[memoryview] = []

    def stays_inside(buffer: pickle.PickleBuffer) -> bool:
        try:
            raw = buffer.raw()
        except BufferError:  # it is not in one piece
            return True
        if raw.nbytes < LARGE:
            return True
        buffers.append(raw)
        return False

    outside: bytes = dump(value, protocol, buffer_callback=stays_inside)
    if not buffers:
        return [outside]
    if len(outside) > _MOST_TO_SCAN:  # to find the buffers in it would cost more than it saves
        return [dump(value, protocol)]
    return _laid_out(outside, buffers)


def load(data: Part) -> Any:
    """The value of any pickle; the reader may change it, and nobody else sees that.

    Large buffers of a mapped file are not copied before somebody writes to them.
    """
    if len(data) < LARGE or isinstance(data, bytes):
        return pickle.loads(data)
    from rain.stream.mapping import own_bytes  # noqa: PLC0415 # few tasks need it

    view = own_bytes(data)
    places = None if view is None else _places(view)
    if view is None or places is None:
        return pickle.loads(data)
    start, length, buffers = places
    return pickle.loads(view[start : start + length], buffers=buffers)


def _places(view: memoryview) -> tuple[int, int, list[memoryview]] | None:
    """Where the pickle without buffers is, and these; None for a pickle like any other."""
    end = len(view) - _FOOTER.size
    if end < LARGE or bytes(view[-len(MAGIC) :]) != MAGIC:
        return None
    start, length, count, _ = _FOOTER.unpack(view[end:])
    if start + length + count * _PLACE.size != end:
        return None
    places = list(_PLACE.iter_unpack(view[start + length : end]))
    if any(offset + size > start for offset, size in places):
        return None
    return start, length, [view[offset : offset + size] for offset, size in places]


def _laid_out(outside: bytes, buffers: list[memoryview]) -> list[Part]:
    parts: list[Part] = []
    places: list[tuple[int, int]] = []
    end = 0
    for piece in _with_buffers(outside, buffers):
        if isinstance(piece, memoryview):
            places.append((end, len(piece)))
        else:
            operation, length = piece[-1 - _LENGTH.size :][:1], len(piece)
            if operation in {_BYTEARRAY, _BYTES}:  # a buffer is next
                padding = _padding(end + length)
                parts.append(padding)
                end += len(padding)
        parts.append(piece)
        end += len(piece)
    index = b"".join(_PLACE.pack(*place) for place in places)
    footer = _FOOTER.pack(end, len(outside), len(places), MAGIC)
    return [*parts, outside, index, footer]


def _padding(position: int) -> bytes:
    """Operations that do nothing, so that what would begin at the position is aligned behind."""
    short = len(_SHORT_BYTES) + 1 + len(_POP)
    size = -position % ALIGNMENT
    if not size:
        return b""
    filling = (size - short) % ALIGNMENT
    return _SHORT_BYTES + bytes([filling]) + bytes(filling) + _POP


def _with_buffers(outside: bytes, buffers: list[memoryview]) -> Iterator[Part]:
    """The pieces of the ordinary pickle; before each buffer a piece that is its header alone."""
    from pickletools import genops  # noqa: PLC0415 # only large values need it

    waiting = iter(buffers)
    copied = 0  # up to here the pickle was given
    buffer: memoryview | None = None
    for operation, _, position in genops(outside):
        if position is None:
            continue
        if buffer is not None:
            is_read_only = operation.name == _READ_ONLY
            yield (_BYTES if is_read_only else _BYTEARRAY) + _LENGTH.pack(len(buffer))
            yield buffer
            buffer = None
            if is_read_only:
                copied = position + 1
        if operation.name == _FRAME:  # frames tell lengths that are no longer right
            yield outside[copied:position]
            copied = position + 1 + _LENGTH.size
        elif operation.name == _BUFFER:
            yield outside[copied:position]
            copied = position + 1
            buffer = next(waiting)
    yield outside[copied:]
