"""Reads a message as a dict of fields. Nothing outside of the message is ever looked at.

A message may lead a reader in circles, or say that it has millions of empty entries. So every word
that is read is counted, and no more are read than the message has, and no deeper than `DEEPEST`.
"""

from __future__ import annotations

import sys
from array import array
from struct import Struct, error, unpack_from
from typing import Any, Final, NamedTuple

from rain.rpc.capnproto.shape import Item, Shape, Slot
from rain.rpc.capnproto.values import UnreadableError

DEEPEST: Final = 32
"""So many structs and lists may lie in each other."""

SPARE_WORDS: Final = 64
"""So many more may be read than there are, since structs without fields count, too."""

_WORD: Final = 8
_POINTER: Final = Struct("<Q")
_CHOICE: Final = Struct("<H")
_NATIVE: Final = sys.byteorder == "little"
_READERS: Final = {letter: Struct(f"<{letter}") for letter in "bhiqBHIQfd"}
_LENGTHS: Final = {2: 1, 3: 2, 4: 4, 5: 8}  # bytes of a number, as a pointer to a list says it
_COMPOSITE: Final = 7


class Place(NamedTuple):
    """Where a pointer leads."""

    segment: int
    start: int
    low: int  # the pointer's own halves, of which the last one that was followed is kept
    high: int


class Message:
    """The segments of a message, and how many words may still be read."""

    __slots__ = ("content", "segments", "words")

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.words = len(content) // _WORD + SPARE_WORDS
        try:
            count = unpack_from("<I", content)[0] + 1
            lengths = unpack_from(f"<{count}I", content, 4)
        except (error, MemoryError):
            raise UnreadableError("a message without its table of segments") from None
        end = (4 + 4 * count + _WORD - 1) // _WORD * _WORD
        self.segments: list[tuple[int, int]] = []
        for length in lengths:
            start, end = end, end + _WORD * length
            self.segments.append((start, end))
        if end > len(content):
            raise UnreadableError("a message that is shorter than it says")

    def follow(self, segment: int, pointer: int) -> Place | None:
        """Where the pointer at this place leads; None when it is null."""
        word: int = _POINTER.unpack_from(self.content, pointer)[0]
        if not word:
            return None
        if word & 3 == 2:
            return self._follow_far(word)
        return self._near(segment, pointer, word)

    def _near(self, segment: int, pointer: int, word: int) -> Place:
        low, high = word & 0xFFFF_FFFF, word >> 32
        between = low >> 2
        if between & 1 << 29:
            between -= 1 << 30
        return Place(segment, pointer + _WORD + _WORD * between, low, high)

    def _follow_far(self, word: int) -> Place | None:
        """A pointer into another segment, to a word that says more."""
        segment, pad = self._landing(word)
        landed: int = _POINTER.unpack_from(self.content, pad)[0]
        if not word & 4:
            if landed & 3 == 2:
                raise UnreadableError("a pointer that leads to a pointer into another segment")
            return self._near(segment, pad, landed) if landed else None
        target, start = self._landing(landed)  # and the word behind it says what is there
        self.within(segment, pad, 2)
        described: int = _POINTER.unpack_from(self.content, pad + _WORD)[0]
        return Place(target, start, described & 0xFFFF_FFFF, described >> 32)

    def _landing(self, word: int) -> tuple[int, int]:
        segment = word >> 32
        if word & 3 != 2 or segment >= len(self.segments):
            raise UnreadableError("a pointer into a segment that is not there")
        place = self.segments[segment][0] + _WORD * ((word & 0xFFFF_FFFF) >> 3)
        self.within(segment, place, 1)
        return segment, place

    def within(self, segment: int, start: int, words: int) -> None:
        """These words are read: they must be in the segment, and not too many."""
        first, end = self.segments[segment]
        if start < first or start + _WORD * words > end:
            raise UnreadableError("a pointer out of its segment")
        self.words -= words
        if self.words < 0:
            raise UnreadableError("a message whose parts are read again and again")


