"""Describes what functions, classes and modules do, as texts and values for digests.

* What belongs to Python or to an installed package counts by its name and the version of that.
* A function of the user's own counts by its bytecode and its constants, its defaults, what its
  closure holds, and all globals that it names, in any depth, also in annotations that are texts.
  Its line numbers do not count, and neither do comments.
* A function of `functools.singledispatch` counts by all that is registered.
* A class of the user's own counts by what is defined in it and in its bases.
* A module of the user's own that is named as a module, or imported inside of a function, counts by
  the text of its file, and of those of the user's own modules that it imports. A package counts by
  the texts of all its files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias

from attrs import Factory, define

from rain.client.brought.captured import (
    BY_ITSELF,
    content_of_cell,
    global_names,
    imported_names,
)
from rain.client.brought.imports import is_installed
from rain.common.annotated import looked_up_in, mentioned
from rain.common.by_value import is_dispatch
from rain.common.importable import is_imported

_UNREADABLE = "unreadable"
_NOT_COUNTED = BY_ITSELF | {"_abc_impl", "__firstlineno__", "__static_attributes__"}

Code: TypeAlias = FunctionType | type | ModuleType | BuiltinFunctionType


@define
class Described:
    """Texts, and values that are described in turn."""

    texts: list[str] = Factory(list)
    values: list[Any] = Factory(list)


def described(value: Code) -> Described:
    """Describes what a function, class or module does."""
    if isinstance(value, ModuleType):
        return Described(["module", *_module_texts(value.__name__, set())])
    if isinstance(value, BuiltinFunctionType):
        owner = value.__self__
        bound = [] if owner is None or isinstance(owner, ModuleType) else [owner]
        name = value.__module__ or ""
        return Described(["builtin", value.__qualname__, *_release(name)], bound)
    if is_imported(value) and not is_own(value.__module__):
        return Described(["installed", value.__qualname__, *_release(value.__module__)])
    return _function(value) if isinstance(value, FunctionType) else _class(value)


def is_own(module: str | None) -> bool:
    """Whether a module is the user's own, so that its code counts."""
    if module is None:
        return True
    if module == "rain" or module.startswith("rain."):
        return False
    found = sys.modules.get(module)
    if module == "__main__" or found is None:
        return True
    file = getattr(found, "__file__", None)
    if not isinstance(file, str):
        return not (module in sys.builtin_module_names or hasattr(found, "__path__"))
    return not is_installed(file)


def _function(function: FunctionType) -> Described:
    if is_dispatch(function):
        dispatch: Any = function
        return Described(["dispatch"], [dict(dispatch.registry)])
    code = function.__code__
    found = Described(["function"], [*_code(code)])
    found.values += [function.__defaults__, function.__kwdefaults__]
    found.values += [content_of_cell(cell) for cell in function.__closure__ or ()]
    for name in dict.fromkeys((*global_names(code), *mentioned(function))):
        if name in function.__globals__:
            found.texts.append(name)
            found.values.append(function.__globals__[name])
    for name in sorted(imported_names(code)):
        found.texts += _module_texts(name, set())
    for name, value in sorted(vars(function).items()):
        found.texts.append(name)
        found.values.append(value)
    return found


def _code(code: CodeType) -> Iterator[Any]:
    """The code that the interpreter executes, without its file and lines."""
    yield code.co_code
    yield code.co_exceptiontable
    yield [code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars]
    yield [code.co_flags, code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield [*_code(constant)]
        else:
            yield constant


def _class(cls: type) -> Described:
    names = sorted(vars(cls).keys() - _NOT_COUNTED)
    places = looked_up_in(cls)
    named = [name for name in mentioned(cls) if name in places]
    return Described(
        ["class", cls.__qualname__, *names, *named],
        [*cls.__bases__, *(vars(cls)[name] for name in names), *(places[name] for name in named)],
    )


def _module_texts(name: str, seen: set[str]) -> list[str]:
    """A module with those of the user's own modules that it imports."""
    if name in seen:
        return []
    seen.add(name)
    if not is_own(name):
        return [name, *_release(name)]
    texts = [name, *map(_text_of, _files_of(name))]
    loaded = sys.modules.get(name)
    if loaded is not None and name != "__main__":
        inner: set[str] = set()
        for value in vars(loaded).values():
            where = value.__name__ if isinstance(value, ModuleType) else _home(value)
            if where is not None and where != "__main__" and is_own(where):
                inner.add(where)
        for one in sorted(inner):
            texts += _module_texts(one, seen)
    return texts


def _home(value: object) -> str | None:
    """The module of a function or class."""
    return value.__module__ if isinstance(value, FunctionType | type) else None


def _files_of(name: str) -> list[Path]:
    file = getattr(sys.modules.get(name), "__file__", None)
    if not isinstance(file, str):
        if name in sys.modules:
            return []
        try:
            found = find_spec(name)
        except (ImportError, ValueError):
            return []
        if found is None or found.origin is None or is_installed(found.origin):
            return []
        file = found.origin
    path = Path(file)
    return sorted(path.parent.rglob("*.py")) if path.name == "__init__.py" else [path]


def _text_of(path: Path) -> str:
    try:
        return blake2b(path.read_bytes(), digest_size=20).hexdigest()
    except OSError:
        return _UNREADABLE


@lru_cache(maxsize=1024)
def _release(module: str) -> tuple[str, str]:
    """A module, and the version of its package, or that of Python."""
    from importlib.metadata import (  # noqa: PLC0415 # loads a lot, for few programs
        PackageNotFoundError,
        packages_distributions,
        version,
    )

    def packages() -> Iterator[str]:
        yield from packages_distributions().get(top, ())

    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return module, "{}.{}".format(*sys.version_info)
    # Finding the package by its modules takes 0.1 s, and packages often share module names.
    for name in chain((top,), packages()) if top else ():
        with suppress(PackageNotFoundError):
            return module, version(name)
    return module, str(getattr(sys.modules.get(top), "__version__", ""))
