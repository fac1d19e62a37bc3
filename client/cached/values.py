"""Digests of values: equal in each process and on each machine for equal values.

Dictionaries and sets count without their order, numpy arrays by their bytes, and functions and
classes by their code (see `code`). Everything else is taken apart as pickle would do it. What
cannot be taken apart counts by its type.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping
from copyreg import dispatch_table
from hashlib import blake2b
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import cloudpickle

from rain.client.brought.captured import Wrapper
from rain.client.cached import code
from rain.client.data import DataObject
from rain.client.future import Future
from rain.client.task import Task
from rain.common.pickles import PICKLE_PROTOCOL

Handle = DataObject | Task | Future[Any]
OnHandle = Callable[[Handle], str]
"""Called with each data object in a value; returns what represents it in the digest."""

_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes, type(...)})
_HANDLES = (DataObject, Task, Future)
_SIZE = 20
_reducers: Mapping[type, Callable[[Any], Any]] = cloudpickle.Pickler.dispatch_table


def value_digest(value: object, on_handle: OnHandle | None = None) -> str:
    """The digest of a value as 40 characters."""
    return _Digesting(on_handle).of(value).hex()


def _sum(what: str, *digests: bytes) -> bytes:
    summed = blake2b(what.encode(errors="surrogatepass"), digest_size=_SIZE)
    for digest in digests:
        summed.update(digest)
    return summed.digest()


class _Digesting:
    """One value, with all that it refers to."""

    def __init__(self, on_handle: OnHandle | None) -> None:
        self._on_handle = on_handle
        self._known: dict[int, bytes] = {}
        self._inside: dict[int, int] = {}  # what is being taken apart, and how deep it is
        self._kept: list[object] = []  # so that no address is reused

    def of(self, value: object) -> bytes:
        kind: type = type(value)
        if kind in _ATOMS:
            return _sum(kind.__name__, pickle.dumps(value, PICKLE_PROTOCOL))
        if isinstance(value, _HANDLES):
            handle: Handle = value
            stands = kind.__name__ if self._on_handle is None else self._on_handle(handle)
            return _sum("data", stands.encode())
        known = self._known.get(id(value))
        if known is not None:
            return known
        depth = self._inside.get(id(value))
        if depth is not None:
            return _sum(f"at {depth}")  # it contains itself
        self._inside[id(value)] = len(self._inside)
        found = self._apart(value)
        del self._inside[id(value)]
        self._known[id(value)] = found
        self._kept.append(value)
        return found

    def _all(self, values: Iterable[object]) -> list[bytes]:
        return [self.of(value) for value in values]

    def _apart(self, value: Any) -> bytes:
        kind = type(value)
        if kind is list or kind is tuple:
            return _sum(kind.__name__, *self._all(value))
        if kind is dict:
            pairs = [self.of(key) + self.of(item) for key, item in value.items()]
            return _sum("dict", *sorted(pairs))
        if kind is set or kind is frozenset:
            return _sum(kind.__name__, *sorted(self._all(value)))
        if kind is pickle.PickleBuffer:
            return _sum("buffer", value.raw().tobytes() if value.raw().nbytes < 64 else value.raw())
        if kind is MethodType:
            return _sum("method", self.of(value.__func__), self.of(value.__self__))
        if isinstance(value, Wrapper):
            return _sum("wrapper", self.of(value.fn))
        if isinstance(value, FunctionType | type | ModuleType | BuiltinFunctionType):
            return self._described(code.described(value))
        return self._reduced(value)

    def _described(self, found: code.Described) -> bytes:
        """Code: texts, and the values that belong to them."""
        return _sum("code", *self._all(found.texts), *self._all(found.values))

    def _reduced(self, value: Any) -> bytes:
        """As pickle takes it apart."""
        kind: type = type(value)
        try:
            reducer = _reducers.get(kind) or dispatch_table.get(kind)
            parts: Any = value.__reduce_ex__(PICKLE_PROTOCOL) if reducer is None else reducer(value)
        except (TypeError, ValueError, AttributeError, pickle.PicklingError):
            return _sum("opaque", self.of(kind))
        if isinstance(parts, str):
            inner = getattr(value, "__wrapped__", None)  # of a function with a cache, for instance
            return _sum("global", f"{kind.__module__}.{parts}".encode(), self.of(inner))
        self._kept.append(parts)
        digests: list[bytes] = []
        for place, part in enumerate(parts):
            if place in {3, 4} and part is not None:  # the items of a list or a dictionary
                items = list(part)
                self._kept.append(items)
                digests.append(_sum("items", *self._all(items)))
            else:
                digests.append(self.of(part))
        return _sum("object", *digests)
