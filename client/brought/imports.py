"""Finds the folders from which this program imports its own modules.

These are the folder of the script or notebook, the folders in PYTHONPATH, or the zip file that the
program is in. Executors on the same machine import the modules from the same folders.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
import sysconfig
import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from rain.common.errors import RainException
from rain.common.imports import CallingProgram, Imports, running_program, working_folder
from rain.common.log_settings import log_settings
from rain.common.number_settings import number_settings
from rain.common.script_main import origin

if TYPE_CHECKING:
    from rain.client.brought.packing import PackedModules

_PROGRAM = secrets.token_hex(8)
"""Different for each start of the program, because a module may have changed between two starts."""

_BEGAN = time.time()

_INSTALLED = frozenset({"site-packages", "dist-packages"})
_LIBRARY = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})


def own_imports(uploads: Iterable[PackedModules], names: Iterable[str]) -> Imports:
    """The current folders and uploads.

    The result differs after the file of a loaded module has changed, or that of a module with one
    of these names, which perhaps only executors load.
    """
    program = running_program()
    archives = tuple([upload.archive for upload in uploads])
    if program is not None:
        return _imports_of_task(program, archives, names)
    folders = tuple(dict.fromkeys(_own_folders(())))
    folder = working_folder()
    for one in (*folders, folder):
        _expect_text(one)
    looked = time.time()
    states = _states({*_loaded_files(), *_files_of(names, folders)})
    return Imports(
        key=f"{_PROGRAM}-{_digest(states)}",
        folders=folders,
        uploads=archives,
        logging=log_settings(),
        began=_BEGAN,
        changed=_changed(states, _BEGAN),
        python="{}.{}".format(*sys.version_info),
        folder=folder,
        origin=origin(),
        looked=looked,
        arguments=tuple([os.fsencode(one) for one in sys.argv]),
        numbers=number_settings(),
    )


def _imports_of_task(
    program: CallingProgram, archives: tuple[bytes, ...], names: Iterable[str]
) -> Imports:
    """The imports of the program of the running task, so that its tasks share loaded modules.

    They differ if a file has changed since they were sent, or if the task has added a folder or an
    upload.
    """
    told = program.imports
    added = [one for one in _own_folders(program.places) if one not in told.folders]
    for one in added:
        _expect_text(one)
    folders = (*dict.fromkeys(added), *told.folders)
    loaded = _files_in_task(tuple(sys.modules), told.of_modules)
    looked = time.time()
    states = _states({*loaded, *_files_of(names, folders)})
    if any(since > told.looked for since in states.values()):
        told = told._replace(changed=_changed(states, told.began), looked=looked)
    return told._replace(
        folders=folders,
        uploads=(*archives, *told.uploads),
        logging=log_settings(),
        numbers=number_settings(),
    )


def _digest(states: Iterable[str]) -> str:
    seen = hashlib.blake2b(digest_size=8)
    for state in sorted(states):
        seen.update(f"{state}\n".encode())
    return seen.hexdigest()


def _changed(states: dict[str, float], began: float) -> str:
    """A digest of the files that have changed since the program began; "" if none has."""
    changed = [state for state, since in states.items() if since > began]
    return _digest(changed) if changed else ""


def loaded_files() -> frozenset[str]:
    """The files of loaded modules that are not installed, each with its time and size."""
    return frozenset(_states(_loaded_files()))


def _expect_text(folder: str) -> None:
    try:
        folder.encode()
    except UnicodeEncodeError:
        raise RainException(
            f"the name of the folder {os.fsencode(folder)!r} cannot be sent: it is not UTF-8, or"
            f" this Python reads names as {sys.getfilesystemencoding()}; then set PYTHONUTF8=1"
        ) from None


def _own_folders(known: tuple[str, ...]) -> Iterator[str]:
    """The folders in `sys.path`, except for known ones."""
    for entry in sys.path:
        if entry in known:
            continue
        try:
            folder = os.path.abspath(entry)  # noqa: PTH100 # "" is the current folder
        except FileNotFoundError:  # which was removed
            continue
        if not is_installed(folder) and Path(folder).exists():  # a zip file is one, too
            yield folder


@lru_cache(maxsize=1)  # each nested task asks again, and a thousand modules may be loaded
def _files_in_task(names: tuple[str, ...], program: Imports) -> tuple[str, ...]:
    """The loaded files, as long as the modules with these names are loaded for this program."""
    del names, program
    return tuple(_loaded_files())


def _loaded_files() -> Iterator[str]:
    """Also those of editable packages, whose folders need not be in `sys.path`."""
    for name, module in sys.modules.copy().items():
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and not is_installed(file) and name.partition(".")[0] != "rain":
            yield file


def _files_of(names: Iterable[str], folders: tuple[str, ...]) -> Iterator[str]:
    """The files of modules and packages that are found in the folders."""
    for name in names:
        for folder in folders:
            package, module = Path(folder, name), Path(folder, f"{name}.py")
            if module.is_file():
                yield str(module)
            elif package.is_dir():
                yield from map(str, package.rglob("*.py"))


def _states(files: Iterable[str]) -> dict[str, float]:
    """The state of each file (size, time of the last change), and the time of the last change."""
    states: dict[str, float] = {}
    for file in files:
        try:
            status = os.stat(file)  # noqa: PTH116 # of many files, for each function
        except OSError:  # it was removed since
            continue
        states[f"{file} {status.st_mtime_ns} {status.st_size}"] = status.st_mtime
    return states


def is_installed(path: str) -> bool:
    """Whether a path belongs to Python or its packages, of which an executor has its own."""
    return path.startswith(_LIBRARY) or not _INSTALLED.isdisjoint(path.split("/"))
