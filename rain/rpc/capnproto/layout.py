"""Compiles the structs of a schema, so that their messages can be written and read."""

from __future__ import annotations

import threading
from struct import Struct
from typing import Any, Final

from attrs import define

from rain.base.errors import InvariantError
from rain.rpc.capnproto.messages import WORD
from rain.rpc.capnproto.reading import read_message, reader_of
from rain.rpc.capnproto.shapes import NO_UNION, Item, Shape, Slot
from rain.rpc.capnproto.writing import write_message, writer_of

LETTERS: Final = {
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
    "enum": "H",
}
"""The letters of `struct` and `array` for the kinds of numbers."""

INSIDE: Final = {"bool", "group", "void"}
"""Items that are stored in the struct itself, besides numbers."""

_LIST_SIZES: Final = {1: 2, 2: 3, 4: 4, 8: 5}
"""How a pointer to a list says how many bytes each number has."""

_layouts: dict[int, Layout] = {}  # by the numbers of their schemas
_compiling = threading.RLock()


@define(eq=False)
class Layout(Shape):
    """A struct. `write` makes a message of its fields, `read` gives them back."""

    @staticmethod
    def of(described: Any) -> Layout:
        """The layout of a struct that pycapnp has loaded, or of its schema."""
        schema = getattr(described, "schema", described)
        number: int = schema.node.id
        with _compiling:  # registered first, since a struct may contain itself
            known = _layouts.get(number)
            if known is None:
                node = schema.node
                known = _layouts[number] = Layout(
                    str(node.displayName).rpartition(":")[2],
                    WORD * node.struct.dataWordCount,
                    node.struct.pointerCount,
                    2 * node.struct.discriminantOffset,
                )
                _fill(known, schema)
            return known

    write = write_message
    read = read_message


def _fill(shape: Shape, schema: Any) -> None:
    shape.empty = bytes(shape.data_bytes + WORD * shape.pointers)
    shape.sizes = shape.data_bytes // WORD << 32 | shape.pointers << 48
    shape.words = Struct(f"<{shape.pointers}Q")
    for described in schema.node.struct.fields:
        name = str(described.name)
        slot = shape.slots[name] = _slot(name, described, schema.fields[name])
        _fill_writing(shape, slot)
    slots = shape.slots.values()
    always = [slot for slot in slots if slot.choice == NO_UNION]
    shape.choices = {slot.choice: slot for slot in slots if slot.choice != NO_UNION}
    shape.bools = [slot for slot in always if slot.item.kind == "bool"]
    shape.groups = [slot for slot in always if slot.item.kind == "group"]
    _fill_numbers(shape, [slot for slot in always if slot.item.number])
    shape.pointing = [
        slot for slot in always if not slot.item.number and slot.item.kind not in INSIDE
    ]


def _fill_writing(shape: Shape, slot: Slot) -> None:
    item, slot.begin = slot.item, slot.place
    if item.number is not None:
        if not item.names and not slot.default:
            slot.pack = item.number.pack_into
    elif item.kind not in INSIDE:
        slot.begin = shape.data_bytes + WORD * slot.place
        slot.write, slot.what = item.write, item.what


def _fill_numbers(shape: Shape, slots: list[Slot]) -> None:
    slots.sort(key=lambda slot: slot.place)
    form, end = "<", 0
    for slot in slots:
        form += f"{slot.place - end}x{slot.item.letter}"
        end = slot.place + Struct(f"<{slot.item.letter}").size
    shape.numbers = Struct(form)
    shape.number_names = tuple(slot.name for slot in slots)


def _slot(name: str, described: Any, of_schema: Any) -> Slot:
    choice: int = described.discriminantValue
    if described.which() == "group":
        return Slot(name, Item("group", shape=Layout.of(of_schema.schema)), 0, None, choice)
    slot = described.slot
    kind = str(slot.type.which())
    item = _item(kind, of_schema)
    item.write, item.read = writer_of(item), reader_of(item)
    place: int = slot.offset
    default: Any = None
    if item.number:
        place *= item.number.size
        default = slot.defaultValue.enum if kind == "enum" else getattr(slot.defaultValue, kind)
        if item.letter in "fd" and default:
            raise InvariantError(f"{name}: a floating-point number may only be 0 by default")
    elif kind == "bool":
        default = bool(slot.defaultValue.bool)
    elif slot.hadExplicitDefault:
        raise InvariantError(f"{name}: only numbers may have defaults of their own")
    return Slot(name, item, place, default, choice)


def _number(kind: str) -> Item:
    return Item(kind, Struct(f"<{LETTERS[kind]}"), LETTERS[kind])


def _item(kind: str, of_schema: Any) -> Item:
    if kind == "enum":
        numbers = dict(of_schema.schema.enumerants)
        names = tuple(sorted(numbers, key=numbers.__getitem__))
        return Item(kind, Struct("<H"), "H", names, numbers)
    if kind in LETTERS:
        return _number(kind)
    if kind == "struct":
        return Item(kind, shape=Layout.of(of_schema.schema))
    if kind == "list":
        entry = _entry(of_schema.proto.slot.type.list.elementType, of_schema)
        item = Item(kind, entry=entry)
        if entry.number:
            item.entries = (entry.letter, entry.number, _LIST_SIZES[entry.number.size])
        return item
    return Item(kind)


def _entry(described: Any, of_schema: Any) -> Item:
    """The kind of a list's entries."""
    kind = str(described.which())
    if kind in LETTERS and kind != "enum":
        return _number(kind)
    if kind in {"text", "data"}:
        return Item(kind)
    if kind == "struct":
        return Item(kind, shape=Layout.of(of_schema.schema.elementType))
    raise InvariantError(f"lists of the kind {kind!r} are not used here")
