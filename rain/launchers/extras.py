"""Loads the clients of systems that only some users have: they are extras of the package."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rain.base.errors import StartError


def load(module: str, extra: str) -> Any:
    """The module; StartError says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise StartError(
            f"{module} cannot be imported ({error}): pip install 'rain-tasks[{extra}]'"
        ) from error
