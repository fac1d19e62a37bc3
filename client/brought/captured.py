"""Finds the values that a function captures and that are pickled with it: globals, closures,
defaults.

Most of them (atoms, functions, classes) can be compared by identity, which is cheap. Values that
can change in place (a list, a model) are only noted: the caller then compares the pickle of the
function. If the function cannot be pickled, `what_is_captured` names the value at fault.
"""

import dis
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GenericAlias,
    ModuleType,
    UnionType,
)
from typing import Any

from rain.common.annotated import looked_up_in, mentioned
from rain.common.by_value import WITH_CACHE, travels
from rain.common.importable import is_imported
from rain.common.random_generators import is_random_generator, place_of_method
from rain.common.unpicklable import what_cannot_be_sent

_ATOMS = frozenset(
    {type(None), bool, int, float, complex, str, bytes, range, slice, type(...)}
    | {GenericAlias, UnionType, type(NotImplemented)}
)
_GLOBAL = frozenset({"LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL"})
_MISSING = object()
_WHOLE = frozenset({"__annotations__", "__dataclass_fields__", "__dataclass_params__"})
"""Of a class: values that are made with it, and that nobody changes in place."""
BY_ITSELF = frozenset({"__dict__", "__weakref__", "__doc__", "__module__", "__abstractmethods__"})


class Wrapper:
    """An object that wraps a function and captures the same values."""

    fn: Callable[..., Any]


class Captured:
    """The values that one function has captured at this moment, and the functions that it calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.can_change = False  # something of it can change without a new identity
        self.generator = ""  # the name of a random generator, if it has captured one
        self.imported: set[str] = set()  # top-level modules that are imported when it runs
        self._names: list[tuple[Mapping[str, Any], str, object]] = []
        self._cells: list[tuple[CellType, object]] = []
        self._codes: list[tuple[FunctionType, CodeType]] = []  # which reloading may exchange
        self._sizes: list[tuple[type, int]] = []
        self._seen: set[int] = set()
        self._look_at(function)

    def is_as_it_was(self) -> bool:
        """Whether all names still refer to the same values."""
        for names, name, value in self._names:
            if names.get(name, _MISSING) is not value:
                return False
        for cell, value in self._cells:
            if content_of_cell(cell) is not value:
                return False
        for function, code in self._codes:
            if function.__code__ is not code:
                return False
        return not self._sizes or all(len(vars(cls)) == size for cls, size in self._sizes)

    def _look_into(self, function: FunctionType) -> None:
        self.imported |= imported_names(function.__code__)
        for name in global_names(function.__code__):
            self._look_at_name(function.__globals__, name)
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            value = content_of_cell(cell)
            self._cells.append((cell, value))
            self._note_generator(name, value)
            self._look_at(value)
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._look_at(value)
        for name in vars(function):
            self._look_at_name(vars(function), name)
        for name in mentioned(function):
            self._look_at_name(function.__globals__, name)

    def _look_at_name(self, names: Mapping[str, Any], name: str) -> None:
        value = names.get(name, _MISSING)
        self._names.append((names, name, value))
        self._note_generator(name, value)
        self._look_at(value)

    def _note_generator(self, name: str, value: object) -> None:
        if is_random_generator(value):
            self.generator = name

    def _note_arguments(self, value: object) -> None:
        """Those of a partial call."""
        if isinstance(value, partial):
            for place, item in (*enumerate(value.args), *value.keywords.items()):
                self._note_generator(str(place), item)

    def _look_at(self, value: object) -> None:
        if type(value) in _ATOMS or value is _MISSING or id(value) in self._seen:
            return
        self._seen.add(id(value))
        if isinstance(value, ModuleType):
            self._names.append((vars(value), "__spec__", value.__spec__))  # new after a reload
        elif isinstance(value, FunctionType):
            self._codes.append((value, value.__code__))
            if not is_imported(value):
                self._look_into(value)
        elif isinstance(value, type):
            if not is_imported(value):
                self._look_into_class(value)
        elif type(value) in {tuple, frozenset}:
            for item in value:  # type: ignore[attr-defined] # pyright: ignore[reportGeneralTypeIssues] # it is one of these
                self._look_at(item)  # pyright: ignore[reportUnknownArgumentType] # as above
        else:
            inner = _inside(value)
            if inner is None:
                self.can_change = True
            self._note_arguments(value)
            for item in inner or ():
                self._look_at(item)

    def _look_into_class(self, cls: type) -> None:
        self._sizes.append((cls, len(vars(cls))))
        for base in cls.__bases__:
            self._look_at(base)
        for name in vars(cls).keys() - BY_ITSELF - _WHOLE:
            self._look_at_name(vars(cls), name)
        for name in vars(cls).keys() & _WHOLE:
            self._names.append((vars(cls), name, vars(cls)[name]))
        for name in mentioned(cls):
            self._look_at_name(looked_up_in(cls), name)


def what_is_captured(fn: Callable[..., Any], error: BaseException) -> str:
    """Names what a function captures and cannot be pickled, and says what to do."""
    for name, value in _named(fn):
        if not travels(value):
            return what_cannot_be_sent(value, error, name)
    return what_cannot_be_sent(fn, error)


def _named(fn: Any) -> Iterator[tuple[str, object]]:
    function = getattr(fn, "__func__", fn)  # of a bound method
    code = getattr(function, "__code__", None)
    if code is None:
        return
    for name in global_names(code):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        yield name, content_of_cell(cell)
    defaults = function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    yield from zip(names[len(names) - len(defaults) :], defaults, strict=True)
    yield from (function.__kwdefaults__ or {}).items()
    if hasattr(fn, "__self__"):
        yield "self", fn.__self__


@lru_cache(maxsize=1024)
def global_names(code: CodeType) -> tuple[str, ...]:
    """The global names that a function, and its inner functions, look up."""
    return tuple(dict.fromkeys(_global_uses(code)))


def _global_uses(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in _GLOBAL:
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_uses(constant)


@lru_cache(maxsize=1024)
def imported_names(code: CodeType) -> frozenset[str]:
    """The top-level modules that a function, and its inner functions, import."""
    found = {
        instruction.argval.partition(".")[0]
        for instruction in dis.get_instructions(code)
        if instruction.opname == "IMPORT_NAME"
    }
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return frozenset(found.union(*map(imported_names, inner)))


def content_of_cell(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # nothing was assigned yet
        return _MISSING


def _inside(value: object) -> list[object] | None:
    """The contents of an object that only wraps others; None for any other object."""
    if isinstance(value, staticmethod | classmethod):
        return [value.__func__]  # pyright: ignore[reportUnknownMemberType] # of any parameters
    if isinstance(value, property):
        return [value.fget, value.fset, value.fdel]
    if place_of_method(value) is not None:
        return []
    if isinstance(value, BuiltinFunctionType):
        return [value.__self__] if value.__self__ is not None else []
    if isinstance(value, WITH_CACHE):
        function: Any = value
        return [] if is_imported(function) else [function.__wrapped__]
    if isinstance(value, cached_property):
        return [value.func]
    return [value.fn] if isinstance(value, Wrapper) else None
