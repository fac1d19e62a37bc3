"""Finds the offsets and types of the fields of a struct from its schema.

A struct is a section of data and a section of pointers. A number is in the data, at a multiple of
its own size. It is stored XORed with its default, so that zeros are defaults. Everything else is
elsewhere in the message, and a pointer leads to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, Final, TypeAlias

from attrs import define, field

from rain.rpc.capnproto.messages import Message

NO_UNION: Final = 0xFFFF
_NO_NUMBERS: Final = Struct("<")

Writer: TypeAlias = "Callable[[bytearray, int, Any, Any], None]"
"""Appends a value to a message, and points at it from this place. Third comes what is there
(`Item.what`)."""

Reader: TypeAlias = "Callable[[Message, int, int, Any, int], Any]"
"""Gives what a pointer leads to: of which message, at which place the pointer is, the pointer
itself, what is there (`Item.what`), and how deep. A null pointer (0) comes only to what reads
structs or anything; `compiled.what_null_is` says what it stands for elsewhere."""


def _write_nothing(out: bytearray, pointer: int, what: Any, value: Any) -> None:
    """Numbers and groups lie in the struct itself."""
    raise AssertionError(what)


def _read_nothing(message: Message, place: int, word: int, what: Any, deep: int) -> Any:
    """Numbers and groups lie in the struct itself."""
    raise AssertionError(what)


@define(eq=False)
class Item:
    """The type of a field, or of each entry of a list."""

    kind: str  # as the schema calls it
    number: Struct | None = None
    letter: str = ""  # of a number, for `struct` and `array`
    names: tuple[str, ...] = ()  # of an enum
    numbers: Mapping[str, int] = field(factory=dict)  # of these names
    shape: Shape | None = None  # of a struct or a group
    entry: Item | None = None  # of a list
    entries: tuple[str, Struct, int] = ("", _NO_NUMBERS, 0)
    """Of a list of numbers: their letter, one of them, and how a pointer says how long each is."""
    # Where a pointer leads to it.
    write: Writer = _write_nothing
    read: Reader = _read_nothing
    what: Any = field(init=False)
    """For both: the shape, if it is a struct, a group or a list of structs, and else the item."""

    def __attrs_post_init__(self) -> None:
        self.what = self.shape or (self.entry and self.entry.shape) or self


@define(eq=False)
class Slot:
    """One field."""

    name: str
    item: Item
    place: int  # bytes from the start of the data, bits for a bool, or the number of the pointer
    default: Any
    choice: int  # its number among the members of the union, or NO_UNION
    # How it is written into a struct, and how many bytes behind the beginning of the struct.
    begin: int = 0
    pack: Callable[[bytearray, int, Any], None] | None = None  # a number that is kept as it is
    write: Writer | None = None  # where a pointer leads to it
    what: Any = None  # for `write`


@define(eq=False)
class Shape:
    """A struct, or a group: fields that lie in the struct around them."""

    name: str
    data_bytes: int
    pointers: int
    choice_place: int  # of the number that says which member of the union is there, in bytes
    slots: dict[str, Slot] = field(factory=dict, repr=False)
    choices: dict[int, Slot] = field(factory=dict, repr=False)  # the members of the union
    # What is no member of the union.
    numbers: Struct = field(default=_NO_NUMBERS, repr=False)  # all numbers at once
    number_names: tuple[str, ...] = field(default=(), repr=False)
    bools: list[Slot] = field(factory=list, repr=False)
    groups: list[Slot] = field(factory=list, repr=False)
    pointing: list[Slot] = field(factory=list, repr=False)
    words: Struct = field(default=_NO_NUMBERS, repr=False)  # all pointers at once
    empty: bytes = field(default=b"", repr=False)  # as many zeros as it is long
    sizes: int = 0  # of its sections, as a pointer to it says them
    read_fields: Callable[..., dict[str, Any]] | None = field(default=None, repr=False)
    """Made when it is needed first."""

    def is_table(self) -> bool:
        """Whether the struct has only lists, the columns of a table."""
        slots = self.slots.values()
        return bool(slots) and all(slot.item.kind == "list" for slot in slots)
