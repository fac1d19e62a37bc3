"""Builds the client's part of a cache key: what the results of a call depend on (see
rain/base/caching.py).

Each part has the name that users see when they ask why a task had to run: "function", "argument x",
"input genome", "command", "environment", "cache_key".
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import Signature
from pathlib import Path, PurePath
from typing import Any
from weakref import WeakKeyDictionary

from attrs import frozen

from rain.base.caching import CHANGES, OWN_FOLDER
from rain.client.cached.values import Handle, value_digest
from rain.client.data import DataObject, to_dataobj
from rain.client.future import Future
from rain.common.errors import RainException

FUNCTION, COMMAND, ENVIRONMENT, CACHE_KEY, OUTPUTS, PYTHON = CHANGES

_runs: WeakKeyDictionary[object, str] = WeakKeyDictionary()  # a name for each session
_PYTHON = value_digest(sys.version_info[:2])

Cache = bool | str | PurePath | None
"""The argument `cache` of users: whether results are kept, or in which folder."""


def checked_cache(what: str, given: object) -> str:
    """The folder that keeps results, "" for none; RainException when it can be none."""
    if given is None or given is False:
        return ""
    if given is True:
        return OWN_FOLDER
    if isinstance(given, str | PurePath) and str(given):
        return os.path.abspath(Path(given).expanduser())  # noqa: PTH100 # resolve() would follow links
    raise RainException(f"{what}: cache is True, or the path of a folder, not {given!r}")


def checked_cache_key(what: str, given: object, cache: str) -> str:
    """The digest of the other things that results depend on, "" for none."""
    if given is None:
        return ""
    if not cache:
        raise RainException(f"{what}: cache_key has no effect without cache=True or a folder")
    return value_digest(given)


class KeyBuilder:
    """The parts of the key that one task names."""

    def __init__(self, session: object, name: str, cache_key: str) -> None:
        self._run = _runs.setdefault(session, secrets.token_hex(4))
        self._name = name
        self._parts: list[tuple[str, str]] = []
        self._inputs: list[tuple[str, int]] = []
        if cache_key:
            self._parts.append((CACHE_KEY, cache_key))

    def add(self, words: str, digest: str) -> None:
        """One more part."""
        self._parts.append((words, digest))

    def add_input(self, words: str, index: int) -> None:
        """The content of an input is a part, too."""
        self._inputs.append((words, index))

    def add_value(self, words: str, value: object, inputs: Sequence[DataObject]) -> None:
        """A value is a part, with the content of the data that stands in it."""
        found = 0

        def stands_for(handle: Handle) -> str:
            nonlocal found
            given = handle.input() if isinstance(handle, Future) else handle
            number = to_dataobj(given).packed_id
            self.add_input(words, next(i for i, o in enumerate(inputs) if o.packed_id == number))
            found += 1
            return str(found)

        self.add(words, value_digest(value, stands_for))

    def as_table(self) -> dict[str, Any]:
        """The plan as the config of a task has it."""
        return {
            "name": self._name,
            "run": self._run,
            "parts": self._parts,
            "inputs": self._inputs,
        }


def named_arguments(
    signature: Signature | None, args: Sequence[Any], keywords: Mapping[str, Any]
) -> Iterator[tuple[str, object]]:
    """The arguments of a call with the names of their parameters, however they were given."""
    if signature is None:
        yield from ((str(place), value) for place, value in enumerate(args))
        yield from sorted(keywords.items())
        return
    bound = signature.bind(*args, **keywords)
    bound.apply_defaults()
    yield from bound.arguments.items()


@frozen
class CachedFunction:
    """A function whose results are cached, and all that they depend on but its arguments."""

    function: Callable[..., Any]
    digest: str  # of its code and of what it has captured
    outputs: object  # how its results are encoded
    cache_key: str
    environment: str = ""

    @property
    def name(self) -> str:
        module = getattr(self.function, "__module__", None) or ""
        name = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return f"{module}.{name}"


def plan_of_call(
    session: object,
    called: CachedFunction,
    arguments: Iterable[tuple[str, object]],
    inputs: Sequence[DataObject],
) -> dict[str, Any]:
    """The plan of a call of a function; `arguments` are named."""
    plan = KeyBuilder(session, called.name, called.cache_key)
    plan.add(FUNCTION, called.digest)
    plan.add(OUTPUTS, value_digest(called.outputs))
    plan.add(PYTHON, _PYTHON)
    if called.environment:
        plan.add(ENVIRONMENT, value_digest(called.environment))
    for name, value in arguments:
        plan.add_value(f"argument {name}", value, inputs)
    return plan.as_table()


def plan_of_program(
    session: object,
    name: str,
    command: object,
    env: Mapping[str, str | None],
    cache_key: str,
    inputs: Iterable[str],
    environment: str = "",
) -> dict[str, Any]:
    """The plan of an external program; `inputs` are the names of its files in their order."""
    plan = KeyBuilder(session, name, cache_key)
    plan.add(COMMAND, value_digest(command))
    plan.add(ENVIRONMENT, value_digest([dict(env), environment] if environment else dict(env)))
    for index, label in enumerate(inputs):
        plan.add_input(f"input {label}", index)
    return plan.as_table()
