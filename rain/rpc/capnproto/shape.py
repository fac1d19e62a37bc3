"""A struct of a schema, compiled: where each of its fields lies, and what it is.

A struct is a section of data and a section of pointers. A number lies in the data, at a multiple of
its own size, and is kept as its difference (exclusive or) to its default, so that zeros are
defaults. Everything else lies elsewhere in the message, and a pointer says where.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Final

from attrs import define, field

from rain.base.errors import InvariantError

WORD: Final = 8
NO_UNION: Final = 0xFFFF

SCALARS: Final = {
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

_shapes: dict[int, Shape] = {}  # by the numbers of their schemas


@define(eq=False)
class Item:
    """What a field, or each entry of a list, is."""

    kind: str  # as the schema calls it
    letter: str = ""  # of a number
    names: tuple[str, ...] = ()  # of an enum
    shape: Shape | None = None  # of a struct or a group
    entry: Item | None = None  # of a list


@define(eq=False)
class Slot:
    """One field."""

    name: str
    item: Item
    place: int  # bytes from the start of the data, bits for a bool, or the number of the pointer
    default: Any
    choice: int  # its number among the members of the union, or NO_UNION


@define(eq=False)
class Shape:
    """A struct."""

    name: str
    data_bytes: int
    pointers: int
    choice_place: int  # of the number that says which member of the union is there, in bytes
    slots: dict[str, Slot] = field(factory=dict)
    always: list[Slot] = field(factory=list)  # what is no member of the union
    choices: dict[int, Slot] = field(factory=dict)
    empty: bytes = b""  # as many zeros as it is long

    @staticmethod
    def of(described: Any) -> Shape:
        """The shape of a struct that pycapnp has loaded, or of its schema."""
        schema = getattr(described, "schema", described)
        number: int = schema.node.id
        known = _shapes.get(number)
        if known is None:
            node = schema.node
            struct = node.struct
            known = _shapes[number] = Shape(
                str(node.displayName).rpartition(":")[2],
                WORD * struct.dataWordCount,
                struct.pointerCount,
                2 * struct.discriminantOffset,
            )
            known.empty = bytes(known.data_bytes + WORD * known.pointers)
            known._fill(schema)
        return known

    def _fill(self, schema: Any) -> None:
        for described in schema.node.struct.fields:
            name = str(described.name)
            slot = _slot(name, described, schema.fields[name])
            self.slots[name] = slot
            if slot.choice == NO_UNION:
                self.always.append(slot)
            else:
                self.choices[slot.choice] = slot


def _slot(name: str, described: Any, of_schema: Any) -> Slot:
    choice: int = described.discriminantValue
    if described.which() == "group":
        return Slot(name, Item("group", shape=Shape.of(of_schema.schema)), 0, None, choice)
    slot = described.slot
    kind = str(slot.type.which())
    item = _item(kind, of_schema)
    place: int = slot.offset
    default: Any = None
    if kind in SCALARS:
        place *= Struct(f"<{item.letter}").size
        default = 0 if kind == "enum" else getattr(slot.defaultValue, kind)
        if kind == "enum" and slot.defaultValue.enum:
            raise InvariantError(f"{name}: only the first value of an enum may be its default")
        if kind.startswith("float") and default:
            raise InvariantError(f"{name}: a floating-point number may only be 0 by default")
    elif kind == "bool":
        default = bool(slot.defaultValue.bool)
    return Slot(name, item, place, default, choice)


def _item(kind: str, of_schema: Any) -> Item:
    if kind == "enum":
        names = tuple(
            name for name, _ in sorted(of_schema.schema.enumerants.items(), key=lambda one: one[1])
        )
        return Item(kind, SCALARS[kind], names)
    if kind in SCALARS:
        return Item(kind, SCALARS[kind])
    if kind == "struct":
        return Item(kind, shape=Shape.of(of_schema.schema))
    if kind == "list":
        return Item(kind, entry=_entry(of_schema.proto.slot.type.list.elementType, of_schema))
    return Item(kind)


def _entry(described: Any, of_schema: Any) -> Item:
    """What the entries of a list are."""
    kind = str(described.which())
    if kind in SCALARS and kind != "enum":
        return Item(kind, SCALARS[kind])
    if kind in {"text", "data"}:
        return Item(kind)
    if kind == "struct":
        return Item(kind, shape=Shape.of(of_schema.schema.elementType))
    raise InvariantError(f"lists of the kind {kind!r} are not used here")
