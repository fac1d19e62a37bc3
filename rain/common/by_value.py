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
from collections import ChainMap
from collections.abc import Callable
from functools import cached_property, lru_cache, singledispatch
from types import CodeType, FunctionType
from typing import Any

import cloudpickle

from rain.common.code import HERE, made_by
from rain.common.pickles import REDUCERS
from rain.common.shared_generators import place_of_method

WITH_CACHE: type = type(lru_cache(len))
"""The type of what `functools.lru_cache` and `functools.cache` make of a function."""

_dispatch: Any = singledispatch
_DISPATCHES: CodeType = _dispatch(len).__code__
"""The code of all functions that `functools.singledispatch` makes."""

_library: Any = cloudpickle.cloudpickle
_REDUCERS: Any = cloudpickle.Pickler.dispatch_table
_MAKE_CLASS: Any = _library._make_skeleton_class
"""The function with which cloudpickle creates an empty class."""

_SLOTS = (str, tuple, list, dict)
"""The types of `__slots__` that still have the names. An iterator is used up."""

_CHILDS_MAIN = "__mp_main__"
"""The name of the main module in processes that multiprocessing spawns."""

_MAIN = frozenset({"__main__", _CHILDS_MAIN})

_FILE = 10
"""The place of the name of the file among the arguments of `CodeType`."""


def _reduced(code: CodeType) -> tuple[Any, ...]:
    """How cloudpickle reduces code, but with the name of its file, and with the release of Python.

    Equal names are one object, so that equal functions make equal pickles.
    """
    _, arguments = _REDUCERS[CodeType](code)
    file = sys.intern(code.co_filename)
    return made_by, (HERE, *arguments[:_FILE], file, *arguments[_FILE + 1 :])


def is_imported(value: Callable[..., Any]) -> bool:
    """Whether a reader finds it under its name, so that nothing of it is in a pickle."""
    name = value.__module__
    module = sys.modules.get(name)
    if module is None or name in _MAIN or _is_sent_by_value(name):
        return False
    found: object = module
    for part in getattr(value, "__qualname__", "").split("."):  # a partial call has no name
        found = getattr(found, part, None)
    return found is value


def _is_sent_by_value(module: str) -> bool:
    registered: set[str] = cloudpickle.list_registry_pickle_by_value()  # type: ignore[no-untyped-call] # not annotated
    return any(module == name or module.startswith(f"{name}.") for name in registered)


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


def is_dispatch(function: FunctionType) -> bool:
    """Whether `functools.singledispatch` has made it."""
    return function.__code__ is _DISPATCHES


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
    if not isinstance(reduced, tuple) or reduced[0] is not _MAKE_CLASS:
        return reduced
    make, (kind, name, bases, content, *rest), *state = reduced
    return (
        make,
        (kind, name, bases, {**content, "__slots__": vars(cls)["__slots__"]}, *rest),
        *state,
    )


def _reduced_missing(_: object) -> str:
    return "MISSING"  # of the module `dataclasses`


_TABLE: Any = ChainMap(
    {
        CodeType: _reduced,
        type(dataclasses.MISSING): _reduced_missing,
        WITH_CACHE: _reduced_cache,
        cached_property: _reduced_property,
    },
    REDUCERS,
    *_REDUCERS.maps,
)


class Pickler(cloudpickle.Pickler):
    """A pickler of cloudpickle whose code has the names of its files."""

    dispatch_table = _TABLE

    def __init__(
        self,
        file: io.BytesIO,
        protocol: int | None = None,
        buffer_callback: Callable[[Any], Any] | None = None,
    ) -> None:
        childs_main = sys.modules.get(_CHILDS_MAIN)
        if childs_main is not None:  # loaded when the script has run, long after this module
            library: Any = cloudpickle
            library.register_pickle_by_value(childs_main)
        super().__init__(file, protocol, buffer_callback)  # type: ignore[no-untyped-call] # pyright: ignore[reportUnknownMemberType] # not annotated

    def reducer_override(self, obj: Any) -> Any:
        """How functions and classes are pickled; all else is as pickle itself does it."""
        if type(obj) is FunctionType and is_dispatch(obj) and not is_imported(obj):
            return _reduced_dispatch(obj)
        if (place := place_of_method(obj)) is not None:
            module, name = place
            return getattr, (sys.modules[module], name)
        reduced: Any = super().reducer_override(obj)  # type: ignore[no-untyped-call] # pyright: ignore[reportUnknownMemberType] # not annotated
        if isinstance(obj, type) and isinstance(vars(obj).get("__slots__"), _SLOTS):
            return _with_slots(obj, reduced)
        return reduced


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
