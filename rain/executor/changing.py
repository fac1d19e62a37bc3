"""Finds the modules on the path of the process that may change while it runs: those that are not
installed.

Such modules come from editable installations or PYTHONPATH: they are the code that users work on.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from importlib.machinery import ExtensionFileLoader
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

_LIBRARY = os.path.dirname(os.__file__) + "/"  # noqa: PTH120 # pathlib starts slowly
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_OURS = "rain"


def top_level(name: str) -> str:
    """The name of the module or package at the top."""
    return name.partition(".")[0]


def changing(names: set[str]) -> set[str]:
    """Which of these top-level names may stand for other code when the next program begins.

    Compiled modules cannot be loaded twice, so packages with such modules stay as they are.
    """
    found = {name for name in names - {_OURS} if _may_change(sys.modules.get(name))}
    if not found:
        return found
    return found - {top_level(name) for name, one in sys.modules.copy().items() if _compiled(one)}


def place_of(module: ModuleType) -> str | None:
    """Its file; of a namespace package, which has only folders, the first of these."""
    file = getattr(module, "__file__", None)
    if isinstance(file, str):
        return file
    folders = getattr(module, "__path__", None)
    return next((str(folder) for folder in folders or ()), None)


def _may_change(module: ModuleType | None) -> bool:
    place = None if module is None else place_of(module)
    if place is None or place.startswith(_LIBRARY):
        return False
    folder, file = os.path.split(place)
    if file == "__init__.py":
        folder = os.path.dirname(folder)  # noqa: PTH120 # pathlib starts slowly
    return not _is_of_installations(folder)


@lru_cache(maxsize=1024)
def _is_of_installations(folder: str) -> bool:
    """Whether pip has put packages there, also with `--target`."""
    if not _INSTALLED.isdisjoint(folder.split("/")):
        return True
    try:
        files = os.listdir(folder)  # noqa: PTH208 # pathlib starts slowly
    except OSError:  # it is in a zip file, or was removed
        return False
    return any(file.endswith(".dist-info") for file in files)


def _compiled(module: ModuleType) -> bool:
    spec = getattr(module, "__spec__", None)
    return isinstance(getattr(spec, "loader", None), ExtensionFileLoader)
