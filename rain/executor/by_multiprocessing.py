"""What tasks give to processes of `multiprocessing`, and to a `ProcessPoolExecutor`.

These pickle functions and classes by their names, and such a process finds what a script defines
under no name, or under that of an earlier version. So they travel by value here as well, in both
directions.
"""

from __future__ import annotations

import pickle
from multiprocessing.reduction import ForkingPickler
from types import FunctionType
from typing import Any

from rain.common.pickles import PICKLE_PROTOCOL
from rain.common.script_main import MAINS

_pickler: Any = ForkingPickler


def send_by_value() -> None:
    """From now on this process sends what a script defines by value."""
    _pickler.reducer_override = _reduced


def _reduced(_: ForkingPickler, value: Any) -> Any:
    if isinstance(value, type | FunctionType) and value.__module__ in MAINS:
        from rain.common.by_value import dumps  # noqa: PLC0415 # few tasks start processes

        return received, (dumps(value, PICKLE_PROTOCOL),)
    return NotImplemented


def received(data: bytes) -> Any:
    """Called by pickles, in the other process."""
    send_by_value()
    return pickle.loads(data)
