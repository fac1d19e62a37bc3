"""Keeps the start of a daemon cheap: twenty governors may start on one machine at once."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import cast

from rain.daemon import garbage


def begin() -> None:
    """Must be called before a daemon imports anything else."""
    garbage.pause()
    _load_logs()


def _load_logs() -> None:
    """Imports structlog without rich, which it uses for tracebacks only if it is installed.

    Importing rich takes a seventh of a governor's start time. A module set to None in
    sys.modules cannot be imported.
    """
    if "rich" in sys.modules:
        return
    sys.modules["rich"] = cast("ModuleType", None)
    try:
        import_module("structlog")
    finally:
        del sys.modules["rich"]
