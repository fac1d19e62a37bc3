"""Files of uploads that are gone, for the next large uploads of clients to write over.

`spare_files.py` says why, and what makes that safe. The server keeps the files in the folder of its
uploads, and a client of the same user on its machine takes one. Until the client has uploaded that
file, it has a name in a second folder. When a client ends before that, nobody has the file open any
more, and the server removes it.
"""

from __future__ import annotations

import os
import secrets
import threading
from contextlib import suppress
from pathlib import Path

from rain.stream.room import memory_left
from rain.stream.spare_files import SpareFiles, is_unused

TAKEN = ".taken"
"""The folder of files that clients are writing over."""

_PART = 10
"""Spare files may have this part of the free memory, and of the free disk."""


class SpareUploads:
    """Those of a server. One thread may give files back while another one keeps some."""

    def __init__(self, folder: Path, spares: SpareFiles) -> None:
        self._folder = folder
        self._taken = folder / TAKEN
        self._spares = spares
        self._changing = threading.Lock()
        self._has_new = False  # a file was kept since files were given back last
        self._has_old = False  # some were left then

    @staticmethod
    def make(folder: Path) -> SpareUploads | None:
        """None if the kernel cannot tell there which files are in use."""
        spares = SpareFiles.make(str(folder))
        if spares is None:
            return None
        made = SpareUploads(folder, spares)
        made._taken.mkdir()
        return made

    @property
    def is_awake(self) -> bool:
        """Whether there may be something to give back."""
        return self._has_new or self._has_old

    def keep(self, path: Path) -> bool:
        """Takes the file of an upload, if it may be written over.

        Governors may still link to it. That is checked again before a client writes over it.
        """
        self._spares.allow(min(memory_left(), _free(self._folder)) // _PART)
        kept = self._spares.keep(path, is_linked=True)
        if kept:
            with self._changing:
                self._has_new = True
        return kept

    def give_back(self) -> None:
        """Deletes the files if none was added since the last call; in a thread.

        Files that clients have left behind are deleted in any case.
        """
        with self._changing:
            has_new, self._has_new = self._has_new, False
            self._has_old = True
        if not has_new:
            self._spares.allow(0)
            self._spares.trim()
        for path in self._taken.iterdir():
            with suppress(FileNotFoundError):  # its client is done with it
                if is_unused(str(path)):
                    path.unlink()
        self._has_old = has_new or any(self._taken.iterdir())


def take_for_upload(folder: str, size: int) -> str | None:
    """Takes a file of about this size from the upload folder of a server; None if there is none."""
    path = f"{folder}/{TAKEN}/{secrets.token_hex(8)}"
    try:
        return path if SpareFiles(folder).take(size, path) else None
    except PermissionError:  # a server of another user
        return None


def _free(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize
