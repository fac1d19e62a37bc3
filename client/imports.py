"""The folders from which this program imports its own modules: beside the script, in the notebook's
folder, or named by PYTHONPATH. Executors on the same machine import them from there, too.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rain.common.imports import Imports
from rain.common.log_settings import log_settings

if TYPE_CHECKING:
    from rain.client.packing import Upload

_PROGRAM = secrets.token_hex(8)
"""Another one each time that the program is started: meanwhile a module may have been changed."""

_INSTALLED = frozenset({"site-packages", "dist-packages"})
_LIBRARY = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})


def own_imports(uploads: Iterable[Upload], names: Iterable[str]) -> Imports:
    """The folders of this moment, and what was uploaded.

    The key changes when a file was changed since of a loaded module or of one of these names, which
    perhaps only executors load.
    """
    folders = tuple(dict.fromkeys(_own_folders()))
    seen = hashlib.blake2b(digest_size=8)
    files = {*_loaded_files(folders), *_files_of(names, folders)}
    for state in sorted(_states(files)):
        seen.update(f"{state}\n".encode())
    for upload in uploads:
        seen.update(f"{upload.digest}\n".encode())
    archives = tuple(upload.archive for upload in uploads)
    return Imports(f"{_PROGRAM}-{seen.hexdigest()}", folders, archives, log_settings())


def _own_folders() -> Iterator[str]:
    for entry in sys.path:
        try:
            folder = os.path.abspath(entry)  # noqa: PTH100 # "" is the current folder
        except FileNotFoundError:  # which was removed
            continue
        if not is_installed(folder) and Path(folder).is_dir():
            yield folder


def _loaded_files(folders: tuple[str, ...]) -> Iterator[str]:
    beginnings = tuple(folder.rstrip("/") + "/" for folder in folders)
    for module in sys.modules.copy().values():
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.startswith(beginnings) and not is_installed(file):
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


def _states(files: Iterable[str]) -> Iterator[str]:
    for file in files:
        try:
            status = os.stat(file)  # noqa: PTH116 # of many files, for each function
        except OSError:  # it was removed since
            continue
        yield f"{file} {status.st_mtime_ns} {status.st_size}"


def is_installed(path: str) -> bool:
    """Whether it belongs to Python or its packages, of which an executor has its own."""
    return path.startswith(_LIBRARY) or not _INSTALLED.isdisjoint(path.split("/"))
