"""Pickles functions and classes that a reader cannot import, with the names of their files.

New releases of cloudpickle leave these names out. With them, the traceback of a call names the file
of each line, and shows the line itself where that file can be read. The code says for which Python
it is (`code.py`).
"""

from __future__ import annotations

import io
import sys
from collections import ChainMap
from collections.abc import Callable
from types import CodeType
from typing import Any

import cloudpickle

from rain.common.code import HERE, made_by
from rain.common.pickles import REDUCERS

_REDUCERS: Any = cloudpickle.Pickler.dispatch_table
_FILE = 10
"""The place of the name of the file among the arguments of `CodeType`."""


def _reduced(code: CodeType) -> tuple[Any, ...]:
    """How cloudpickle reduces code, but with the name of its file, and with the release of Python.

    Equal names are one object, so that equal functions make equal pickles.
    """
    _, arguments = _REDUCERS[CodeType](code)
    file = sys.intern(code.co_filename)
    return made_by, (HERE, *arguments[:_FILE], file, *arguments[_FILE + 1 :])


_TABLE: Any = ChainMap({CodeType: _reduced}, REDUCERS, *_REDUCERS.maps)


class Pickler(cloudpickle.Pickler):
    """A pickler of cloudpickle whose code has the names of its files."""

    dispatch_table = _TABLE


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
