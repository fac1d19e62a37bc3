"""Writes a journal: each turn before its effects leave, so that killing the server loses nothing.

Only a failure of the machine loses turns that were written and not synced. Syncing takes
milliseconds, so `sync` is called in a thread, and turns go on meanwhile
(`rain.server.journal.keeping`).
"""

from __future__ import annotations

import os
from io import FileIO
from pathlib import Path

from attrs import define

from rain.base.errors import RainError
from rain.daemon.folders import sync_folder
from rain.server.framing import frame
from rain.server.journal.folder import JournalFolder
from rain.server.journal.records import Header, encode_header

MAGIC = b"rain journal\n"


class JournalEnded(RainError):
    """The journal cannot be continued, because the disk is full or broken."""


@define(eq=False)
class Writer:
    """The open file of a journal."""

    folder: JournalFolder
    number: int  # of the file
    path: Path
    turns: int  # the number of the last turn that was written
    _file: FileIO
    size: int = 0  # of the file
    _former: FileIO | None = None  # the file before, as long as it may not be synced to its end

    @staticmethod
    def create(folder: JournalFolder, number: int, header: Header) -> Writer:
        """Begins a new file, which is there for good when this returns."""
        path = folder.file(number)
        try:
            writer = Writer(folder, number, path, header.first - 1, path.open("xb", buffering=0))
        except OSError as error:
            raise _cannot_begin(path, error) from error
        try:
            writer._append(MAGIC + frame(encode_header(header)))
            os.fsync(writer._file.fileno())
            sync_folder(folder.path)
        except OSError as error:
            writer.close()
            path.unlink()
            raise _cannot_begin(path, error) from error
        return writer

    def begin_next(self, header: Header) -> None:
        """Goes on in a new file. Call it when no `sync` is running, and `sync` soon after.

        It has its name only when the file before is synced: so if a machine stops, no turn is left
        whose predecessor is lost.
        """
        assert self._former is None, "the file before is not synced"
        self.number += 1
        self.path = self.folder.begun(self.number)
        try:
            self._former, self._file = self._file, self.path.open("xb", buffering=0)
            self.size = 0
            self._append(MAGIC + frame(encode_header(header)))
        except OSError as error:
            raise _cannot_begin(self.path, error) from error

    def write(self, record: bytes) -> None:
        """Writes the next turn; raises `JournalEnded` if that is not possible."""
        try:
            self._append(frame(record))
        except OSError as error:
            raise JournalEnded(
                f"cannot go on with the journal {self.path}: {error.strerror}; the server ends, and"
                " goes on from here when it is started again and there is room"
            ) from error
        self.turns += 1

    def _append(self, data: bytes) -> None:
        self.size += len(data)
        left = memoryview(data)
        while left:
            left = left[self._file.write(left) :]

    def sync(self) -> None:
        """Makes everything durable that was written; may take long. One call at a time."""
        try:
            if self._former is not None:
                self._name_file(self._former)
            os.fdatasync(self._file.fileno())
        except OSError as error:
            raise JournalEnded(f"cannot sync the journal {self.path}: {error.strerror}") from error

    def _name_file(self, former: FileIO) -> None:
        os.fdatasync(former.fileno())
        path = self.folder.file(self.number)
        os.link(self.path, path)  # unlike a rename this never replaces the file of a later server
        self.path.unlink()
        sync_folder(self.folder.path)
        self.path, self._former = path, None
        former.close()

    def close(self) -> None:
        """Closes the file at the end of the server."""
        self._file.close()
        if self._former is not None:
            self._former.close()


def _cannot_begin(path: Path, error: OSError) -> JournalEnded:
    return JournalEnded(f"cannot write the journal {path}: {error.strerror}")
