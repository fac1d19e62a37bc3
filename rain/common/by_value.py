"""Pickles functions and classes that a reader cannot import, including the names of their source
files.

New releases of cloudpickle leave these names out. With the names, a traceback shows the file of
each line, and also the line if the file can be read. The code says for which Python it is
(`code.py`).

cloudpickle tries to import functions with a cache, and fails to pickle classes with a cached
property and functions of `functools.singledispatch`. This module rebuilds them around the functions
inside, with an empty cache. cloudpickle also copies `dataclasses.MISSING`, which has to be the same
object everywhere, and loses `__slots__`: objects of the copied class have a `__dict__`, which the
class of the program cannot load. It would also copy the generator of `random.random`.
"""

from __future__ import annotations

import dataclasses
import io
import sys
import typing
from collections import ChainMap
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache, singledispatch
from types import CodeType, FunctionType
from typing import Any

import cloudpickle

from rain.common.annotated import brought_by_annotations, looked_up_in
from rain.common.code import HERE, made_by
from rain.common.enum_classes import with_members
from rain.common.errors import RainException
from rain.common.exception_values import has_own_init, reduced_exception
from rain.common.importable import is_imported
from rain.common.pickles import PICKLE_PROTOCOL, REDUCERS, UNPICKLABLE
from rain.common.random_generators import place_of_method
from rain.common.references import finding_references
from rain.common.script_main import (
    CHILDS_MAIN,
    MAINS,
    is_called,
    make_class,
    origin,
    set_class,
    set_function,
)

WITH_CACHE: type = type(lru_cache(len))
"""The type of what `functools.lru_cache` and `functools.cache` make of a function."""


def _nothing() -> Generator[None, None, None]:
    yield


_MANAGER: Any = type(contextmanager(_nothing)())
"""The type of what functions with `contextlib.contextmanager` return."""

_dispatch: Any = singledispatch
_DISPATCHES: CodeType = _dispatch(len).__code__
"""The code of all functions that `functools.singledispatch` makes."""

_library: Any = cloudpickle.cloudpickle
_REDUCERS: Any = cloudpickle.Pickler.dispatch_table
_MAKE_CLASS: Any = _library._make_skeleton_class
"""The function with which cloudpickle creates an empty class."""

_SLOTS = (str, tuple, list, dict)
"""The types of `__slots__` that still have the names. An iterator is used up."""

_WITH_SETTER = 6
"""Parts of what cloudpickle makes of a function or class that it sends by value."""

_IDENTITY = -2
"""The place of what names a class to all processes, among the arguments that make it."""

_FILE = 10
"""The place of the name of the file among the arguments of `CodeType`."""


def _reduced(code: CodeType) -> tuple[Any, ...]:
    """How cloudpickle reduces code, but with the name of its file, and with the release of Python.

    Equal names are one object, so that equal functions make equal pickles.
    """
    _, arguments = _REDUCERS[CodeType](code)
    file = sys.intern(code.co_filename)
    return made_by, (HERE, *arguments[:_FILE], file, *arguments[_FILE + 1 :])


def _reduced_cache(function: Any) -> str | tuple[Any, ...]:
    if is_imported(function):
        return str(function.__qualname__)
    return _cached, (function.__wrapped__, function.cache_parameters())


def _cached(function: Callable[..., Any], parameters: dict[str, Any]) -> Callable[..., Any]:
    made: Callable[..., Any] = lru_cache(**parameters)(function)
    return made


def _reduced_property(value: cached_property[Any]) -> tuple[Any, ...]:
    """Without the lock that it has in some releases of Python."""
    return cached_property, (value.func,), {"attrname": value.attrname}


def _reduced_manager(value: Any) -> tuple[Any, ...]:
    """One that was not entered yet, as where it decorates a function. An entered one has no `func`
    any more.
    """
    return _managed, (value.func, value.args, value.kwds)


