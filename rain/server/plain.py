"""Turning values into what msgpack can write, and back, by the types of their fields.

A value of an attrs class becomes the list of its fields; one of several classes is preceded by its
name. What needs no change is passed on as it is: the lists of ten thousand tasks are copied by
msgpack alone, and arrays become lists before. The type of every field is read once, when its class
is first seen. A field that no value is made with says nothing that the others do not say.
"""

from __future__ import annotations

import types
from collections.abc import Callable, MutableSequence
from enum import Enum
from typing import Any, NamedTuple, NewType, TypeVar, Union, get_args, get_origin

import attrs

V = TypeVar("V")
Change = Callable[[Any], Any]


class Form(NamedTuple):
    """How values of one type are changed on the way out and on the way in; None for not at all."""

    out: Change | None
    back: Change | None


_BASE_TYPES = (int, float, str, bytes, bool, type(None))
_FORMS: dict[Any, Form] = dict.fromkeys(_BASE_TYPES, Form(None, None))


def to_plain(kind: type[V], value: V) -> Any:
    """The value in terms of numbers, texts, bytes and lists."""
    out = form_of(kind).out
    return value if out is None else out(value)


def from_plain(kind: type[V], plain: Any) -> V:
    """The value that was made plain; anything else raises TypeError, ValueError or KeyError."""
    back = form_of(kind).back
    value: V = plain if back is None else back(plain)
    return value


def form_of(kind: Any) -> Form:
    """The form of a type; a type that has none is an error of ours."""
    form = _FORMS.get(kind)
    if form is None:
        form = _FORMS[kind] = _make_form(kind)
    return form


def _make_form(kind: Any) -> Form:
    if isinstance(kind, NewType):
        return form_of(kind.__supertype__)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is list:
        return _of_list(arguments[0])
    if origin is MutableSequence:
        return _of_column(arguments[0])
    if origin is tuple:
        return _of_tuple(arguments)
    if origin in (Union, types.UnionType):
        return _of_union(arguments)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return Form(_value_of, kind)
    if isinstance(kind, type) and attrs.has(kind):
        return _of_class(kind)
    raise TypeError(f"no plain form is known for {kind!r}")


def _value_of(member: Enum) -> Any:
    return member.value


def _each(change: Change | None) -> Change | None:
    return None if change is None else lambda values: [change(value) for value in values]


def _of_list(item: Any) -> Form:
    form = form_of(item)
    return Form(_each(form.out), _each(form.back))


def _of_column(item: Any) -> Form:
    """A list or an array of numbers; a list comes back."""
    if form_of(item) != Form(None, None):
        raise TypeError(f"a column of {item!r} is no array")
    return Form(list, None)


def _of_tuple(items: tuple[Any, ...]) -> Form:
    if len(items) == 2 and items[1] is ...:
        form = form_of(items[0])
        back = _each(form.back)

        def to_tuple(plain: Any) -> Any:
            return tuple(_changed(back, plain))

        return Form(_each(form.out), to_tuple)
    return _of_fields([form_of(item) for item in items], _make_tuple, tuple)


def _make_tuple(*values: Any) -> Any:
    return values


def _of_union(kinds: tuple[Any, ...]) -> Form:
    if types.NoneType in kinds and len(kinds) == 2:
        (kind,) = [kind for kind in kinds if kind is not types.NoneType]
        form = form_of(kind)
        return Form(_unless_none(form.out), _unless_none(form.back))
    forms = {kind.__name__: form_of(kind) for kind in kinds if attrs.has(kind)}
    if len(forms) != len(kinds):
        raise TypeError(f"no plain form tells {kinds} apart")

    def out(value: Any) -> Any:
        name = type(value).__name__
        return [name, _changed(forms[name].out, value)]

    def back(plain: Any) -> Any:
        name, value = plain
        return _changed(forms[name].back, value)

    return Form(out, back)


def _of_class(kind: type) -> Form:
    attrs.resolve_types(kind)
    fields = [field for field in attrs.fields(kind) if field.init]
    names = [field.name for field in fields]
    return _of_fields(
        [form_of(field.type) for field in fields],
        kind,
        lambda value: [getattr(value, name) for name in names],
    )


def _of_fields(forms: list[Form], make: Change, take_apart: Change) -> Form:
    def out(value: Any) -> Any:
        parts = take_apart(value)
        return [_changed(form.out, part) for form, part in zip(forms, parts, strict=True)]

    def back(plain: Any) -> Any:
        return make(*[_changed(form.back, part) for form, part in zip(forms, plain, strict=True)])

    return Form(out, back)


def _changed(change: Change | None, value: Any) -> Any:
    return value if change is None else change(value)


def _unless_none(change: Change | None) -> Change | None:
    return None if change is None else lambda value: None if value is None else change(value)
