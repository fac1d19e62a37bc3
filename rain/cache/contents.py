"""Computes digests of files and folders, for the contents of inputs in the keys of a cache.

The digest of a file is remembered as long as the file has the same inode, size and time, as the
stores of governors and caches never change a file.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from pathlib import Path

from rain.base import modes
from rain.cache.digests import digest_of_texts, new_sum

FILES_REMEMBERED = 100_000

_Identity = tuple[int, int, int, int]


class Digests:
    """The digests of files and folders; any thread may ask."""

    def __init__(self) -> None:
        self._known: dict[_Identity, str] = {}
        self._lock = threading.Lock()
        self.read = 0  # bytes

    def of(self, path: Path) -> str:
        """The digest of a file or a folder; OSError when it cannot be read."""
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return digest_of_texts("link", os.readlink(path))  # noqa: PTH115 # the text is needed
        if not stat.S_ISDIR(status.st_mode):
            return self._of_file(path, status)
        texts = ["folder"]
        for entry in sorted(path.iterdir()):
            mode = entry.lstat().st_mode
            runs = stat.S_ISREG(mode) and mode & modes.ANY_EXECUTE
            texts += [entry.name, "runs" if runs else "", self.of(entry)]
        return digest_of_texts(*texts)

    def _of_file(self, path: Path, status: os.stat_result) -> str:
        identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        known = self._known.get(identity)
        if known is not None:
            return known
        with path.open("rb") as file:
            found = hashlib.file_digest(file, new_sum).hexdigest()
        with self._lock:
            self.read += status.st_size
            if len(self._known) >= FILES_REMEMBERED:
                self._known.clear()
            self._known[identity] = found
        return found
