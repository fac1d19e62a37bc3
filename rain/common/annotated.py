"""What the annotations of a function or class mention as text: the names, and what they stand for.

Functions and classes that are pickled by value take along what their code names. Annotations that
are strings, as all are with `from __future__ import annotations`, are no code, but
`typing.get_type_hints` and libraries for data look these names up.

What cannot be sent is left out, since most functions never look at annotations. Modules, and what
is imported from them, are left out where the reader cannot import them.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from types import FunctionType, GenericAlias, ModuleType, UnionType
from typing import Any, ForwardRef, Literal, get_origin
from weakref import WeakKeyDictionary

from rain.common.importable import is_imported
from rain.common.script_main import ABSENT, MAINS

_TYPING = frozenset({"typing", "typing_extensions"})
_known: WeakKeyDictionary[Any, tuple[tuple[int, ...], frozenset[str]]] = WeakKeyDictionary()
"""By function or class: which values were tried, and the names of those that can be sent."""

_trying: ContextVar[bool] = ContextVar("_trying", default=False)


def mentioned(value: FunctionType | type) -> tuple[str, ...]:
    """The names in its own annotations, as far as these are texts."""
    annotations = vars(value).get("__annotations__") if isinstance(value, type) else None
    if isinstance(value, FunctionType):
        annotations = value.__annotations__
    if not annotations:
        return ()
    names = [name for one in annotations.values() if type(one) is not type for name in _names(one)]
    return tuple(dict.fromkeys(names))


def looked_up_in(value: FunctionType | type) -> Mapping[str, Any]:
    """Where these names are looked up."""
    if isinstance(value, FunctionType):
        return value.__globals__
    module = sys.modules.get(value.__module__)
    return {} if module is None else vars(module)


def brought_by_annotations(
    value: FunctionType | type, travels: Callable[[object], bool]
) -> dict[str, Any]:
    """What a pickle of it takes along because of its annotations, if that can be pickled."""
    names = mentioned(value)
    if not names:
        return {}
    places = looked_up_in(value)
    found = {name: places[name] for name in names if name in places}
    tried = tuple(map(id, found.values()))
    known, sent = _known.get(value, ((), frozenset[str]()))
    if tried == known:
        return {name: _sent(name, found[name]) for name in found if name in sent}
    brought = {
        name: _sent(name, one) for name, one in found.items() if _may_be_sent(name, one, travels)
    }
    if not _trying.get():
        _known[value] = tried, frozenset(brought)
    return brought


def _names(annotation: Any) -> Iterator[str]:
    if isinstance(annotation, ForwardRef):
        yield from _names_in(annotation.__forward_arg__)
    elif isinstance(annotation, str):
        yield from _names_in(annotation)
    elif get_origin(annotation) is not Literal:
        inside = getattr(annotation, "__args__", ())
        for inner in inside if isinstance(inside, tuple) else ():
            yield from _names(inner)


@lru_cache(maxsize=4096)
def _names_in(text: str) -> tuple[str, ...]:
    """The names in an expression, also in strings inside of it."""
    try:
        return tuple(_names_of(ast.parse(text.strip(), mode="eval").body))
    except (SyntaxError, ValueError):  # it is no annotation for a type checker
        return ()


def _names_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from _names_in(node.value)
    for inner in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.Subscript) and inner is node.slice and _is_literal(node)):
            yield from _names_of(inner)


def _is_literal(node: ast.Subscript) -> bool:
    """The strings in a Literal are values."""
    return "Literal" in {getattr(node.value, "id", ""), getattr(node.value, "attr", "")}


def _may_be_sent(name: str, value: Any, travels: Callable[[object], bool]) -> bool:
    """Whether it is something that annotations are made of, and no data, and can be pickled."""
    if _place(name, value) is not None:
        return True
    if not (
        isinstance(value, type | FunctionType | GenericAlias | UnionType)
        or type(value).__module__ in _TYPING
    ):
        return False
    if _trying.get():
        return True  # the pickle that is tried tells
    token = _trying.set(True)
    try:
        return travels(value)
    finally:
        _trying.reset(token)


def _sent(name: str, value: Any) -> Any:
    place = _place(name, value)
    return value if place is None else _Imported(*place)


def _place(name: str, value: Any) -> tuple[str, str] | None:
    """The module that a reader can import it from, and its name there; "" for a module itself."""
    if isinstance(value, ModuleType):
        is_loaded = sys.modules.get(value.__name__) is value and value.__name__ not in MAINS
        return (value.__name__, "") if is_loaded else None
    if isinstance(value, type | FunctionType):
        return (value.__module__, value.__qualname__) if is_imported(value) else None
    home = type(value).__module__  # as of `dataclasses.KW_ONLY`
    is_there = home not in MAINS and vars(sys.modules.get(home, sys)).get(name) is value
    return (home, name) if is_there else None


class _Imported:
    """In a pickle: something of a module, or the module itself."""

    def __init__(self, module: str, name: str) -> None:
        self._place = module, name

    def __reduce__(self) -> tuple[Any, ...]:
        return imported, self._place


def imported(module: str, name: str) -> Any:
    """Called by pickles; ABSENT if there is no such module here, or it has no such name."""
    try:
        found: Any = import_module(module)
        for part in name.split(".") if name else ():
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return ABSENT
    return found
