"""Converts the values of one type to columns of plain values, and back.

The shape of a type follows from its annotation. A value of an attrs class is a row in the table of
its class, and other values refer to it by the number of the row. So a value that two others share
is one object again when it is read. A column of collections has two columns: the lengths, and the
members of all of them, one after the other. Nothing here is recursive along a chain of nodes, so no
chain is too long.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence
from enum import Enum
from itertools import chain, islice, repeat
from operator import attrgetter
from typing import Any, NewType, Protocol, Union, get_args, get_origin

import attrs
from attrs import frozen
from sortedcontainers import SortedList

from rain.server.snapshot.columns import KINDS

NO_ROW = -1
"""The row of None."""

_NAME = attrgetter("_name_")  # what `name` gives, in one step
_CLASS_NAME = attrgetter("__name__")


Classes = tuple[type, ...]


class Rows(Protocol):
    """Finds the rows of objects: all that are reached, class by class."""

    def add(self, kind: type, values: list[Any]) -> None:
        """These are reached; None counts as well."""
        ...

    def numbers(self, values: list[Any]) -> list[int]:
        """The rows of these in the tables of their classes."""
        ...


class Writer(Rows, Protocol):
    """Takes columns."""

    def write(self, name: str, kind: type, values: list[Any]) -> None:
        """Writes a column of plain values."""
        ...


class Reader(Protocol):
    """Gives columns."""

    def read(self, name: str, count: int) -> list[Any]:
        """A column of plain values; their number must be this one."""
        ...

    def rows(self, kind: type) -> Callable[[int], Any]:
        """Gives the objects of a class by their rows."""
        ...


class Shape(Protocol):
    """How the values of one type are written and read."""

    @property
    def classes(self) -> Classes:
        """The classes of the objects that can be in these values."""
        ...

    def reach(self, values: list[Any], rows: Rows) -> None:
        """Reports all objects inside of these values."""
        ...

    def write(self, name: str, values: list[Any], to: Writer) -> None:
        """Writes the values as columns whose names begin with this one."""
        ...

    def read(self, name: str, count: int, of: Reader) -> list[Any]:
        """Makes that many values of columns of such names."""
        ...


@frozen
class Plain:
    """Numbers, texts and bytes."""

    kind: type
    classes: Classes = ()

    def reach(self, values: list[Any], rows: Rows) -> None:
        pass

    def write(self, name: str, values: list[Any], to: Writer) -> None:
        to.write(name, self.kind, values)

    def read(self, name: str, count: int, of: Reader) -> list[Any]:
        return of.read(name, count)


@frozen
class Word:
    """The members of an enum, by their names."""

    kind: type[Enum]
    classes: Classes = ()

    def reach(self, values: list[Any], rows: Rows) -> None:
        pass

    def write(self, name: str, values: list[Any], to: Writer) -> None:
        to.write(name, str, list(map(_NAME, values)))

    def read(self, name: str, count: int, of: Reader) -> list[Any]:
        return list(map(self.kind.__members__.__getitem__, of.read(name, count)))


@frozen
class Row:
    """Objects of one class, or None."""

    kind: type

    @property
    def classes(self) -> Classes:
        return (self.kind,)

    def reach(self, values: list[Any], rows: Rows) -> None:
        rows.add(self.kind, values)

    def write(self, name: str, values: list[Any], to: Writer) -> None:
        to.write(name, int, to.numbers(values))

    def read(self, name: str, count: int, of: Reader) -> list[Any]:
        return list(map(of.rows(self.kind), of.read(name, count)))


@frozen
class Either:
    """One of several types: which one each value has, and the values of each type together."""

    others: Mapping[str, tuple[type, Shape]]  # by the name of the type
    classes: Classes

    def reach(self, values: list[Any], rows: Rows) -> None:
        there = set(map(type, values))
        for kind, shape in self.others.values():
            if shape.classes and kind in there:
                shape.reach(_of_type(kind, values, there), rows)

    def write(self, name: str, values: list[Any], to: Writer) -> None:
        there = set(map(type, values))
        to.write(f"{name}?", str, list(map(_CLASS_NAME, map(type, values))))
        for word, (kind, shape) in self.others.items():
            if kind in there:
                shape.write(f"{name}.{word}", _of_type(kind, values, there), to)

    def read(self, name: str, count: int, of: Reader) -> list[Any]:
        words: list[str] = of.read(f"{name}?", count)
        found: dict[str, Iterator[Any]] = {
            word: iter(shape.read(f"{name}.{word}", words.count(word), of))
            for word, (_, shape) in self.others.items()
        }
        return [next(found[word]) for word in words]


def _of_type(kind: type, values: list[Any], there: set[type]) -> list[Any]:
    return values if len(there) == 1 else [value for value in values if type(value) is kind]


@frozen
class Nothing:
    """None alone, which an optional value may be."""

    classes: Classes = ()

    def reach(self, values: list[Any], rows: Rows) -> None:
        pass

    def write(self, name: str, values: list[Any], to: Writer) -> None:
        pass

    def read(self, name: str, count: int, of: Reader) -> list[Any]:
        return [None] * count


@frozen
class Members:
    """Collections of any length."""

    make: Callable[[Iterable[Any]], Any]
    order: Callable[[Any], Iterable[Any]]  # in which the members are written
    member: Shape
    classes: Classes

    def reach(self, values: list[Any], rows: Rows) -> None:
        self.member.reach(list(chain.from_iterable(values)), rows)

    def write(self, name: str, values: list[Any], to: Writer) -> None:
        to.write(f"{name}#", int, list(map(len, values)))
        self.member.write(f"{name}[]", list(chain.from_iterable(map(self.order, values))), to)

    def read(self, name: str, count: int, of: Reader) -> list[Any]:
        lengths: list[int] = of.read(f"{name}#", count)
        members = self.member.read(f"{name}[]", sum(lengths), of)
        make, left = self.make, iter(members)
        if make is tuple and not members:
            return [()] * count
        if make is tuple and lengths.count(1) == count:  # of most tasks the outputs
            return list(zip(members, strict=True))
        return [make(islice(left, length)) for length in lengths]


@frozen
class Entries:
    """Dictionaries, in their order."""

    key: Shape
    value: Shape
    classes: Classes

    def reach(self, values: list[Any], rows: Rows) -> None:
        if self.key.classes:
            self.key.reach(list(chain.from_iterable(values)), rows)
        if self.value.classes:
            self.value.reach([one for value in values for one in value.values()], rows)

    def write(self, name: str, values: list[Any], to: Writer) -> None:
        to.write(f"{name}#", int, list(map(len, values)))
        self.key.write(f"{name}.key", list(chain.from_iterable(values)), to)
        self.value.write(f"{name}.value", [one for value in values for one in value.values()], to)

    def read(self, name: str, count: int, of: Reader) -> list[Any]:
        lengths: list[int] = of.read(f"{name}#", count)
        keys = iter(self.key.read(f"{name}.key", sum(lengths), of))
        values = iter(self.value.read(f"{name}.value", sum(lengths), of))
        return [dict(islice(zip(keys, values, strict=False), length)) for length in lengths]


@frozen
class Fields:
    """Tuples of several types."""

    fields: tuple[Shape, ...]
    classes: Classes

    def reach(self, values: list[Any], rows: Rows) -> None:
        for field, column in zip(self.fields, self._columns(values), strict=True):
            if field.classes:
                field.reach(list(column), rows)

    def write(self, name: str, values: list[Any], to: Writer) -> None:
        for place, column in enumerate(self._columns(values)):
            self.fields[place].write(f"{name}.{place}", list(column), to)

    def read(self, name: str, count: int, of: Reader) -> list[Any]:
        fields = enumerate(self.fields)
        columns = [field.read(f"{name}.{place}", count, of) for place, field in fields]
        return list(zip(*columns, strict=True))

    def _columns(self, values: list[Any]) -> Iterable[Sequence[Any]]:
        return zip(*values, strict=True) if values else repeat((), len(self.fields))


_COLLECTIONS: dict[Any, Callable[[Iterable[Any]], Any]] = {
    tuple: tuple,
    list: list,
    MutableSequence: list,
    Sequence: tuple,  # it is not changed
    deque: deque,
    set: set,
    frozenset: frozenset,
    SortedList: SortedList,
}
_SHAPES: dict[Any, Shape] = {}


def shape_of(kind: Any) -> Shape:
    """The shape of a type; TypeError for one that has none."""
    shape = _SHAPES.get(kind)
    if shape is None:
        shape = _SHAPES[kind] = _make(kind)
    return shape


def _make(kind: Any) -> Shape:
    if isinstance(kind, NewType):
        return shape_of(kind.__supertype__)
    if kind in (None, types.NoneType):
        return Nothing()
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is None:
        return _of_class(kind)
    if origin in (Union, types.UnionType):
        return _of_union(arguments)
    if origin in (dict, Mapping):
        key, value = map(shape_of, arguments)
        return Entries(key, value, key.classes + value.classes)
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is ...):
        fields = tuple(map(shape_of, arguments))
        return Fields(fields, _all(fields))
    return _of_collection(origin, shape_of(arguments[0]))


def _of_class(kind: Any) -> Shape:
    if kind in KINDS:
        return Plain(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return Word(kind)
    if isinstance(kind, type) and attrs.has(kind):
        return Row(kind)
    raise TypeError(f"a snapshot has no columns for values of {kind!r}")


def _of_collection(kind: Any, member: Shape) -> Shape:
    make = _COLLECTIONS.get(kind)
    if make is None:
        raise TypeError(f"a snapshot has no columns for values of {kind!r}")
    order: Callable[[Any], Iterable[Any]] = iter
    if kind in (set, frozenset):
        order = sorted
        if member.classes:
            raise TypeError("a snapshot knows no order for a set of objects")
    return Members(make, order, member, member.classes)


def _of_union(kinds: tuple[Any, ...]) -> Shape:
    """Of an attrs class or None, the row says it all."""
    kinds = tuple(kind for kind in kinds if kind is not memoryview)  # only clients have these
    rows = [kind for kind in kinds if attrs.has(kind)]
    if len(kinds) == 2 and types.NoneType in kinds and len(rows) == 1:
        return Row(rows[0])
    others: dict[str, tuple[type, Shape]] = {}
    for kind in kinds:
        origin = get_origin(kind) or getattr(kind, "__supertype__", kind)
        others[origin.__name__] = origin, shape_of(kind)
    if len(others) < len(kinds):
        raise TypeError(f"a snapshot cannot tell values of {kinds} apart")
    return Either(others, _all(shape for _, shape in others.values()))


def _all(shapes: Iterable[Shape]) -> Classes:
    return tuple(chain.from_iterable(shape.classes for shape in shapes))