class AnyPointer:
    """What a pointer without a type leads to, for one who knows what it is."""

    __slots__ = ("_deep", "_message", "_pointer", "_segment")

    def __init__(self, message: Message, segment: int, pointer: int, deep: int) -> None:
        self._message = message
        self._segment = segment
        self._pointer = pointer
        self._deep = deep

    def struct(self, shape: Shape) -> dict[str, Any]:
        """The fields of the struct that is there; their defaults if there is none."""
        try:
            return _struct(self._message, self._segment, self._pointer, shape, self._deep)
        except (error, ValueError) as wrong:
            raise UnreadableError(f"{shape.name}: {wrong}") from None

    def capability(self) -> int | None:
        """The place of the object that is there, if one is."""
        return _object(self._message, self._pointer)


def read(shape: Shape, content: bytes) -> dict[str, Any]:
    """Every field of a message."""
    message = Message(content)
    start, _ = message.segments[0]
    try:
        message.within(0, start, 1)
        return _struct(message, 0, start, shape, 0)
    except (error, ValueError) as wrong:
        raise UnreadableError(f"{shape.name}: {wrong}") from None


def _struct(
    message: Message, segment: int, pointer: int, shape: Shape, deep: int
) -> dict[str, Any]:
    place = message.follow(segment, pointer)
    if place is None:
        return defaults(shape)
    segment, start, low, high = place
    if low & 3:
        raise UnreadableError(f"{shape.name}: no struct is where one must be")
    data, pointers = high & 0xFFFF, high >> 16
    message.within(segment, start, data + pointers)
    middle = start + _WORD * data
    return _fields(
        message, segment, (start, middle, middle, middle + _WORD * pointers), shape, deep
    )


def _fields(
    message: Message, segment: int, where: tuple[int, int, int, int], shape: Shape, deep: int
) -> dict[str, Any]:
    """The fields of a struct whose data and pointers lie there; it may be shorter than ours."""
    values = {slot.name: _field(message, segment, where, slot, deep) for slot in shape.always}
    if shape.choices:
        data, middle, _, _ = where
        place = data + shape.choice_place
        chosen = _CHOICE.unpack_from(message.content, place)[0] if place + 2 <= middle else 0
        slot = shape.choices.get(chosen)
        if slot is None:
            raise UnreadableError(f"{shape.name} is something ({chosen}) that is not known here")
        values[slot.name] = _field(message, segment, where, slot, deep)
    return values


def _field(
    message: Message, segment: int, where: tuple[int, int, int, int], slot: Slot, deep: int
) -> Any:
    data, middle, pointers, end = where
    item, content = slot.item, message.content
    if item.letter:
        reader = _READERS[item.letter]
        place = data + slot.place
        if place + reader.size > middle:
            value = slot.default
        elif slot.default:
            kept, zero = content[place : place + reader.size], reader.pack(slot.default)
            value = reader.unpack(bytes(a ^ b for a, b in zip(kept, zero, strict=True)))[0]
        else:
            value = reader.unpack_from(content, place)[0]
        if not item.names:
            return value
        if value >= len(item.names):
            raise UnreadableError(f"{slot.name} has a value ({value}) that is not known here")
        return item.names[value]
    kind = item.kind
    if kind == "bool":
        place = data + slot.place // 8
        differs = place < middle and content[place] >> slot.place % 8 & 1 == 1
        return differs is not slot.default
    if kind == "group":
        assert item.shape is not None
        return _fields(message, segment, where, item.shape, deep)
    if kind == "void":
        return None
    pointer = pointers + _WORD * slot.place
    if pointer + _WORD > end:
        return _default(slot)
    if not _POINTER.unpack_from(content, pointer)[0]:
        return _default(slot)
    return _pointed(message, segment, pointer, item, deep)


def defaults(shape: Shape, around: tuple[Shape, ...] = ()) -> dict[str, Any]:
    """The fields of a struct that is not there. One that would hold itself is None."""
    around = (*around, shape)
    values = {slot.name: _default(slot, around) for slot in shape.always}
    if shape.choices:
        first = shape.choices[0]
        values[first.name] = _default(first, around)
    return values


