"""Pickles whose large buffers can be memory-mapped instead of read.

A value with large buffers (mostly numpy arrays) becomes an ordinary pickle that any unpickler can
load, in which each large buffer is contiguous and aligned. After its end, where no unpickler reads,
follows the same pickle without the buffers, and the positions of the buffers in the file. If the
data is a mapped file, `load` reads only this second pickle, and the value refers to views of the
buffers. The loaded value belongs to its reader: pages are copied on write, so no other reader sees
changes.

A single buffer is large from 256 KiB on. Many smaller ones count if they are large together: a list
of a thousand arrays, or the columns of a table.

    pickle | the pickle without its buffers | offset and length of each buffer | footer
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from struct import Struct
from typing import Any, TypeAlias

LARGE = 256 * 1024
"""Buffers of at least this size are mapped; smaller values are loaded as usual."""

SMALL = 32 * 1024
"""Buffers of at least this size are mapped, too, if all of them are large together. Smaller buffers
are written twice.
"""

PICKLE_PROTOCOL = 5
"""That of all pickles that travel: the first one with separate buffers."""

ALIGNMENT = 64
MAGIC = b"rainview"

Part: TypeAlias = bytes | memoryview
Dump = Callable[..., bytes]
"""`pickle.dumps` or `cloudpickle.dumps`."""

WITHOUT_BUFFERS = frozenset({int, float, bool, str, bytes, type(None)})
"""Types whose pickles have no buffers; only large bytes have several parts."""

UNPICKLABLE = (TypeError, AttributeError, pickle.PicklingError, RuntimeError)
"""The exceptions of pickle, and of multiprocessing, for values that they cannot handle."""

REDUCERS: dict[type, Any] = {}
"""Reducers for types whose own pickles have no separate buffers; filled by `polars_frames` in a
program that uses polars.
"""

_PLACE = Struct("<QQ")
_FOOTER = Struct("<QQQ8s")  # position and length of the second pickle, number of buffers
_LENGTH = Struct("<Q")
_MOST_TO_SCAN = 1024 * 1024

# Pickle opcodes (see pickletools).
_FRAME = "FRAME"
_BUFFER = "NEXT_BUFFER"
_READ_ONLY = "READONLY_BUFFER"
_BYTES_BEHIND = b"\x80\x05\x8e"  # protocol 5, and as many bytes as follow
_STOP = b"."
_BYTEARRAY = b"\x96"
_BYTES = b"\x8e"
_SHORT_BYTES = b"C"
_POP = b"0"


def dump_parts(dump: Dump, value: Any, protocol: int) -> list[Part]:
    """Pickles a value as a list of consecutive parts; large parts are not copies.

    The caller must write them before the value changes.
    """
    if type(value) in WITHOUT_BUFFERS:
        if isinstance(value, bytes) and len(value) >= LARGE:
            return [_BYTES_BEHIND + _LENGTH.pack(len(value)), value, _STOP]
        return [dump(value, protocol)]
    if not REDUCERS and "polars" in sys.modules:
        import_module("rain.common.polars_frames")
    buffers: list[memoryview] = []
    inside = 0  # bytes of the smaller buffers that stay where they are

    def stays_inside(buffer: pickle.PickleBuffer) -> bool:
        nonlocal inside
        try:
            raw = buffer.raw()
        except BufferError:  # it is not contiguous
            return True
        size = raw.nbytes
        if size < LARGE and (size < SMALL or inside + size <= LARGE):
            inside += size
            return True
        buffers.append(raw)
        return False

    outside: bytes = dump(value, protocol, buffer_callback=stays_inside)
    if not buffers:
        return [outside]
    if len(outside) > _MOST_TO_SCAN:  # searching it for buffers would cost more than it saves
        return [dump(value, protocol)]
    if inside >= SMALL:  # these buffers are large together with the others, so none of them stays
        inside = LARGE
        buffers.clear()
        outside = dump(value, protocol, buffer_callback=stays_inside)
    return _laid_out(outside, buffers)


def length_of(parts: Sequence[Part]) -> int:
    """How many bytes these parts have together."""
    return len(parts[0]) if len(parts) == 1 else sum(map(len, parts))


def joined(parts: Sequence[Part]) -> bytes:
    """All of them in memory."""
    first = parts[0]
    return first if len(parts) == 1 and isinstance(first, bytes) else b"".join(parts)


def load(data: Part) -> Any:
    """Loads any pickle; the reader may change the value, and nobody else sees that.

    Large buffers of a mapped file are copied on write only.
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
    """Finds the pickle without buffers, and the buffers; None for an ordinary pickle."""
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
            if operation in {_BYTEARRAY, _BYTES}:  # a buffer follows
                padding = _padding(end + length)
                parts.append(padding)
                end += len(padding)
        parts.append(piece)
        end += len(piece)
    index = b"".join(_PLACE.pack(*place) for place in places)
    footer = _FOOTER.pack(end, len(outside), len(places), MAGIC)
    return [*parts, outside, index, footer]


def _padding(position: int) -> bytes:
    """No-op opcodes that pad a position to the alignment."""
    short = len(_SHORT_BYTES) + 1 + len(_POP)
    size = -position % ALIGNMENT
    if not size:
        return b""
    filling = (size - short) % ALIGNMENT
    return _SHORT_BYTES + bytes([filling]) + bytes(filling) + _POP


def _with_buffers(outside: bytes, buffers: list[memoryview]) -> Iterator[Part]:
    """Yields the pieces of the ordinary pickle; each buffer follows a piece with its header."""
    from pickletools import genops  # noqa: PLC0415 # only large values need it

    waiting = iter(buffers)
    copied = 0  # the pickle was yielded up to here
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
        if operation.name == _FRAME:  # the lengths of frames are no longer right
            yield outside[copied:position]
            copied = position + 1 + _LENGTH.size
        elif operation.name == _BUFFER:
            yield outside[copied:position]
            copied = position + 1
            buffer = next(waiting)
    yield outside[copied:]
