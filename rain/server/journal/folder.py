"""The folder of a journal, and its files.

    leases/                  which server uses the folder (`rain.server.lease`) turns-00000001
    the first file of turns, turns-00000002 the next one, and so on turns-00000003.begun     the
    next file, as long as the one before is not synced to its end snapshot-00000002        the state
    of the server after the second file uploads/                 the large constants of clients

Each start of a server begins a new file with the header of its version and settings. A file is only
ever appended to, and only the last one can have a torn end. A server that was replaced while it was
suspended may append to its file once more: turns from the first turn of the next file on are never
read.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from attrs import define

from rain.base.errors import StartError
from rain.daemon.private import ONLY_OWNER, objection

UPLOADS = "uploads"
LEASES = "leases"
_TURNS = "turns"
_SNAPSHOT = "snapshot"
_NAME = "{}-{:08}"


@define(eq=False)
class JournalFolder:
    """A folder with a journal. The lease says which server may write to it."""

    path: Path

    @staticmethod
    def open(path: Path) -> JournalFolder:
        """Makes the folder if there is none; `StartError` if that is not possible."""
        try:
            path.mkdir(mode=ONLY_OWNER, parents=True, exist_ok=True)
            found = path.stat()
            reason = objection(found, os.geteuid())
            if not reason:
                path.chmod(ONLY_OWNER)
                (path / LEASES).mkdir(mode=ONLY_OWNER, exist_ok=True)
                return JournalFolder(path.resolve())
        except FileExistsError:
            reason = "is not a folder"
        except OSError as error:
            reason = f"cannot be used: {error.strerror}"
        raise StartError(f"the journal {path} {reason}; choose another folder (--journal)")

    def is_journal(self) -> bool:
        """Whether a server has ever used the folder."""
        return self.leases().is_dir()

    def leases(self) -> Path:
        """Where servers take turns in using the journal."""
        return self.path / LEASES

    @staticmethod
    def look_into(path: Path) -> JournalFolder:
        """A folder that is only read. It may be the one of a running server."""
        return JournalFolder(path)

    def files(self) -> dict[int, Path]:
        """The files of turns by their numbers, in order."""
        return self._numbered(_TURNS)

    def file(self, number: int) -> Path:
        """The file of turns with this number."""
        return self.path / _NAME.format(_TURNS, number)

    def begun(self, number: int) -> Path:
        """The name of a file of turns while the file before may still lose its end."""
        return self.path / f"{_NAME.format(_TURNS, number)}.begun"

    def snapshots(self) -> dict[int, Path]:
        """The snapshots by the numbers of the last files in them, in order."""
        return self._numbered(_SNAPSHOT)

    def snapshot(self, number: int) -> Path:
        """The snapshot of what was known after the file with this number."""
        return self.path / _NAME.format(_SNAPSHOT, number)

    def superfluous(self) -> list[Path]:
        """The files that are not needed any more. The previous snapshot and the turns since then
        stay, in case the newest snapshot is lost.
        """
        *older, former, _ = [0, 0, *self.snapshots()]
        files = [path for number, path in self.files().items() if number <= former]
        return files + [self.snapshot(number) for number in older if number]

    def unfinished(self) -> list[Path]:
        """The remains of snapshots whose making was interrupted."""
        return list(self.path.glob(f".{_SNAPSHOT}-*"))

    def _numbered(self, what: str) -> dict[int, Path]:
        name = re.compile(rf"{what}-(\d{{8,}})")
        found = [(name.fullmatch(path.name), path) for path in self.path.iterdir()]
        return dict(sorted((int(match[1]), path) for match, path in found if match is not None))

    def uploads(self) -> Path:
        """The folder of large constants."""
        folder = self.path / UPLOADS
        folder.mkdir(mode=ONLY_OWNER, exist_ok=True)
        return folder

    def remove(self) -> None:
        """Removes all that is in it, and the folder if nothing else is there.

        The oldest files go first, so that the rest after an interruption is not mistaken for an
        older journal.
        """
        for path in (*self.files().values(), *self.path.glob(f"{_TURNS}-*.begun")):
            path.unlink()
        for path in (*self.snapshots().values(), *self.unfinished()):
            path.unlink()
        for path in self.uploads().iterdir():
            path.unlink()
        self.uploads().rmdir()
        for path in self.leases().iterdir():
            path.unlink()
        self.leases().rmdir()
        with suppress(OSError):
            self.path.rmdir()
