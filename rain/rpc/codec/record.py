"""Values whose fields are those of a struct of the schema, name by name.

Most of what is asked and answered now and then is such a record, and needs no code of its own. What
travels often, and what is not the same on both sides, is written and read by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, get_origin

import attrs
from attrs import frozen

from rain.rpc.codec.border import Fields

T = TypeVar("T")


@frozen
class Codec(Generic[T]):
    """Makes fields of a value of ours, and a value of fields that a peer has sent."""

    write: Callable[[T], Fields]
    read: Callable[[Fields], T]


def record(kind: type[T]) -> Codec[T]:
    """The codec of a class of attrs; a list of the schema is a tuple of ours."""
    attrs.resolve_types(kind)  # type: ignore[type-var] # whatever is no class of attrs raises here
    ours = [field.name for field in attrs.fields(kind)]  # type: ignore[arg-type] # as above
    theirs = [_spelt_there(name) for name in ours]
    columns = [get_origin(field.type) is tuple for field in attrs.fields(kind)]  # type: ignore[arg-type] # as above

    def write(value: T) -> Fields:
        return {there: getattr(value, here) for here, there in zip(ours, theirs, strict=True)}

    def read(fields: Fields) -> T:
        values: list[Any] = [
            tuple(fields[name]) if is_column else fields[name]
            for name, is_column in zip(theirs, columns, strict=True)
        ]
        return kind(*values)

    return Codec(write, read)


def _spelt_there(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
