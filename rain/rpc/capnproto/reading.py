"""Reads a message as a dict of fields. It never reads outside of the message."""

from __future__ import annotations

from array import array
from struct import Struct
from typing import Any, Final

from rain.rpc.capnproto.compiled import FieldsReader, fields_reader
from rain.rpc.capnproto.messages import (
    BYTE,
    CHOICE,
    COMPOSITE,
    DEEPEST,
    LIST,
    NATIVE,
    OBJECT,
    POINTER,
    POINTERS,
    WORD,
    Message,
    UnreadableError,
)
from rain.rpc.capnproto.shapes import Item, Reader, Shape, Slot

# Pointers to lists that lie behind them, in the same segment.
_NEAR_MASK: Final = 7 << 32 | 1 << 31 | 3
_AHEAD_MASK: Final = 1 << 31 | 3  # zeros if it leads to a struct behind it, in the same segment
_NEAR_BYTES: Final = LIST | BYTE << 32
_NEAR_POINTERS: Final = LIST | POINTERS << 32


class AnyPointer:
    """The target of a pointer without a type (AnyPointer), for a caller that knows the type."""

    __slots__ = ("_deep", "_message", "_place", "_word")

    def __init__(self, message: Message, place: int, word: int, deep: int) -> None:
        self._message = message
        self._place = place
        self._word = word
        self._deep = deep

    def struct(self, shape: Shape) -> dict[str, Any]:
        """The fields of the struct that is there; their defaults if there is none."""
        return _struct(self._message, self._place, self._word, shape, self._deep)

    def capability(self) -> int | None:
        """The place of the object that is there, if one is."""
        return _object_place(self._word)


def read_message(shape: Shape, content: bytes | bytearray | memoryview) -> dict[str, Any]:
    """Every field of a whole message; `UnreadableError` when it is none."""
    message = Message(bytes(content))
    start = message.segments[0]
    message.take(start, 1)
    root: int = POINTER.unpack_from(message.content, start)[0]
    return _struct(message, start, root, shape, 0)


def reader_of(item: Item) -> Reader:
    """The function that reads such an item where a pointer leads."""
    if item.entry is not None:
        if item.entry.number is not None:
            return _numbers
        return _structs if item.entry.shape is not None else _LISTS[item.entry.kind]
    return _READERS.get(item.kind, item.read)


# Structs.


def _struct(message: Message, place: int, word: int, shape: Shape, deep: int) -> dict[str, Any]:
    if deep > DEEPEST:
        raise UnreadableError(f"{shape.name}: structs lie too deep in each other")
    if not word:  # it is not there: its defaults
        start, data, pointers, taken = 0, 0, 0, 1
    else:
        if word & _AHEAD_MASK:
            start, word = message.target(place, word)
            if word & 3:
                raise UnreadableError(f"{shape.name}: no struct is where one must be")
        else:
            start = place + WORD + ((word & 0xFFFF_FFFF) << 1)
        data, pointers = word >> 32 & 0xFFFF, word >> 48
        taken = data + pointers
    message.words -= taken
    if message.words < 0 or start + WORD * taken > message.end:
        raise message.refusal()
    middle = start + WORD * data
    read = shape.read_fields or _fields_of(shape)
    return read(message, start, middle, middle + WORD * pointers, deep + 1)


def _fields_of(shape: Shape) -> FieldsReader:
    """The function that reads the fields of such a struct."""
    if shape.read_fields is None:
        shape.read_fields = fields_reader(shape, _CALLED)
    return shape.read_fields


def _meaning(struct: str, slot: Slot, number: Any) -> Any:
    """The value of a number that is not kept as it is: that of an enum, or one with a default."""
    if slot.default:
        number ^= slot.default
    names = slot.item.names
    if not names:
        return number
    if number >= len(names):
        raise UnreadableError(f"{struct}.{slot.name} is {number}, which is not known here")
    return names[number]


def _unknown(struct: str, chosen: int) -> UnreadableError:
    return UnreadableError(f"{struct} is something ({chosen}) that is not known here")


# What pointers lead to.


def _list(message: Message, place: int, word: int, size: int) -> tuple[int, int]:
    """Where a list of such entries lies: its first byte, and how many entries it has."""
    start, word = message.target(place, word)
    if word & 3 != LIST or word >> 32 & 7 != size:
        raise UnreadableError("a list of something else than it must be, or none")
    return start, word >> 35


