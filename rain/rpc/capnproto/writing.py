"""Writes a dict of fields as a message of one segment."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Any, Final, NamedTuple

from rain.base.errors import InvariantError
from rain.rpc.capnproto.messages import (
    BYTE,
    CHOICE,
    COMPOSITE,
    LIST,
    NATIVE,
    OBJECT,
    POINTER,
    POINTERS,
    WORD,
)
from rain.rpc.capnproto.shapes import NO_UNION, Item, Shape, Slot, Writer

_HEAD: Final = 2 * WORD  # the table of segments, and the pointer to the root
_TABLE: Final = Struct("<II")
_NOWHERE: Final = 0xFFFF_FFFC  # a pointer to a struct without any fields
_PADDING: Final = [bytes(-length % WORD) for length in range(WORD)]


class Capability(NamedTuple):
    """An object in a field of any type, as its place in the table beside the message."""

    place: int


def write_message(shape: Shape, values: Mapping[str, Any]) -> bytes:
    """A whole message of one segment, with its table of segments."""
    out = bytearray(_HEAD)
    _struct(out, WORD, shape, values)
    _TABLE.pack_into(out, 0, 0, len(out) // WORD - 1)
    return bytes(out)


def writer_of(item: Item) -> Writer:
    """The function that writes such an item where a pointer leads."""
    if item.entry is not None:
        if item.entry.number is not None:
            return _numbers
        return _structs if item.entry.shape is not None else _LISTS[item.entry.kind]
    return _WRITERS.get(item.kind, item.write)


# Structs.


def _struct(out: bytearray, pointer: int, shape: Shape, values: Mapping[str, Any]) -> None:
    """Appends a struct, and points at it."""
    at = len(out)
    out += shape.empty
    sizes = shape.sizes
    POINTER.pack_into(out, pointer, at - pointer - WORD >> 1 | sizes if sizes else _NOWHERE)
    _fields(out, at, shape, values)


def _fields(out: bytearray, at: int, shape: Shape, values: Mapping[str, Any]) -> None:
    """Fills a struct that begins there."""
    slots = shape.slots
    for name, value in values.items():
        slot = slots.get(name)
        if slot is None:
            raise InvariantError(f"{shape.name} has no field {name!r}")
        if slot.choice != NO_UNION:
            CHOICE.pack_into(out, at + shape.choice_place, slot.choice)
        if slot.pack is not None:
            slot.pack(out, at + slot.begin, value)
        elif slot.write is None:
            _put(out, at, slot, value)
        elif value is not None:
            slot.write(out, at + slot.begin, slot.what, value)


def _put(out: bytearray, at: int, slot: Slot, value: Any) -> None:
    """Writes what lies in the struct itself, and is no number that is kept as it is."""
    item = slot.item
    if item.number is not None:
        number = item.numbers[value] if item.names else value
        item.number.pack_into(out, at + slot.begin, number ^ slot.default)
    elif item.kind == "group":
        _fields(out, at, item.what, value)
    elif item.kind == "bool" and bool(value) is not slot.default:
        byte, bit = divmod(slot.place, 8)
        out[at + byte] |= 1 << bit


# What pointers lead to.


def _list_pointer(out: bytearray, pointer: int, size: int, count: int) -> None:
    """Points to a list that is appended next."""
    between = len(out) - pointer - WORD >> 1  # words, times four
    POINTER.pack_into(out, pointer, LIST | between | size << 32 | count << 35)


def _bytes(out: bytearray, pointer: int, item: Item, value: bytes | bytearray | memoryview) -> None:
    _list_pointer(out, pointer, BYTE, len(value))
    out += value
    out += _PADDING[len(value) % WORD]


def _text(out: bytearray, pointer: int, item: Item, value: str) -> None:
    if value:
        _bytes(out, pointer, item, value.encode() + b"\0")


def _object(out: bytearray, pointer: int, item: Item, value: int) -> None:
    POINTER.pack_into(out, pointer, OBJECT | value << 32)


def _anything(out: bytearray, pointer: int, item: Item, value: Any) -> None:
    if isinstance(value, Capability):
        _object(out, pointer, item, value.place)
    else:
        shape, values = value
        _struct(out, pointer, shape, values)


# Lists.


def _numbers(out: bytearray, pointer: int, item: Item, values: Sequence[Any]) -> None:
    if not len(values):
        return
    letter, one, size = item.entries
    count, between = len(values), len(out) - pointer - WORD >> 1
    POINTER.pack_into(out, pointer, LIST | between | size << 32 | count << 35)
    if count == 1:
        out += one.pack(values[0])
    elif isinstance(values, array) and values.typecode == letter and NATIVE:
        out += memoryview(values).cast("B")
    else:
        out += Struct(f"<{count}{letter}").pack(*values)
    out += _PADDING[len(out) % WORD]


def _structs(
    out: bytearray, pointer: int, shape: Shape, values: Sequence[Mapping[str, Any]]
) -> None:
    """A list of structs: one behind the other, and before them a word that says how they look."""
    if not len(values):
        return
    words = len(shape.empty) // WORD
    _list_pointer(out, pointer, COMPOSITE, words * len(values))
    sizes = shape.data_bytes // WORD << 32 | shape.pointers << 48
    out += POINTER.pack(len(values) << 2 | sizes)
    at = len(out)
    out += shape.empty * len(values)
    for value in values:
        _fields(out, at, shape, value)
        at += len(shape.empty)


def _datas(out: bytearray, pointer: int, item: Item, values: Sequence[bytes]) -> None:
    """A list of strings of bytes: pointers to all of them, and then they themselves."""
    if not len(values):
        return
    _list_pointer(out, pointer, POINTERS, len(values))
    pointers: list[int] = []
    pieces: list[bytes] = []
    between = len(values) - 1  # words from behind a pointer to where its bytes begin
    for value in values:
        length = len(value)
        if length:
            pointers.append(LIST | between << 2 | BYTE << 32 | length << 35)
            pieces.append(value)
            if length & 7:
                pieces.append(_PADDING[length & 7])
            between += length + WORD - 1 >> 3
        else:
            pointers.append(0)
        between -= 1
    out += Struct(f"<{len(pointers)}Q").pack(*pointers)
    out += b"".join(pieces)


def _texts(out: bytearray, pointer: int, item: Item, values: Sequence[str]) -> None:
    _datas(out, pointer, item, [value.encode() + b"\0" if value else b"" for value in values])


_WRITERS: Final[Mapping[str, Writer]] = {
    "text": _text,
    "data": _bytes,
    "struct": _struct,
    "interface": _object,
    "anyPointer": _anything,
}
_LISTS: Final[Mapping[str, Writer]] = {"data": _datas, "text": _texts}
