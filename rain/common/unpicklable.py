"""Explains why a value cannot be pickled: names the part, and says what to do instead."""

import pickle
from collections.abc import AsyncGenerator, Coroutine, Generator, Iterator
from contextvars import ContextVar
from itertools import islice
from types import FunctionType, MethodType
from typing import Any

from rain.common.pickles import PICKLE_PROTOCOL, UNPICKLABLE

__all__ = ("UNPICKLABLE", "advice", "what_cannot_be_sent")

DEEPEST = 20
MOST_PARTS = 1000
"""Only this many parts of one container are checked."""

_INTO_A_MODULE = "Put it into a module beside the script, from which tasks import it."


def what_cannot_be_sent(value: object, error: BaseException, name: str = "") -> str:
    """The end of a sentence: which part of the value it is, and what to do.

    The value has a name that the reader knows, or only its parts are named.
    """
    if "recursion" in str(error):
        return ": it is nested too deeply for pickle."
    if "weakref" in str(error):
        return ": it has a weak reference. Send the object itself, or make the reference there."
    path, part = _culprit(value)
    kind = type(part).__name__
    told = f": {name or 'its value'}{path} is {_article(kind)} {kind}" if name or path else ""
    is_unknown = isinstance(error, pickle.PicklingError) and "__main__" in str(error)
    return f"{told}. {_INTO_A_MODULE if is_unknown else advice(part)}"


def advice(part: object) -> str:
    """Advice for a value that pickle does not accept."""
    if isinstance(part, Generator):
        return "A generator cannot be pickled: make a list of it."
    if isinstance(part, Coroutine | AsyncGenerator):
        return "An awaitable cannot be pickled: await it, and send the result."
    if isinstance(part, ContextVar):
        return "Read it before the call, and pass its value as an argument."
    if isinstance(part, FunctionType | MethodType | type):
        return _INTO_A_MODULE
    return "Locks, connections and open files cannot be pickled: make them in the function."


def _culprit(value: object) -> tuple[str, object]:
    """The innermost part that cannot be pickled, and the Python expression that leads to it."""
    from rain.common.by_value import travels  # noqa: PLC0415 # few values need the library

    path = ""
    seen = {id(value)}
    for _ in range(DEEPEST):
        for step, part in islice(_parts(value), MOST_PARTS):
            if id(part) not in seen and not travels(part):
                seen.add(id(part))
                path, value = path + step, part
                break
        else:
            break
    return path, value


def _parts(value: Any) -> Iterator[tuple[str, object]]:
    """The parts that pickle finds in a value, with the Python expressions that lead to them."""
    if isinstance(value, dict):
        table: dict[object, object] = value
        yield from ((f"[{key!r:.50}]", item) for key, item in table.items())
    elif isinstance(value, list | tuple):
        row: list[object] | tuple[object, ...] = value
        yield from ((f"[{place}]", item) for place, item in enumerate(row))
    if isinstance(value, FunctionType | MethodType | type):
        return
    try:
        reduced: Any = value.__reduce_ex__(PICKLE_PROTOCOL)
    except UNPICKLABLE:
        return
    state: Any = None if isinstance(reduced, str) or len(reduced) < 3 else reduced[2]
    found: list[Any] = [*state] if type(state) is tuple else [state]
    for attributes in found:
        if type(attributes) is dict:
            yield from ((f".{name}", item) for name, item in attributes.items())


def _article(name: str) -> str:
    return "an" if name[:1].lower() in set("aeiou") else "a"