def _bytes(message: Message, place: int, word: int, item: Item, deep: int) -> bytes:
    start, count = _list(message, place, word, BYTE)
    message.take(start, (count + WORD - 1) // WORD)
    return message.content[start : start + count]


def _text(message: Message, place: int, word: int, item: Item, deep: int) -> str:
    return _decoded(_bytes(message, place, word, item, deep))


def _decoded(content: bytes) -> str:
    if not content:
        return ""
    if content[-1]:
        raise UnreadableError("a text that does not end")
    try:
        return content[:-1].decode()
    except UnicodeDecodeError as wrong:
        raise UnreadableError(f"a text is not UTF-8: {wrong}") from None


def _object_place(word: int) -> int | None:
    if not word:
        return None
    if word & 0xFFFF_FFFF != OBJECT:
        raise UnreadableError("no object is where one must be")
    return word >> 32


def _object(message: Message, place: int, word: int, item: Item, deep: int) -> int | None:
    return _object_place(word)


def _anything(message: Message, place: int, word: int, item: Item, deep: int) -> AnyPointer:
    return AnyPointer(message, place, word, deep)


# Lists.


def _numbers(message: Message, place: int, word: int, item: Item, deep: int) -> list[Any]:
    letter, one, size = item.entries
    if word & _NEAR_MASK == LIST | size << 32:
        start, count = place + WORD + ((word & 0x7FFF_FFFC) << 1), word >> 35
    else:
        start, count = _list(message, place, word, size)
    length = one.size * count
    message.words -= length + WORD - 1 >> 3
    if message.words < 0 or start + length > message.end:
        raise message.refusal()
    if count == 1:
        return [*one.unpack_from(message.content, start)]
    part: Any = message.view[start : start + length]
    if NATIVE:
        numbers: list[Any] = part.cast(letter).tolist()
        return numbers
    turned = array(letter, bytes(part))
    turned.byteswap()
    return turned.tolist()


def _structs(message: Message, place: int, word: int, shape: Shape, deep: int) -> list[Any]:
    if deep > DEEPEST:
        raise UnreadableError(f"{shape.name}: structs lie too deep in each other")
    start, words = _list(message, place, word, COMPOSITE)
    message.take(start, words + 1)
    tag: int = POINTER.unpack_from(message.content, start)[0]
    count, data, pointers = (tag & 0xFFFF_FFFF) >> 2, tag >> 32 & 0xFFFF, tag >> 48
    if tag & 3 or count * (data + pointers) > words:
        raise UnreadableError(f"a list of {shape.name} that is shorter than it says")
    message.words -= count  # they may be empty
    if message.words < 0:
        raise message.refusal()
    rows: list[Any] = []
    read = _fields_of(shape)
    at = start + WORD
    for _ in range(count):
        middle = at + WORD * data
        end = middle + WORD * pointers
        rows.append(read(message, at, middle, end, deep + 1))
        at = end
    return rows


def _datas(message: Message, place: int, word: int, item: Item, deep: int) -> list[bytes]:
    """A list of strings of bytes: one of them for every task of a message."""
    if word & _NEAR_MASK == _NEAR_POINTERS:
        start, count = place + WORD + ((word & 0x7FFF_FFFC) << 1), word >> 35
    else:
        start, count = _list(message, place, word, POINTERS)
    message.take(start, count)
    content, end = message.content, message.end
    rows: list[bytes] = []
    append, room = rows.append, WORD * message.words  # many may lead to the same bytes
    behind = range(start + WORD, start + WORD + WORD * count, WORD)
    for at, row in zip(behind, Struct(f"<{count}Q").unpack_from(content, start), strict=True):
        if row & _NEAR_MASK == _NEAR_BYTES:  # bytes that lie behind it, as nearly always
            first = at + ((row & 0x7FFF_FFFC) << 1)
            last = first + (row >> 35)
            room -= row >> 35
            if last > end:
                raise UnreadableError("a pointer out of its message")
            if room < 0:
                raise UnreadableError("a message whose parts are read again and again")
            append(content[first:last])
        elif row:
            append(_bytes(message, at - WORD, row, item, deep))
        else:
            append(b"")
    message.words = min(message.words, room // WORD)
    return rows


def _texts(message: Message, place: int, word: int, item: Item, deep: int) -> list[str]:
    return [*map(_decoded, _datas(message, place, word, item, deep))]


_READERS: Final[dict[str, Reader]] = {
    "text": _text,
    "data": _bytes,
    "struct": _struct,
    "interface": _object,
    "anyPointer": _anything,
}
_LISTS: Final[dict[str, Reader]] = {"data": _datas, "text": _texts}

_CALLED: Final = {"meaning": _meaning, "unknown": _unknown, "choice": CHOICE}
"""The names that the generated functions of structs use."""
