"""Functions that cannot be sent, for what they capture."""

from collections.abc import Callable, Iterator
from typing import Any

from rain.client.captured import content_of_cell, global_names
from rain.common.unpicklable import travels, what_cannot_be_sent


def what_is_captured(fn: Callable[..., Any], error: BaseException) -> str:
    """Names what a function captures and cannot be pickled, and says what to do."""
    for name, value in _captured(fn):
        if not travels(value):
            return what_cannot_be_sent(value, error, name)
    return what_cannot_be_sent(fn, error)


def _captured(fn: Any) -> Iterator[tuple[str, object]]:
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
