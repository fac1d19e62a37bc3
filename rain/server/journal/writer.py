"""Writes a journal: each turn before its effects leave, so that killing the server loses nothing.

Only a machine that stops loses what was written and not synced. Syncing takes milliseconds, so
`sync` is called in a thread, and turns go on meanwhile (`rain.server.journal.keeping`).
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

    path: Path
    turns: int  # the number of the last turn that was written
    _file: FileIO

    @staticmethod
    def create(folder: JournalFolder, number: int, header: Header) -> Writer:
        """Begins a new file, which is there for good when this returns."""
        path = folder.file(number)
        try:
            writer = Writer(path, header.first - 1, path.open("xb", buffering=0))
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
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]

    def sync(self) -> None:
        """Makes everything durable that was written; may take long."""
        try:
            os.fdatasync(self._file.fileno())
        except OSError as error:
            raise JournalEnded(f"cannot sync the journal {self.path}: {error.strerror}") from error

    def close(self) -> None:
        """Closes the file at the end of the server."""
        self._file.close()


def _cannot_begin(path: Path, error: OSError) -> JournalEnded:
    return JournalEnded(f"cannot write the journal {path}: {error.strerror}")
