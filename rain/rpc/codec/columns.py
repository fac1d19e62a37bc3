"""Columns: lists of a struct of the schema, name by name, with an entry for each row."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, MutableSequence
from functools import partial
from typing import Any, TypeVar, get_origin

import attrs

from rain.rpc.codec.border import Fields
from rain.rpc.codec.record import Codec, spelt_there

T = TypeVar("T")

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
