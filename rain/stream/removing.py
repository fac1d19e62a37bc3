"""Removes files and folders, also read-only ones, and while others remove them."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path


def remove(path: Path) -> None:
    """Removes a file, or a folder with its contents; what is gone already is ignored."""
    try:
        path.unlink()
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        if not path.is_dir():
            raise
        while path.exists():
            # What somebody else removes at the same time is not there any more when it is its turn.
            with suppress(FileNotFoundError):
                make_folders_writable(path)
                shutil.rmtree(path)


def make_folders_writable(path: Path) -> None:
    """Lets the owner change this folder and all folders below it."""
    _make_writable(path)
    for folder, folders, _ in os.walk(path):
        for name in folders:
            inner = Path(folder, name)
            if not inner.is_symlink():
                _make_writable(inner)


def _make_writable(folder: Path) -> None:
    with suppress(PermissionError):  # another user's; rmtree says if it matters
        folder.chmod(stat.S_IMODE(folder.stat().st_mode) | stat.S_IRWXU)
