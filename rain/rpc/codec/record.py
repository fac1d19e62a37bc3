"""Makes codecs from attrs classes whose fields have the same names as those of a struct of the
schema.

A record is one value. Most rare requests and answers are records, and need no code of their own.
Columns are the lists of a struct, with an entry for each row. Values that are sent often, and those
that differ between both sides, have codecs written by hand.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, MutableSequence
from enum import Enum
from functools import partial
from typing import Any, Generic, TypeVar, get_args, get_origin

import attrs
from attrs import frozen

from rain.base.resources import Resources
from rain.rpc.codec.amounts import read_resources, write_amounts
from rain.rpc.codec.border import clean
from rain.rpc.interface import Fields

T = TypeVar("T")
E = TypeVar("E", bound=Enum)


@frozen
class Codec(Generic[T]):
    """Makes fields of a value of ours, and a value of fields that a peer has sent."""

    write: Callable[[T], Fields]
    read: Callable[[Fields], T]


@frozen
class Field(Generic[T]):
    """How the values of one type are written into a field, and read."""

    write: Callable[[T], Any]
    read: Callable[[Any], T]


def choices(kind: type[E]) -> Field[E]:
    """An enum of ours whose members have the same names as those of the schema."""
    names = {one: spelt_there(one.name.lower()) for one in kind}
    members = {name: one for one, name in names.items()}
    return Field(names.__getitem__, members.__getitem__)


def record(kind: type[T]) -> Codec[T]:
    """The codec of a class of attrs.

    A list of the schema is a tuple of ours, and its items may be records, too.
    """
    attrs.resolve_types(kind)  # type: ignore[type-var] # whatever is no class of attrs raises here
    declared = attrs.fields(kind)  # type: ignore[arg-type] # as above
    columns = [(one.name, spelt_there(one.name), _field_of(one.type)) for one in declared]

    def write(value: T) -> Fields:
        return {there: field.write(getattr(value, here)) for here, there, field in columns}

    def read(fields: Fields) -> T:
        return kind(*[field.read(fields[there]) for _, there, field in columns])

    return Codec(write, read)


def _field_of(kind: Any) -> Field[Any]:
    if get_origin(kind) is tuple:
        return _list_of(get_args(kind)[0])
    if kind is str:
        return _TEXT
    if kind is Resources:
        return _RESOURCES
    if isinstance(kind, type) and issubclass(kind, Enum):
        return choices(kind)
    return _PLAIN


def _list_of(kind: Any) -> Field[Any]:
    item = record(kind) if attrs.has(kind) and kind is not Resources else _field_of(kind)
    if item is _PLAIN:
        return Field(_same, tuple)

    def write(values: tuple[Any, ...]) -> list[Any]:
        return [item.write(value) for value in values]

    def read(rows: list[Any]) -> tuple[Any, ...]:
        return tuple([item.read(row) for row in rows])

    return Field(write, read)


def _same(value: Any) -> Any:
    return value


def _write_resources(resources: Resources) -> list[Fields]:
    return write_amounts(resources.items())


_PLAIN: Field[Any] = Field(_same, _same)
_TEXT = Field(clean, _same)
_RESOURCES = Field(_write_resources, read_resources)


def spelt_there(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


packed: Callable[[list[Any]], array[Any]] = partial(array, "q")
"""Makes a column of numbers that may wait for long: a list takes five times the memory."""


def columns(kind: type[T], mostly: Mapping[str, object] | None = None) -> Codec[T]:
    """The codec of a class of columns, the first of which has an entry for each row.

    `mostly` has columns that are sent only if an entry is true, and what all entries are if they
    are not sent; None for a column that is empty then. Numbers are packed where the class has a
    `MutableSequence`.
    """
    attrs.resolve_types(kind)  # type: ignore[type-var] # whatever is no class of attrs raises here
    given = mostly or {}
    declared = attrs.fields(kind)  # type: ignore[arg-type] # as above
    names = [(one.name, spelt_there(one.name)) for one in declared]
    always = [(here, there) for here, there in names if here not in given]
    others = [(here, there) for here, there in names if here in given]
    first = names[0][1]
    reading = [
        (spelt_there(one.name), given.get(one.name), get_origin(one.type) is MutableSequence)
        for one in declared
    ]

    def write(value: T) -> Fields:
        fields: Fields = {there: getattr(value, here) for here, there in always}
        for here, there in others:
            column = getattr(value, here)
            if any(column):
                fields[there] = column
        return fields

    def read(fields: Fields) -> T:
        found: list[Any] = []
        for there, default, is_packed in reading:
            column = fields[there]
            if default is not None and not column:
                column = [default] * len(fields[first])
            found.append(packed(column) if is_packed else column)
        return kind(*found)

    return Codec(write, read)
