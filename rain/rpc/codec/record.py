"""Values whose fields are those of a struct of the schema, name by name.

Most of what is asked and answered now and then is such a record, and needs no code of its own. What
travels often, and what is not the same on both sides, is written and read by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Generic, TypeVar, get_args, get_origin

import attrs
from attrs import frozen

from rain.base.resources import Resources
from rain.rpc.codec.amounts import read_resources, write_amounts
from rain.rpc.codec.border import Fields, clean

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