def _default(slot: Slot, around: tuple[Shape, ...] = ()) -> Any:
    item = slot.item
    if item.shape is not None and item.kind != "list":
        return None if item.shape in around else defaults(item.shape, around)
    if item.names:
        return item.names[0]
    if item.letter or item.kind == "bool":
        return slot.default
    if item.kind == "list":
        return []
    return {"text": "", "data": b""}.get(item.kind)


def _pointed(message: Message, segment: int, pointer: int, item: Item, deep: int) -> Any:
    if deep >= DEEPEST:
        raise UnreadableError("a message that is too deep")
    kind = item.kind
    if kind == "text":
        return _text(message, segment, pointer)
    if kind == "data":
        return _bytes(message, segment, pointer)
    if kind == "list":
        assert item.entry is not None
        return _list(message, segment, pointer, item.entry, deep + 1)
    if kind == "struct":
        assert item.shape is not None
        return _struct(message, segment, pointer, item.shape, deep + 1)
    if kind == "interface":
        return _object(message, pointer)
    return AnyPointer(message, segment, pointer, deep + 1)


def _bytes(message: Message, segment: int, pointer: int) -> bytes:
    place = message.follow(segment, pointer)
    if place is None:
        return b""
    segment, start, low, high = place
    if low & 3 != 1 or high & 7 != 2:
        raise UnreadableError("no bytes are where they must be")
    count = high >> 3
    message.within(segment, start, (count + _WORD - 1) // _WORD)
    return message.content[start : start + count]


def _text(message: Message, segment: int, pointer: int) -> str:
    content = _bytes(message, segment, pointer)
    if not content:
        return ""
    if content[-1]:
        raise UnreadableError("a text that does not end")
    return content[:-1].decode()


def _object(message: Message, pointer: int) -> int | None:
    word: int = _POINTER.unpack_from(message.content, pointer)[0]
    if not word:
        return None
    if word & 0xFFFF_FFFF != 3:
        raise UnreadableError("no object is where one must be")
    return word >> 32


def _list(message: Message, segment: int, pointer: int, entry: Item, deep: int) -> list[Any]:
    place = message.follow(segment, pointer)
    if place is None:
        return []
    segment, start, low, high = place
    size, count = high & 7, high >> 3
    if low & 3 != 1:
        raise UnreadableError("no list is where one must be")
    if entry.letter:
        return _numbers(message, segment, start, size, count, entry)
    if entry.shape is not None:
        return _structs(message, segment, start, size, count, entry.shape, deep)
    if size != 6:
        raise UnreadableError("a list of something else than it must be")
    message.within(segment, start, count)
    one = _text if entry.kind == "text" else _bytes
    return [one(message, segment, start + _WORD * row) for row in range(count)]


def _numbers(
    message: Message, segment: int, start: int, size: int, count: int, entry: Item
) -> list[Any]:
    length = _READERS[entry.letter].size
    if _LENGTHS.get(size) != length:
        raise UnreadableError("a list of other numbers than it must be")
    message.within(segment, start, (count * length + _WORD - 1) // _WORD)
    part = message.content[start : start + count * length]
    numbers: array[Any] = array(entry.letter, part)
    if not _NATIVE:
        numbers.byteswap()
    return numbers.tolist()


def _structs(
    message: Message, segment: int, start: int, size: int, words: int, shape: Shape, deep: int
) -> list[Any]:
    if size != _COMPOSITE:
        raise UnreadableError(f"a list of something else than {shape.name}")
    message.within(segment, start, words + 1)
    tag: int = _POINTER.unpack_from(message.content, start)[0]
    count, data, pointers = (tag & 0xFFFF_FFFF) >> 2, tag >> 32 & 0xFFFF, tag >> 48
    if tag & 3 or count * (data + pointers) > words:
        raise UnreadableError(f"a list of {shape.name} that is shorter than it says")
    message.words -= count  # they may be empty
    if message.words < 0:
        raise UnreadableError(f"a list of {count} structs of {shape.name} in a small message")
    rows: list[Any] = []
    at = start + _WORD
    for _ in range(count):
        middle = at + _WORD * data
        end = middle + _WORD * pointers
        rows.append(_fields(message, segment, (at, middle, middle, end), shape, deep))
        at = end
    return rows
