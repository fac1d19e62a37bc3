"""The exception of a failed call with its real traceback, for debuggers.

It is pickled like any other, so the client raises a copy. But the frames of the function still
exist here. The pickle names them, and its reader gets a copy with that traceback: then
`pdb.post_mortem`, `%debug` and `pytest --pdb` lead into the function and show its variables.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from itertools import count
from types import TracebackType

from rain.common.content_type import encode_value

REMEMBERED = 16
"""Failures of which the frames are kept, with everything in their variables."""

_numbers = count(1)
_frames: OrderedDict[int, TracebackType] = OrderedDict()


class _WithFrames:
    """Stands for an exception in its pickle."""

    def __init__(self, data: bytes, number: int) -> None:
        self._parts = data, number

    def __reduce__(self) -> tuple[object, ...]:
        return with_frames, self._parts


def keeping_frames(data: bytes, trace: TracebackType | None) -> bytes:
    """The pickle of an exception, with these frames as long as they are remembered."""
    if not data or trace is None:
        return data
    number = next(_numbers)
    _frames[number] = trace
    while len(_frames) > REMEMBERED:
        _frames.popitem(last=False)
    return encode_value(_WithFrames(data, number), "pickle")


def with_frames(data: bytes, number: int) -> BaseException:
    """Called by the pickle: the exception."""
    error: BaseException = pickle.loads(data)
    return error.with_traceback(_frames.get(number))


def forget_frames() -> None:
    """The cluster has ended."""
    _frames.clear()