def _managed(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return _MANAGER(function, args, keywords)


def is_dispatch(function: FunctionType) -> bool:
    """Whether `functools.singledispatch` has made it."""
    return function.__code__ is _DISPATCHES


def is_made_by_pydantic(function: FunctionType) -> bool:
    """Whether it is a function in which `validate_call` has put one of the script."""
    return function.__globals__.get("__name__") == "pydantic._internal._validate_call"


def _without_surrounding(attributes: dict[str, Any]) -> dict[str, Any]:
    """The content of a class without the names that were around it.

    A model of pydantic has them for names that are defined later, and needs none of them once it is
    complete. They may be anything, such as a client.
    """
    if not attributes.get("__pydantic_complete__"):
        return attributes
    return {**attributes, "__pydantic_parent_namespace__": None}


def _reduced_dispatch(function: Any) -> tuple[Any, ...]:
    """With what is registered as its state: an implementation may call the function itself."""
    made = dict(function.registry)
    default = made.pop(object)
    return singledispatch, (default,), list(made.items()), None, None, _register


def _register(function: Any, implementations: list[tuple[type, Callable[..., Any]]]) -> None:
    for kind, implementation in implementations:
        function.register(kind, implementation)


def _with_slots(cls: type, reduced: Any) -> Any:
    """The same, but the class gets its slots when it is created. They cannot be added later."""
    if reduced[0] is not _MAKE_CLASS:
        return reduced
    make, (kind, name, bases, content, *rest), *state = reduced
    if typing.NamedTuple in bases:  # which makes the slots itself
        return reduced
    return (
        make,
        (kind, name, bases, {**content, "__slots__": vars(cls)["__slots__"]}, *rest),
        *state,
    )


def _reduced_missing(_: object) -> str:
    return "MISSING"  # of the module `dataclasses`


def _reduced_new_type(value: Any) -> str | tuple[Any, ...]:
    if is_imported(value):
        return str(value.__qualname__)
    return typing.NewType, (value.__name__, value.__supertype__), {"__module__": value.__module__}


def _reduced_parameters(value: Any) -> str | tuple[Any, ...]:
    """A `ParamSpec` or a `TypeVarTuple`, which a script cannot be asked for."""
    return str(value.__name__) if is_imported(value) else (type(value), (value.__name__,))


def _function(function: FunctionType, reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """A function with what its annotations mention, and whether its script has it by its name."""
    make, arguments, (state, slots), *_, setter = reduced
    slots["__globals__"].update(brought_by_annotations(function, travels))
    is_named = function.__module__ in MAINS and is_called(function, function.__globals__)
    return make, arguments, (setter, (state, slots), is_named), None, None, set_function


def _class(cls: type, reduced: tuple[Any, ...], version: bytes) -> tuple[Any, ...]:
    """A class with what its annotations mention, and with the name that its script has for it."""
    if isinstance(vars(cls).get("__slots__"), _SLOTS):
        reduced = _with_slots(cls, reduced)
    make, arguments, (attributes, *others), *_, setter = with_members(cls, reduced)
    state = (_without_surrounding(attributes), *others)
    identity: str = arguments[_IDENTITY]
    names: dict[str, Any] = {}
    if cls.__module__ in MAINS:
        names = brought_by_annotations(cls, travels)
        there = looked_up_in(cls)
        if is_called(cls, there):
            top = cls.__qualname__.partition(".")[0]
            names[top] = there[top]
    # What annotations name is made before the content, which may need it whole.
    told = names, setter, state, origin(), version
    return make_class, (identity, make, arguments), told, None, None, set_class


_TABLE: Any = ChainMap(
    {
        CodeType: _reduced,
        type(dataclasses.MISSING): _reduced_missing,
        WITH_CACHE: _reduced_cache,
        cached_property: _reduced_property,
        _MANAGER: _reduced_manager,
        typing.NewType: _reduced_new_type,
        typing.ParamSpec: _reduced_parameters,
        typing.TypeVarTuple: _reduced_parameters,
    },
    REDUCERS,
    *_REDUCERS.maps,
)


class Pickler(cloudpickle.Pickler):
    """A pickler of cloudpickle whose code has the names of its files.

    `class_versions` has one that tells versions of classes apart.
    """

    dispatch_table = _TABLE

    def __init__(
        self,
        file: io.BytesIO,
        protocol: int | None = None,
        buffer_callback: Callable[[Any], Any] | None = None,
    ) -> None:
        childs_main = sys.modules.get(CHILDS_MAIN)
        if childs_main is not None:  # loaded when the script has run, long after this module
            library: Any = cloudpickle
            library.register_pickle_by_value(childs_main)
        super().__init__(file, protocol, buffer_callback)  # type: ignore[no-untyped-call] # pyright: ignore[reportUnknownMemberType] # not annotated

    def reducer_override(self, obj: Any) -> Any:
        """How functions and classes are pickled; all else is as pickle itself does it."""
        if type(obj) is FunctionType and is_dispatch(obj) and not is_imported(obj):
            return _reduced_dispatch(obj)
        if type(obj) is FunctionType and is_made_by_pydantic(obj) and not is_imported(obj):
            raise TypeError(
                f"cannot pickle {obj.__qualname__!r}, which validate_call of pydantic has made"
            )
        if has_own_init(obj):
            return reduced_exception(obj)
        if (place := place_of_method(obj)) is not None:
            module, name = place
            return getattr, (sys.modules[module], name)
        reduced: Any = super().reducer_override(obj)  # type: ignore[no-untyped-call] # pyright: ignore[reportUnknownMemberType] # not annotated
        if reduced is NotImplemented or len(reduced) < _WITH_SETTER:
            return reduced
        if type(obj) is FunctionType:
            return _function(obj, reduced)
        return _class(obj, reduced, self.version_of(obj))

    def version_of(self, cls: type) -> bytes:
        """What tells this version of a class from others; nothing where nobody asks."""
        del cls
        return b""


_make_pickler: Any = Pickler  # cloudpickle is not annotated


def dumps(
    value: Any,
    protocol: int,
    buffer_callback: Callable[[Any], Any] | None = None,
) -> bytes:
    """What `cloudpickle.dumps` does, with the names of files."""
    with io.BytesIO() as target:
        _make_pickler(target, protocol, buffer_callback).dump(value)
        return target.getvalue()


def travels(value: object) -> bool:
    """Whether a value can be pickled; large buffers in it are not copied for that."""
    # Handles of data are sent in another way.
    with suppress(RainException), finding_references():
        try:
            dumps(value, PICKLE_PROTOCOL, _aside)
        except UNPICKLABLE:
            return False
    return True


def _aside(_: object) -> None:
    """A buffer stays out of the pickle."""
