"""Which functions and classes a reader imports, so that nothing of them is in a pickle."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import cloudpickle

from rain.common.script_main import MAINS


def is_imported(value: Callable[..., Any]) -> bool:
    """Whether a reader finds it under its name, so that nothing of it is in a pickle."""
    home = value.__module__
    module = sys.modules.get(home)
    if module is None or home in MAINS or _is_sent_by_value(home):
        return False
    found: object = module
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
    for part in str(name).split("."):  # a partial call has no name
        found = getattr(found, part, None)
    return found is value


def _is_sent_by_value(module: str) -> bool:
    registered: set[str] = cloudpickle.list_registry_pickle_by_value()  # type: ignore[no-untyped-call] # not annotated
    return any(module == name or module.startswith(f"{name}.") for name in registered)
