"""Makes a function for each struct that reads its fields.

Reading takes most of the time of a message, and most of that would be spent on looking up the type
of each field. So this is done once for each struct: Python code is generated from its shape, as
`attrs` generates methods. The functions that this code calls (`names`) are in `reading.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from rain.rpc.capnproto.messages import WORD
from rain.rpc.capnproto.shapes import Item, Shape, Slot

FieldsReader: TypeAlias = "Callable[[Any, int, int, int, int], dict[str, Any]]"
"""The fields of a struct of a message: where its data begins, its pointers begin, and it ends, and
how deep it lies. One of an older peer may be shorter, and ends in zeros then."""

_NOTHING = {"text": '""', "data": 'b""', "list": "[]", "interface": "None"}


def what_null_is(item: Item) -> str | None:
    """The value of a null pointer to this item; None if its reader decides.

    A missing table is None, and not a table without rows, because the message of one task has many
    of them.
    """
    if item.shape is not None and item.shape.is_table():
        return "None"
    return _NOTHING.get(item.kind)


def fields_reader(shape: Shape, names: Mapping[str, Any]) -> FieldsReader:
    """The function of this struct."""
    function = _Function(names)
    function.find_sections(shape)
    function.read_fields(shape, "values", "    ")
    function.add("    ", "return values")
    return function.made()


class _Function:
    """The code of one function, as it grows."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._known = dict(names)
        self._lines = ["def read(message, start, middle, end, deep):"]

    def add(self, indent: str, line: str) -> None:
        self._lines.append(indent + line)

    def made(self) -> FieldsReader:
        exec("\n".join(self._lines), self._known)  # noqa: S102 # the names of a schema of ours
        read: FieldsReader = self._known["read"]
        return read

    def find_sections(self, shape: Shape) -> None:
        """Finds the data and the pointers, which may be shorter than ours."""
        self.add("    ", "data, at = message.content, start")
        if shape.data_bytes:
            self.add("    ", f"if middle - start < {shape.data_bytes}:")
            padded = f"data[start:middle].ljust({shape.data_bytes}, b'\\0')"
            self.add("        ", f"data, at = {padded}, 0")
        if shape.pointers:
            length = WORD * shape.pointers
            words = self._named(shape.words)
            found = "".join(f"w_{number}, " for number in range(shape.pointers))
            padded = f"message.content[middle:end].ljust({length}, b'\\0')"
            self.add("    ", f"if end - middle < {length}:")
            self.add("        ", f"{found}= {words}.unpack({padded})")
            self.add("    ", "else:")
            self.add("        ", f"{found}= {words}.unpack_from(message.content, middle)")

    def read_fields(self, shape: Shape, name: str, indent: str) -> None:
        """Makes a dict of this name: the fields of the struct, or of a group in it."""
        numbers = {field: f"{name}_{field}" for field in shape.number_names}
        if numbers:
            found = "".join(f"{number}, " for number in numbers.values())
            self.add(indent, f"{found}= {self._named(shape.numbers)}.unpack_from(data, at)")
        entries = {field: self._meaning(shape, field, number) for field, number in numbers.items()}
        for slot in (*shape.bools, *shape.pointing, *shape.groups):
            entries[slot.name] = self._value(shape, slot, f"{name}_{slot.name}", indent)
        pairs = ", ".join(f"{field!r}: {value}" for field, value in entries.items())
        self.add(indent, f"{name} = {{{pairs}}}")
        if shape.choices:
            self._read_choice(shape, name, indent)

    def _read_choice(self, shape: Shape, name: str, indent: str) -> None:
        """Adds the one member of a union that is there."""
        self.add(indent, f"chosen = choice.unpack_from(data, at + {shape.choice_place})[0]")
        word = "if"
        for choice, slot in shape.choices.items():
            self.add(indent, f"{word} chosen == {choice}:")
            value = self._value(shape, slot, f"{name}_{slot.name}", indent + "    ")
            self.add(indent, f"    {name}[{slot.name!r}] = {value}")
            word = "elif"
        self.add(indent, "else:")
        self.add(indent, f"    raise unknown({shape.name!r}, chosen)")

    def _value(self, shape: Shape, slot: Slot, name: str, indent: str) -> str:
        """An expression for a field that has not been read with others."""
        item = slot.item
        if item.number is not None:
            number = f"{self._named(item.number)}.unpack_from(data, at + {slot.place})[0]"
            return self._meaning(shape, slot.name, number)
        if item.kind == "bool":
            byte, bit = divmod(slot.place, 8)
            return f"(data[at + {byte}] >> {bit} & 1 != 0) is not {slot.default}"
        if item.kind == "group":
            self.read_fields(item.what, name, indent)
            return name
        if item.kind == "void":
            return "None"
        word, place = f"w_{slot.place}", f"middle + {WORD * slot.place}"
        read, what = self._named(item.read), self._named(item.what)
        call = f"{read}(message, {place}, {word}, {what}, deep)"
        nothing = what_null_is(item)
        return call if nothing is None else f"{call} if {word} else {nothing}"

    def _meaning(self, shape: Shape, name: str, number: str) -> str:
        slot = shape.slots[name]
        if not slot.default and not slot.item.names:
            return number
        return f"meaning({shape.name!r}, {self._named(slot)}, {number})"

    def _named(self, value: object) -> str:
        """The name of this value in the generated code."""
        name = f"known_{len(self._known)}"
        self._known[name] = value
        return name
