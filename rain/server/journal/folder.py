"""The folder of a journal: its files, and the lock that keeps a second server out.

    lock                     held by the server that uses the folder
    turns-00000001           the first file of turns, turns-00000002 the next one, and so on
    uploads/                 the large constants of clients

Each start of a server begins a new file, so that what it writes has the header of its version and
settings. A file is only ever appended to, and only the last one can have a torn end.
"""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path

from attrs import define

from rain.base.errors import StartError
from rain.daemon.private import ONLY_OWNER, objection

UPLOADS = "uploads"
_LOCK = "lock"
_TURNS = "turns-{:08}"
_NAME = re.compile(r"turns-(\d{8,})")


@define(eq=False)
class JournalFolder:
    """A folder that this process has locked. The lock goes with the process, however it ends."""

    path: Path
    _lock: int

    @staticmethod
    def open(path: Path) -> JournalFolder:
        """Makes the folder if there is none, and locks it; `StartError` if that is not possible."""
        try:
            path.mkdir(mode=ONLY_OWNER, parents=True, exist_ok=True)
            found = path.stat()
            reason = objection(found, os.geteuid())
            if not reason:
                path.chmod(ONLY_OWNER)
                return JournalFolder(path.resolve(), _locked(path))
        except FileExistsError:
            reason = "is not a folder"
        except OSError as error:
            reason = f"cannot be used: {error.strerror}"
        raise StartError(f"the journal {path} {reason}; choose another folder (--journal)")

    def files(self) -> dict[int, Path]:
        """The files of turns by their numbers, in order."""
        found = [(_NAME.fullmatch(path.name), path) for path in self.path.iterdir()]
        return dict(sorted((int(match[1]), path) for match, path in found if match is not None))

    def file(self, number: int) -> Path:
        """The file of turns with this number."""
        return self.path / _TURNS.format(number)

    def uploads(self) -> Path:
        """The folder of large constants."""
        folder = self.path / UPLOADS
        folder.mkdir(mode=ONLY_OWNER, exist_ok=True)
        return folder

    def close(self) -> None:
        """Lets another server use the folder."""
        os.close(self._lock)


def _locked(path: Path) -> int:
    lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StartError(
            f"the journal {path} is used by another server; end that one, or choose another folder"
            " (--journal)"
        ) from None
    return lock
