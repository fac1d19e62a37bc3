"""Keeps the modules of different user programs apart in one executor.

Two programs may have different modules of the same name, and a restarted program may have changed
one. So each has a space: the folder where it works, those that it imports from, those with what it
has uploaded, and the modules imported from there, or from code that is not installed. While a
function runs, the modules of its space are in `sys.modules`. What scripts define is in no space:
each function has a `__main__` of its own (`rain.common.script_main`).
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from rain.common.script_main import MAINS, Main
from rain.executor.changing import changing, place_of, top_level

if TYPE_CHECKING:
    from mmap import mmap
    from types import ModuleType

    from rain.common.imports import Imports
    from rain.common.number_settings import NumberSettings


class Space:
    """The modules of one program, which are put aside while functions of another one run."""

    def __init__(
        self,
        folders: tuple[str, ...],
        uploads: tuple[str, ...] = (),
        told: Imports | None = None,
    ) -> None:
        self.told = told  # by the program; None of the process's own modules
        self.folder = "" if told is None else told.folder
        self.folders = folders
        self.uploads = uploads  # unpacked
        self.places = (*uploads, *folders)  # where modules are looked for
        self.uploaded = frozenset(module for folder in uploads for module in _modules_in(folder))
        self.arguments = () if told is None else told.arguments
        self.modules: dict[str, ModuleType] = {}
        self.logging: tuple[Any, ...] | None = None  # as the latest of its functions has told it


class Spaces:
    """All spaces, one of which is current. The first space has only the process's own modules."""

    def __init__(self, uploads_folder: str) -> None:
        self.uploads_folder = uploads_folder
        self.current = self.first = Space(())
        self._path = sys.path[:]
        self._arguments = sys.argv[:]
        self._known: WeakValueDictionary[object, Space] = WeakValueDictionary()
        self._logging: tuple[Any, ...] | None = None
        self._numbers: NumberSettings | None = None
        self._others: dict[str, ModuleType] = {}  # modules that belong to no space

    def space_of(self, data: bytes | mmap) -> tuple[Space, NumberSettings | None]:
        """Returns the space of a pickled function, and how it calculates."""
        from rain.common.imports import imports_of  # noqa: PLC0415 # executors start often

        imports = imports_of(data)
        if imports is None:
            return self.first, None
        key = imports.of_modules
        space = self._known.get(key)
        if space is None:
            folders = tuple(folder for folder in imports.folders if folder not in self._path)
            uploads = tuple(unpacked(archive, self.uploads_folder) for archive in imports.uploads)
            space = self._known[key] = Space(folders, uploads, imports)
        space.logging = imports.logging
        return space, imports.numbers

    def new_main(self, space: Space) -> Main | None:
        """A `__main__` for a function of a space; None if the process has its own."""
        return Main("" if space.told is None else space.told.origin)

    def enter(self, space: Space) -> None:
        """Makes a space the current one."""
        if space.logging != self._logging:
            self._log_as(space.logging)
        left = self.current
        if space is left:
            return
        self._put_aside(left)
        self.current = space
        sys.path[:] = [*space.places, *self._path]
        sys.argv[:] = [os.fsdecode(one) for one in space.arguments] or self._arguments
        _note_program(space)
        # What was uploaded hides what is installed here under the same names.
        for name in [name for name in sys.modules if top_level(name) in space.uploaded]:
            del sys.modules[name]
        sys.modules.update(space.modules)
        if not space.modules:
            importlib.invalidate_caches()  # files may have been added since the last import

    def calculate_as(self, told: NumberSettings | None) -> None:
        """Lets the functions that follow calculate with these settings."""
        if told != self._numbers:
            from rain.common.number_settings import apply  # noqa: PLC0415 # most set nothing

            apply(told)
            self._numbers = told

    def _log_as(self, told: tuple[Any, ...] | None) -> None:
        from rain.common.log_settings import LogSettings, apply  # noqa: PLC0415 # most set nothing

        self._logging = told
        apply(None if told is None else LogSettings(*told))

    def _put_aside(self, left: Space) -> None:
        others = self._others
        left.modules = {}
        new = {
            name: module
            for name, module in sys.modules.copy().items()
            if others.get(name) is not module and name not in MAINS
        }
        leaving = {name for name, module in new.items() if _folder_of(module) in left.places}
        if left is not self.first:
            not_installed = changing(set(map(top_level, new.keys() - leaving)))
            leaving |= {name for name in new if top_level(name) in not_installed}
        for name, module in new.items():
            if name in leaving:
                left.modules[name] = module
                del sys.modules[name]
            else:
                others[name] = module
        for name in [name for name in others if top_level(name) in left.uploaded]:
            sys.modules[name] = others[name]


def _note_program(space: Space) -> None:
    from rain.common.imports import CallingProgram, note_program  # noqa: PLC0415 # executors start often

    note_program(None if space.told is None else CallingProgram(space.told, tuple(sys.path)))


def unpacked(archive: bytes, uploads_folder: str) -> str:
    """The folder with the files of an archive, which are files for those that look for theirs."""
    import io  # noqa: PLC0415 # few programs upload
    import zipfile  # noqa: PLC0415 # as above
    from hashlib import blake2b  # noqa: PLC0415 # as above

    folder = f"{uploads_folder}/{blake2b(archive, digest_size=16).hexdigest()}"
    if not os.path.isdir(folder):  # noqa: PTH112 # pathlib starts slowly
        unfinished = f"{folder}.unfinished"
        with zipfile.ZipFile(io.BytesIO(archive)) as files:
            files.extractall(unfinished)
        os.rename(unfinished, folder)  # noqa: PTH104 # as above
    return folder


def _modules_in(folder: str) -> list[str]:
    files = os.listdir(folder)  # noqa: PTH208 # pathlib starts slowly
    return [name.removesuffix(".py") for name in files if name != "__main__.py"]


def _folder_of(module: ModuleType) -> str | None:
    """The sys.path entry where a module, or its top-level package, was found."""
    place = place_of(module)
    if place is None:
        return None
    inside = [entry for entry in sys.path if entry and place.startswith(entry.rstrip("/") + "/")]
    return max(inside, key=len, default=None)


def explained(error: BaseException, space: Space) -> str:
    """Advice about a module that is missing here; empty for other errors."""
    if not isinstance(error, ModuleNotFoundError) or not error.name or not space.folders:
        return ""
    module, host = top_level(error.name), os.uname().nodename
    missing = [folder for folder in space.folders if not os.path.isdir(folder)]  # noqa: PTH112 # pathlib starts slowly
    if missing:
        return (
            f"The client's folder {missing[0]} is not on the machine {host!r}: upload the module"
            f" {module!r} with client.upload(path), install it there, or put it into a folder with"
            " the same path on all machines"
        )
    return (
        f"The module {module!r} is neither in the environment of the governor on {host!r} nor in"
        f" a folder from which the client imports ({', '.join(space.folders)}): install it there,"
        " or upload it with client.upload(path)"
    )
