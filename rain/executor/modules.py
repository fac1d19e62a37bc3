"""Keeps the modules of different user programs apart in one executor.

Two programs may have different modules of the same name, and a restarted program may have changed
one. So each has a space: the folders that it imports from, and the modules imported from there.
While a function runs, the modules of its space are in `sys.modules`.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from mmap import mmap
    from types import ModuleType

    from rain.common.imports import Imports


class Space:
    """The modules of one program, which are put aside while functions of another one run."""

    def __init__(self, folders: tuple[str, ...]) -> None:
        self.folders = folders
        self.modules: dict[str, ModuleType] = {}


class Spaces:
    """All spaces, one of which is current. The first is empty: only the process's own modules."""

    def __init__(self) -> None:
        self.current = self.first = Space(())
        self._path = sys.path[:]
        self._known: WeakValueDictionary[Imports, Space] = WeakValueDictionary()
        self._others: dict[str, ModuleType] = {}  # modules that belong to no space

    def space_of(self, data: bytes | mmap) -> Space:
        """Returns the space of a pickled function."""
        from rain.common.imports import imports_of  # noqa: PLC0415 # executors start often

        imports = imports_of(data)
        if imports is None:
            return self.first
        space = self._known.get(imports)
        if space is None:
            folders = tuple(folder for folder in imports.folders if folder not in self._path)
            space = self._known[imports] = Space(folders)
        return space

    def enter(self, space: Space) -> None:
        """Makes a space the current one."""
        left = self.current
        if space is left:
            return
        self._put_aside(left)
        self.current = space
        sys.path[:] = [*space.folders, *self._path]
        sys.modules.update(space.modules)
        if not space.modules:
            importlib.invalidate_caches()  # files may have been added since the last import

    def _put_aside(self, left: Space) -> None:
        others = self._others
        left.modules = {}
        for name, module in sys.modules.copy().items():
            if others.get(name) is module:
                continue
            if _folder_of(module) in left.folders:
                left.modules[name] = module
                del sys.modules[name]
            else:
                others[name] = module


def _folder_of(module: ModuleType) -> str | None:
    """The sys.path entry where a module, or its top-level package, was found."""
    place = _place_of(module)
    if place is None:
        return None
    inside = [entry for entry in sys.path if entry and place.startswith(entry.rstrip("/") + "/")]
    return max(inside, key=len, default=None)


def _place_of(module: ModuleType) -> str | None:
    file = getattr(module, "__file__", None)
    if isinstance(file, str):
        return file
    # A namespace package has only folders.
    folders = getattr(module, "__path__", None)
    return next((str(folder) for folder in folders or ()), None)


def explained(error: BaseException, space: Space) -> str:
    """Advice about a module that is missing here; empty for other errors."""
    if not isinstance(error, ModuleNotFoundError) or not error.name or not space.folders:
        return ""
    module, host = error.name.partition(".")[0], os.uname().nodename
    missing = [folder for folder in space.folders if not os.path.isdir(folder)]  # noqa: PTH112 # pathlib starts slowly
    if missing:
        return (
            f"The client's folder {missing[0]} is not on the machine {host!r}: install the"
            f" module {module!r} there, put it into a folder with the same path on all machines,"
            " or send it with the functions by"
            f" cloudpickle.register_pickle_by_value({module})"
        )
    return (
        f"The module {module!r} is neither in the environment of the governor on {host!r} nor in"
        f" a folder from which the client imports ({', '.join(space.folders)}): install it there"
    )
