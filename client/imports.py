"""From which folders this program imports its own modules: beside the script, in the notebook's
folder, or named by PYTHONPATH. Executors on the same machine import them from there, too.
"""

import hashlib
import os
import secrets
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from rain.common.imports import Imports

_PROGRAM = secrets.token_hex(8)
"""Another one each time that the program is started: meanwhile a module may have been changed."""

_INSTALLED = frozenset({"site-packages", "dist-packages"})
_LIBRARY = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})


def own_imports() -> Imports:
    """The folders of this moment; the key changes when a loaded module was changed since."""
    folders = tuple(dict.fromkeys(_own_folders()))
    seen = hashlib.blake2b(digest_size=8)
    for name, state in sorted(_own_modules(folders)):
        seen.update(f"{name} {state}\n".encode())
    return Imports(f"{_PROGRAM}-{seen.hexdigest()}", folders)


def _own_folders() -> Iterator[str]:
    for entry in sys.path:
        try:
            folder = os.path.abspath(entry)  # noqa: PTH100 # "" is the current folder
        except FileNotFoundError:  # which was removed
            continue
        if not _is_installed(folder) and Path(folder).is_dir():
            yield folder


def _own_modules(folders: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    beginnings = tuple(folder.rstrip("/") + "/" for folder in folders)
    for name, module in sys.modules.copy().items():
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.startswith(beginnings) and not _is_installed(file):
            try:
                status = Path(file).stat()
            except OSError:  # it was removed since
                continue
            yield name, f"{status.st_mtime_ns} {status.st_size}"


def _is_installed(path: str) -> bool:
    """Whether it belongs to Python or its packages, of which an executor has its own."""
    return path.startswith(_LIBRARY) or not _INSTALLED.isdisjoint(path.split("/"))
