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
from pathlib import Path
from typing import TYPE_CHECKING

from rain.common.errors import RainException
from rain.common.imports import Imports, running_program, working_folder
from rain.common.log_settings import log_settings

if TYPE_CHECKING:
    from rain.client.brought.packing import PackedModules

_PROGRAM = secrets.token_hex(8)
"""Different for each start of the program, because a module may have changed between two starts."""

_BEGAN = time.time()

_INSTALLED = frozenset({"site-packages", "dist-packages"})
_LIBRARY = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})


def own_imports(uploads: Iterable[PackedModules], names: Iterable[str]) -> Imports:
    """The current folders and uploads.

    The key changes when the file of a loaded module changes, or that of a module with one of these
    names, which perhaps only executors load. In a task, the uploads are those of its program.
    """
    program = running_program()
    began, archives, places, _ = program or (_BEGAN, (), (), "")
    folders = tuple([one for one in dict.fromkeys(_own_folders()) if one not in places])
    folder = working_folder()
    for one in (*folders, folder):
        _expect_text(one)
    seen, changed = hashlib.blake2b(digest_size=8), hashlib.blake2b(digest_size=8)
    files = {*_loaded_files(), *_files_of(names, folders)}
    for state, since in sorted(_states(files)):
        seen.update(f"{state}\n".encode())
        if since > began:
            changed.update(f"{state}\n".encode())
    for upload in uploads:
        seen.update(f"{upload.digest}\n".encode())
    for place in places:
        seen.update(f"{Path(place).name}\n".encode())
    archives = (*[upload.archive for upload in uploads], *archives)
    return Imports(
        key=f"{_PROGRAM}-{seen.hexdigest()}",
        folders=folders,
        uploads=archives,
        logging=log_settings(),
        began=began,
        changed=changed.hexdigest(),
        python="{}.{}".format(*sys.version_info),
        folder=folder,
    )


def _expect_text(folder: str) -> None:
    try:
        folder.encode()
    except UnicodeEncodeError:
        raise RainException(
            f"the name of the folder {os.fsencode(folder)!r} cannot be sent: it is not UTF-8, or"
            f" this Python reads names as {sys.getfilesystemencoding()}; then set PYTHONUTF8=1"
        ) from None


def _own_folders() -> Iterator[str]:
    for entry in sys.path:
        try:
            folder = os.path.abspath(entry)  # noqa: PTH100 # "" is the current folder
        except FileNotFoundError:  # which was removed
            continue
        if not is_installed(folder) and Path(folder).exists():  # a zip file is one, too
            yield folder


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


def _states(files: Iterable[str]) -> Iterator[tuple[str, float]]:
    """The state of each file (size, times), to notice that it has changed, and the time of the
    change.
    """
    for file in files:
        try:
            status = os.stat(file)  # noqa: PTH116 # of many files, for each function
        except OSError:  # it was removed since
            continue
        yield f"{file} {status.st_mtime_ns} {status.st_size}", status.st_mtime


def is_installed(path: str) -> bool:
    """Whether it belongs to Python or its packages, of which an executor has its own."""
    return path.startswith(_LIBRARY) or not _INSTALLED.isdisjoint(path.split("/"))
