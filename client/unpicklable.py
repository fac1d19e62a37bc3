"""Values that cannot be sent, and advice about them."""

import pickle
from collections.abc import Callable, Iterator
from typing import Any

from rain.client.captured import content_of_cell, global_names
from rain.common.by_value import dumps

UNPICKLABLE = (TypeError, AttributeError, pickle.PicklingError, RecursionError)
"""The exceptions of pickle for values that it cannot handle."""


def advice(error: BaseException) -> str:
    """Advice what to write instead; "" for none."""
    if "generator" in str(error):
        return " A generator stays where it was made: make a list of it."
    if "lock" in str(error) or "socket" in str(error) or "TextIOWrapper" in str(error):
        return " Locks, connections and open files stay where they are: make them in the function."
    return ""


def culprit(fn: Callable[..., Any]) -> str:
    """The first name by which a function captures what cannot be pickled; "" if it has none."""
    for name, value in _captured(fn):
        try:
            dumps(value, pickle.HIGHEST_PROTOCOL)
        except UNPICKLABLE:
            return f" It is {name!r}, a {type(value).__name__}."
    return ""


def _captured(fn: Any) -> Iterator[tuple[str, object]]:
    code = getattr(fn, "__code__", None)  # a bound method has it, too
    if code is None:
        return
    for name in global_names(code):
        if name in fn.__globals__:
            yield name, fn.__globals__[name]
    for name, cell in zip(code.co_freevars, fn.__closure__ or (), strict=True):
        yield name, content_of_cell(cell)
    if hasattr(fn, "__self__"):
        yield "self", fn.__self__
