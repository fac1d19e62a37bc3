"""The fields of the classes of the state, and the shapes of their values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, get_type_hints

import attrs
from attrs import frozen

from rain.base.wire.orders import Orders
from rain.graph import Client, DataObject, Governor, Graph, Run, Session, Task, Wait
from rain.graph.copy import Copy
from rain.graph.ready_queue import Entry
from rain.graph.turns import Turns
from rain.server.snapshot.leaving_out import LEFT_OUT, PARTS
from rain.server.snapshot.shapes import Shape, shape_of

_NODES = (Client, Copy, DataObject, Governor, Graph, Run, Session, Task, Wait)
_NAMES: dict[str, Any] = {
    "Orders": Orders,
    **{kind.__name__: kind for kind in _NODES},
}
"""The classes that annotations name and only type checkers import."""

_MEANT: dict[type, dict[str, Any]] = {Turns: {"Place": Entry}}
"""The meaning of type variables in generic classes that are saved with one type only."""


@frozen
class Slot:
    """Where an object has the value of one field."""

    name: str
    put: Callable[[Any, Any], None]  # sets it, also in a frozen object
    default: Callable[[], Any] | None


@frozen
class Field(Slot):
    """A field that is saved."""

    of: Callable[[Any], Any]  # gives its value
    shape: Shape


@frozen
class Part:
    """A field whose object is saved as fields of its owner."""

    kind: type
    put: Callable[[Any, Any], None]


@frozen
class Layout:
    """A class of objects, and what is saved of each."""

    kind: type
    fields: tuple[Field, ...]
    left_out: tuple[Slot, ...]
    parts: tuple[Part, ...] = ()

    def column(self, field: Field) -> str:
        """The name of a column, or what the names of several begin with."""
        return f"{self.kind.__name__}.{field.name}"


LAYOUTS: dict[type, Layout] = {}
"""Those that were asked for."""


def layout_of(kind: type) -> Layout:
    """The layout of an attrs class. TypeError names a field whose type has no shape."""
    layout = LAYOUTS.get(kind)
    if layout is None:
        layout = LAYOUTS[kind] = _make(kind)
    return layout


def _make(kind: type) -> Layout:
    left_out = LEFT_OUT.get(kind, {})
    attributes = attrs.fields(kind)
    unknown = left_out.keys() - {attribute.name for attribute in attributes}
    if unknown:
        raise TypeError(f"{kind.__name__} has no field {min(unknown)!r} to be left out")
    meant = _MEANT.get(kind, {})
    try:
        hints = get_type_hints(kind, {**_NAMES, **vars(sys.modules[kind.__module__])}, meant)
    except NameError as error:
        raise TypeError(f"a field of {kind.__name__} cannot be saved: {error}") from error
    slots = [_slot(kind, attribute) for attribute in attributes]
    fields: list[Field] = []
    parts: list[Part] = []
    for slot in slots:
        names = PARTS.get(kind, {}).get(slot.name)
        if names is not None:
            parts.append(Part(hints[slot.name], slot.put))
            fields += _fields_of_part(slot.name, layout_of(hints[slot.name]), names)
        elif slot.name not in left_out:
            fields.append(_field(kind, slot, hints[slot.name]))
    omitted = tuple(slot for slot in slots if slot.name in left_out)
    return Layout(kind, tuple(fields), omitted, tuple(parts))


def _fields_of_part(part: str, layout: Layout, names: Mapping[str, str]) -> Iterator[Field]:
    """The fields of a part, as those of its owner."""
    get = attrgetter(part)

    def put_in_part(field: Field) -> Callable[[Any, Any], None]:
        return lambda owner, value: field.put(get(owner), value)

    for field in layout.fields:
        name = names.get(field.name, field.name)
        of = attrgetter(f"{part}.{field.name}")
        yield Field(name, put_in_part(field), field.default, of, field.shape)


def _slot(kind: type, attribute: attrs.Attribute[Any]) -> Slot:
    name, default = attribute.name, attribute.default
    descriptor: Any = kind.__dict__[name]  # nodes have no bases with fields
    return Slot(name, descriptor.__set__, _maker(default))


def _maker(default: Any) -> Callable[[], Any] | None:
    """Makes the default of a field that does not depend on others, if it has one."""
    if default is attrs.NOTHING or getattr(default, "takes_self", False):
        return None
    factory: Callable[[], Any] | None = getattr(default, "factory", None)
    return factory if factory is not None else lambda: default


def _field(kind: type, slot: Slot, hint: Any) -> Field:
    try:
        shape = shape_of(hint)
    except TypeError as error:
        raise TypeError(
            f"the field {slot.name!r} of {kind.__name__} is neither saved nor left out: {error}"
        ) from error
    return Field(slot.name, slot.put, slot.default, attrgetter(slot.name), shape)


def layouts_from(root: type) -> dict[str, Layout]:
    """Those of a class and of all classes that are reached from it, by their names."""
    kinds = [root]
    for kind in kinds:  # grows while it is walked
        for one in layout_of(kind).fields:
            kinds += [other for other in one.shape.classes if other not in kinds]
    found = {kind.__name__: layout_of(kind) for kind in kinds}
    if len(found) < len(kinds):
        raise TypeError(f"two classes of one name are saved: {kinds}")
    return found
