"""Makes a function for each struct that reads its fields.

Most of the time of a message is spent here, and most of that in asking what each field is. So the
question is asked once for each struct: its function is Python code that is made from its shape, as
`attrs` makes methods. What the code calls (`names`) is in `reading.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from rain.rpc.capnproto.segments import WORD
from rain.rpc.capnproto.shapes import Shape, Slot

FieldsReader: TypeAlias = "Callable[[Any, int, int, int, int, int], dict[str, Any]]"
"""The fields of a struct of a message: its segment, where its data begins, its pointers begin, and
it ends, and how deep it lies. One of an older peer may be shorter, and ends in zeros then."""

NOTHING = {"text": '""', "data": 'b""', "list": "[]", "interface": "None"}
"""What a null pointer stands for."""


def fields_reader(shape: Shape, names: Mapping[str, Any]) -> FieldsReader:
    """The function of this struct."""
    known: dict[str, Any] = dict(names, shape=shape, words=shape.words, numbers=shape.numbers)
    lines = ["def read(message, segment, start, middle, end, deep):", *_sections(shape)]
    entries = [f"{name!r}: {_number(shape, name, known)}" for name in shape.number_names]
    entries += [f"{slot.name!r}: {_bool(slot)}" for slot in shape.bools]
    entries += [f"{slot.name!r}: {_pointed(slot, known)}" for slot in shape.pointing]
    for slot in shape.groups:
        known[f"shape_{slot.name}"] = slot.item.shape
        call = f"fields_of(shape_{slot.name})(message, segment, start, middle, end, deep)"
        entries.append(f"{slot.name!r}: {call}")
    lines.append(f"    values = {{{', '.join(entries)}}}")
    if shape.choices:
        lines.append("    add_member(values, message, segment, (start, middle, end), shape, deep)")
    lines.append("    return values")
    exec("\n".join(lines), known)  # noqa: S102 # the names of a schema of ours, and nothing else
    read: FieldsReader = known["read"]
    return read


def _sections(shape: Shape) -> list[str]:
    """Finds the data and the pointers, which may be shorter than ours."""
    lines = ["    data, at = message.content, start"]
    if shape.data_bytes:
        lines += [
            f"    if middle - start < {shape.data_bytes}:",
            f"        data, at = data[start:middle].ljust({shape.data_bytes}, b'\\0'), 0",
        ]
    if shape.number_names:
        found = "".join(f"n_{name}, " for name in shape.number_names)
        lines.append(f"    {found}= numbers.unpack_from(data, at)")
    if shape.pointing:
        length = WORD * shape.pointers
        found = "".join(f"w_{number}, " for number in range(shape.pointers))
        lines += [
            f"    if end - middle < {length}:",
            f"        {found}= words.unpack(message.content[middle:end].ljust({length}, b'\\0'))",
            "    else:",
            f"        {found}= words.unpack_from(message.content, middle)",
        ]
    return lines


def _number(shape: Shape, name: str, known: dict[str, Any]) -> str:
    slot = shape.slots[name]
    if slot not in shape.kept_otherwise:
        return f"n_{name}"
    known[f"slot_{name}"] = slot
    return f"meaning(shape, slot_{name}, n_{name})"


def _bool(slot: Slot) -> str:
    byte, bit = divmod(slot.place, 8)
    return f"(data[at + {byte}] >> {bit} & 1 != 0) is not {slot.default}"


def _pointed(slot: Slot, known: dict[str, Any]) -> str:
    item, word = slot.item, f"w_{slot.place}"
    known[f"what_{slot.name}"], known[f"read_{slot.name}"] = item.what, item.read
    place = f"middle + {WORD * slot.place}"
    call = f"read_{slot.name}(message, segment, {place}, {word}, what_{slot.name}, deep)"
    nothing = NOTHING.get(item.kind)
    return call if nothing is None else f"{call} if {word} else {nothing}"
