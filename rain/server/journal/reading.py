"""Reads the files of a journal, also while they are written."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from attrs import define

from rain.base.errors import StartError
from rain.server.framing import DamagedRecordError, Frames, holds_record
from rain.server.journal.folder import JournalFolder
from rain.server.journal.records import Decoder, Header, JournalError, TurnRecord
from rain.server.journal.writer import MAGIC


@define(eq=False)
class OpenFile:
    """A file of turns that is being read."""

    number: int
    path: Path
    records: Records
    _file: BinaryIO

    @staticmethod
    def of(number: int, path: Path) -> OpenFile | None:
        """None if its header is not whole: the server is about to write it, or was killed then."""
        # Without a buffer: what comes later must not be hidden by what was there before.
        file = path.open("rb", buffering=0)
        try:
            if not has_torn_header(file):
                return OpenFile(number, path, Records.of(file), file)
        except BaseException:
            file.close()
            raise
        file.close()
        return None

    def has_shrunk(self) -> bool:
        """Whether the file has lost bytes that were read before."""
        try:
            return self.path.stat().st_size < self._file.tell()
        except FileNotFoundError:
            return True

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._file.close()


@define
class Records:
    """The records of one file."""

    _file: BinaryIO
    _frames: Frames
    _decoder: Decoder
    cut: int = 0  # bytes of a torn end, once all turns are read
    whole: int = 0  # bytes before it

    @staticmethod
    def of(file: BinaryIO) -> Records:
        """Reads the header."""
        if file.read(len(MAGIC)) != MAGIC:
            raise JournalError("it is not a journal of Rain")
        frames = Frames(file)
        record = frames.read()
        if record is None:
            raise JournalError("it ends before its header does")
        return Records(file, frames, Decoder.of(record))

    @property
    def header(self) -> Header:
        return self._decoder.header

    def next_whole(self) -> TurnRecord | None:
        """The next turn; None if it is not there, or not whole, or not yet."""
        begin = self._file.tell()
        record = None
        with suppress(
            DamagedRecordError
        ):  # it may be about to be written; in the end it will be judged
            record = self._frames.read()
        if record:
            return self._decoder.turn(record)
        self._file.seek(begin)
        return None

    def turns(self) -> Generator[TurnRecord]:
        """All turns up to a torn end. A damaged turn that whole turns follow is not the end."""
        begin = self._file.tell()
        while True:
            try:
                record = self._frames.read()
            except DamagedRecordError:
                if self._has_more(begin):
                    raise
                record = None
            if not record:  # an empty one is a hole that the file system has left
                break
            yield self._decoder.turn(record)
            begin = self._file.tell()
        end = self._file.seek(0, os.SEEK_END)
        self.whole, self.cut = begin, end - begin

    def _has_more(self, begin: int) -> bool:
        """Whether a whole record follows somewhere after this place."""
        self._file.seek(begin)
        return holds_record(self._file.read())


def has_torn_header(file: BinaryIO) -> bool:
    """Whether the server was killed while it began the file."""
    magic = file.read(len(MAGIC))
    torn = MAGIC.startswith(magic) and (len(magic) < len(MAGIC) or Frames(file).read() is None)
    file.seek(0)
    return torn


def first_of_successor(folder: JournalFolder, begun: OpenFile) -> int | None:
    """The turn with which a later server has gone on after this file; None if none has."""
    path = folder.files().get(begun.number + 1)
    later = None if path is None else OpenFile.of(begun.number + 1, path)
    if later is None:
        return None
    later.close()
    header = later.records.header
    return header.first if header.generation > begun.records.header.generation else None


def unusable(path: Path, why: str) -> StartError:
    """The error about a file of a journal with which a server cannot go on."""
    return StartError(
        f"the journal {path} cannot be used: {why}. Move the folder away to begin anew"
    )


def latest_generation(folder: JournalFolder) -> int:
    """That of the last server that has begun a file; `StartError` if that file is none of ours."""
    for number, path in reversed(folder.files().items()):
        try:
            begun = OpenFile.of(number, path)
        except JournalError as error:
            raise unusable(path, str(error)) from error
        if begun is not None:
            begun.close()
            return begun.records.header.generation
    return 0
