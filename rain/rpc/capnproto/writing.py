"""Writes a dict of fields as a message of one segment."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from struct import Struct
from typing import Any, Final

from rain.base.errors import InvariantError
from rain.rpc.capnproto.shape import Item, Shape, Slot
from rain.rpc.capnproto.values import Capability, Content

_WORD: Final = 8
_HEAD: Final = 2 * _WORD  # the table of segments, and the pointer to the root
_NATIVE: Final = sys.byteorder == "little"

_POINTER: Final = Struct("<Q")
_TABLE: Final = Struct("<II")
_CHOICE: Final = Struct("<H")

_SIZES: Final = {"b": 2, "B": 2, "h": 3, "H": 3, "i": 4, "I": 4, "f": 4, "q": 5, "Q": 5, "d": 5}
"""How a pointer to a list says how long each number is."""

_PACKERS: Final = {letter: Struct(f"<{letter}") for letter in _SIZES}

_OBJECT: Final = 3  # the lowest bits of a pointer to a capability


def write(shape: Shape, values: Mapping[str, Any]) -> bytes:
    """A whole message."""
    out = bytearray(_HEAD)
    _struct(out, _WORD, shape, values)
    _TABLE.pack_into(out, 0, 0, len(out) // _WORD - 1)
    return bytes(out)


def _struct(out: bytearray, pointer: int, shape: Shape, values: Mapping[str, Any]) -> None:
    """Appends a struct, and points at it."""
    at = len(out)
    out += shape.empty
    if shape.empty:
        between = (at - pointer - _WORD) // _WORD
        form = shape.data_bytes // _WORD << 32 | shape.pointers << 48
        _POINTER.pack_into(out, pointer, between << 2 | form)
    else:
        _POINTER.pack_into(out, pointer, 0xFFFF_FFFC)  # it lies nowhere, but it is there
    _fields(out, at, at + shape.data_bytes, shape, values)


def _fields(
    out: bytearray, data: int, pointers: int, shape: Shape, values: Mapping[str, Any]
) -> None:
    slots = shape.slots
    for name, value in values.items():
        try:
            slot = slots[name]
        except KeyError:
            raise InvariantError(f"{shape.name} has no field {name!r}") from None
        if slot.choice != 0xFFFF:
            _CHOICE.pack_into(out, data + shape.choice_place, slot.choice)
        item = slot.item
        if item.letter:
            _number(out, data, slot, value)
        elif item.kind == "bool":
            if bool(value) is not slot.default:
                out[data + slot.place // 8] |= 1 << slot.place % 8
        elif item.kind == "group":
            assert item.shape is not None
            _fields(out, data, pointers, item.shape, value)
        elif item.kind != "void" and value is not None:
            _WRITERS[item.kind](out, pointers + _WORD * slot.place, item, value)


def _number(out: bytearray, data: int, slot: Slot, value: Any) -> None:
    item = slot.item
    if item.names:
        value = item.names.index(value)
    packer = _PACKERS[item.letter]
    packer.pack_into(out, data + slot.place, value)
    if slot.default:  # which is kept as the difference to it
        kept, default = out[data + slot.place :][: packer.size], packer.pack(slot.default)
        differences = bytes(one ^ other for one, other in zip(kept, default, strict=True))
        out[data + slot.place : data + slot.place + packer.size] = differences


def _list_pointer(out: bytearray, pointer: int, size: int, count: int) -> None:
    between = (len(out) - pointer - _WORD) // _WORD
    _POINTER.pack_into(out, pointer, 1 | between << 2 | size << 32 | count << 35)


def _bytes(out: bytearray, pointer: int, item: Item, value: bytes | bytearray | memoryview) -> None:
    _list_pointer(out, pointer, 2, len(value))
    out += value
    out += bytes(-len(out) % _WORD)


def _text(out: bytearray, pointer: int, item: Item, value: str) -> None:
    _bytes(out, pointer, item, value.encode() + b"\0")


def _nested(out: bytearray, pointer: int, item: Item, value: Mapping[str, Any]) -> None:
    assert item.shape is not None
    _struct(out, pointer, item.shape, value)


def _list(out: bytearray, pointer: int, item: Item, values: Sequence[Any]) -> None:
    if not len(values):
        return
    entry = item.entry
    assert entry is not None
    if entry.letter:
        _list_pointer(out, pointer, _SIZES[entry.letter], len(values))
        numbers = values if isinstance(values, array) else array(entry.letter, values)
        if not _NATIVE:
            numbers = array(entry.letter, numbers)
            numbers.byteswap()
        out += numbers.tobytes()
        out += bytes(-len(out) % _WORD)
    elif entry.shape is not None:
        _structs(out, pointer, entry.shape, values)
    else:
        _list_pointer(out, pointer, 6, len(values))
        first = len(out)
        out += bytes(_WORD * len(values))
        append = _WRITERS[entry.kind]
        for place, value in enumerate(values):
            append(out, first + _WORD * place, entry, value)


def _structs(
    out: bytearray, pointer: int, shape: Shape, values: Sequence[Mapping[str, Any]]
) -> None:
    """A list of structs: one behind the other, and before them a word that says how they look."""
    words = len(shape.empty) // _WORD
    _list_pointer(out, pointer, 7, words * len(values))
    form = shape.data_bytes // _WORD << 32 | shape.pointers << 48
    out += _POINTER.pack(len(values) << 2 | form)
    at = len(out)
    out += shape.empty * len(values)
    for value in values:
        _fields(out, at, at + shape.data_bytes, shape, value)
        at += len(shape.empty)


def _object(out: bytearray, pointer: int, item: Item, value: int) -> None:
    _POINTER.pack_into(out, pointer, _OBJECT | value << 32)


def _anything(out: bytearray, pointer: int, item: Item, value: Any) -> None:
    if isinstance(value, Capability):
        _object(out, pointer, item, value.place)
    else:
        content: Content = value
        _struct(out, pointer, content.shape, content.values)


_WRITERS: Final[Mapping[str, Callable[[bytearray, int, Any, Any], None]]] = {
    "text": _text,
    "data": _bytes,
    "struct": _nested,
    "list": _list,
    "interface": _object,
    "anyPointer": _anything,
}
