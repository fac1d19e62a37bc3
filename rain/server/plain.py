"""Converts values to plain ones that msgpack can write, and back, by the types of their fields.

A value of an attrs class becomes the list of its fields; one of several classes is preceded by its
name. Values that need no change are passed on as they are: the lists of ten thousand tasks are
copied by msgpack alone, and arrays become lists before. The type of every field is read once, when
its class is first seen. Fields that are not arguments of the class are left out, since they follow
from the others.

A file begins with the fields of its classes (`layout_of`), for later versions. When such a version
reads it (`Forms`), a missing field gets its default. A field that no longer exists is refused by
name, unless there is a migration (`rain.server.migrations`).
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, MutableSequence, Sequence
from enum import Enum
from operator import attrgetter
from typing import Any, NamedTuple, NewType, TypeVar, Union, get_args, get_origin

import attrs

from rain.server.migrations import Fields, Migration, record_changes

V = TypeVar("V")
Change = Callable[[Any], Any]
Layout = Mapping[str, Sequence[str]]
"""The names of the fields of each class."""


class Form(NamedTuple):
    """How values of one type are changed on the way out and on the way in; None for not at all."""

    out: Change | None
    back: Change | None


_BASE_TYPES = (int, float, str, bytes, bool, type(None))


class Forms:
    """The forms of all types, as they are now or as they were in a file with this layout."""

    def __init__(self, layout: Layout | None = None, migrations: Iterable[Migration] = ()) -> None:
        self._layout = layout
        self._migrations = tuple(migrations)
        self._known: dict[Any, Form] = dict.fromkeys(_BASE_TYPES, Form(None, None))

    def of(self, kind: Any) -> Form:
        """The form of a type; a type that has none is an error of ours."""
        form = self._known.get(kind)
        if form is None:
            form = self._known[kind] = self._make(kind)
        return form

    def out(self, kind: type[V], value: V) -> Any:
        """The value as numbers, texts, bytes and lists."""
        out = self.of(kind).out
        return value if out is None else out(value)

    def back(self, kind: type[V], plain: Any) -> V:
        """The value that was made plain; anything else raises TypeError, ValueError or KeyError."""
        back = self.of(kind).back
        value: V = plain if back is None else back(plain)
        return value

    def _make(self, kind: Any) -> Form:
        if isinstance(kind, NewType):
            return self.of(kind.__supertype__)
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is list:
            form = self.of(arguments[0])
            return Form(_each(form.out), _each(form.back))
        if origin is MutableSequence:
            return self._of_column(arguments[0])
        if origin is tuple:
            return self._of_tuple(arguments)
        if origin in (Union, types.UnionType):
            return self._of_union(arguments)
        if isinstance(kind, type) and issubclass(kind, Enum):
            return Form(_value_of, kind)
        if isinstance(kind, type) and attrs.has(kind):
            return self._of_class(kind)
        raise TypeError(f"no plain form is known for {kind!r}")

    def _of_column(self, item: Any) -> Form:
        """A list or an array of numbers; a list comes back."""
        if self.of(item) != Form(None, None):
            raise TypeError(f"a column of {item!r} is no array")
        return Form(list, None)

    def _of_tuple(self, items: tuple[Any, ...]) -> Form:
        if len(items) == 2 and items[1] is ...:
            form = self.of(items[0])
            back = _each(form.back)

            def to_tuple(plain: Any) -> Any:
                return tuple(_changed(back, plain))

            return Form(_each(form.out), to_tuple)
        return _of_fields([self.of(item) for item in items], _make_tuple, tuple)

    def _of_union(self, kinds: tuple[Any, ...]) -> Form:
        if types.NoneType in kinds and len(kinds) == 2:
            (kind,) = [kind for kind in kinds if kind is not types.NoneType]
            form = self.of(kind)
            return Form(_unless_none(form.out), _unless_none(form.back))
        forms = {kind.__name__: self.of(kind) for kind in kinds if attrs.has(kind)}
        if len(forms) != len(kinds):
            raise TypeError(f"no plain form tells {kinds} apart")

        def out(value: Any) -> Any:
            name = type(value).__name__
            return [name, _changed(forms[name].out, value)]

        def back(plain: Any) -> Any:
            name, value = plain
            if name not in forms:
                raise ValueError(f"{name} is not known")
            return _changed(forms[name].back, value)

        return Form(out, back)

    def _of_class(self, kind: type) -> Form:
        now = fields_of(kind)
        names = list(now)
        form = _of_fields([self.of(now[name]) for name in names], kind, _taker(names))
        then = names if self._layout is None else [*self._layout.get(kind.__name__, names)]
        changes = record_changes(self._migrations, kind.__name__)
        if changes:
            return Form(form.out, self._of_migrated(kind, then, changes))
        if then == names:
            return form
        for name in then:
            if name not in now:
                raise ValueError(f"{kind.__name__} has a field {name!r}, which is not known")
        backs = [self.of(now[name]).back for name in then]

        def back(plain: Any) -> Any:
            said = zip(then, backs, plain, strict=True)
            return kind(**{name: _changed(change, part) for name, change, part in said})

        return Form(form.out, back)

    def _of_migrated(
        self, kind: type, then: Sequence[str], changes: Iterable[Callable[[Fields], Fields]]
    ) -> Change:
        """Reads values of a class that has changed by more than new fields."""
        now = fields_of(kind)

        def back(plain: Any) -> Any:
            fields: Fields = dict(zip(then, plain, strict=True))
            for change in changes:
                fields = change(fields)
            unknown = fields.keys() - now.keys()
            if unknown:
                raise ValueError(
                    f"{kind.__name__} has a field {min(unknown)!r}, which is not known"
                )
            return kind(
                **{name: _changed(self.of(now[name]).back, part) for name, part in fields.items()}
            )

        return back


def fields_of(kind: type) -> dict[str, Any]:
    """The fields that values of an attrs class are made with, and their types."""
    attrs.resolve_types(kind)
    return {field.name: field.type for field in attrs.fields(kind) if field.init}


def layout_of(*kinds: Any) -> dict[str, list[str]]:
    """The fields of these classes and of all that their values hold."""
    return {name: list(fields_of(kind)) for name, kind in classes_of(*kinds).items()}


def classes_of(*kinds: Any) -> dict[str, type]:
    """These classes and those of all that their values hold, by their names."""
    found: dict[str, type] = {}
    for kind in kinds:
        _find_classes(kind, found)
    return found


def _find_classes(kind: Any, found: dict[str, type]) -> None:
    if isinstance(kind, NewType):
        return
    for argument in get_args(kind):
        _find_classes(argument, found)
    if not (isinstance(kind, type) and attrs.has(kind)):
        return
    other = found.get(kind.__name__)
    if other is kind:
        return
    if other is not None:
        raise TypeError(f"no layout tells {kind!r} and {other!r} apart")
    found[kind.__name__] = kind
    for of_field in fields_of(kind).values():
        _find_classes(of_field, found)


_NOW = Forms()
to_plain = _NOW.out
from_plain = _NOW.back


def _value_of(member: Enum) -> Any:
    return member.value


def _each(change: Change | None) -> Change | None:
    return None if change is None else lambda values: [change(value) for value in values]


def _make_tuple(*values: Any) -> Any:
    return values


def _taker(names: Sequence[str]) -> Change:
    """A function that takes the fields of these names from a value, in order."""
    if len(names) < 2:
        return lambda value: [getattr(value, name) for name in names]
    return attrgetter(*names)


def _of_fields(forms: list[Form], make: Callable[..., Any], take_apart: Change) -> Form:
    outs = [(place, form.out) for place, form in enumerate(forms) if form.out is not None]
    backs = [(place, form.back) for place, form in enumerate(forms) if form.back is not None]
    count = len(forms)

    def out(value: Any) -> Any:
        parts = list(take_apart(value))
        if len(parts) != count:
            raise ValueError(f"{count} parts are expected, not {len(parts)}")
        for place, change in outs:
            parts[place] = change(parts[place])
        return parts

    def back(plain: Any) -> Any:
        if len(plain) != count:
            raise ValueError(f"{count} parts are expected, not {len(plain)}")
        parts = list(plain)
        for place, change in backs:
            parts[place] = change(parts[place])
        return make(*parts)

    return Form(out, back)


def _changed(change: Change | None, value: Any) -> Any:
    return value if change is None else change(value)


def _unless_none(change: Change | None) -> Change | None:
    return None if change is None else lambda value: None if value is None else change(value)
