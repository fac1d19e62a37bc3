"""A daemon starts with as little as possible: twenty governors may start on one machine at once."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import cast

from rain.daemon import garbage


def begin() -> None:
    """Comes before a daemon loads anything else."""
    garbage.pause()
    _load_logs()


def _load_logs() -> None:
    """Loads structlog without rich, which it wants for tracebacks and does without.

    Rich takes a seventh of a governor's start. A module of None cannot be imported.
    """
    if "rich" in sys.modules:
        return
    sys.modules["rich"] = cast("ModuleType", None)
    try:
        import_module("structlog")
    finally:
        del sys.modules["rich"]
