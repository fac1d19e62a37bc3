"""Reads calls as an executor does: unpickles arguments, showing what stands for data objects."""

import pickle
import sys
from types import ModuleType
from typing import Any
from unittest import mock

import msgpack
from attrs import frozen


@frozen
class Loaded:
    """What a placeholder would put in its place."""

    label: str
    input_index: int
    load: bool = False
    content_type: str | None = None


def read_call(config: bytes) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments of a packed call."""
    executor = ModuleType("rain.executor.executor")
    executor.unpickle_input_object = Loaded  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue]
    package = ModuleType("rain.executor")
    with mock.patch.dict(
        sys.modules, {"rain.executor": package, "rain.executor.executor": executor}
    ):
        call = msgpack.unpackb(config)
        return (
            [pickle.loads(arg) for arg in call["args"]],
            {name: pickle.loads(arg) for name, arg in call["kwargs"].items()},
        )
