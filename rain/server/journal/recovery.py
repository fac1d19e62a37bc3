"""Makes all turns of a journal again: the server then knows exactly what it knew."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from sys import maxsize
from typing import BinaryIO

from attrs import define, evolve

import rain
from rain.base.errors import InvariantError, StartError
from rain.daemon.folders import sync_folder
from rain.scheduler.api import News
from rain.scheduler.rain import RainScheduler
from rain.scheduler.renewal import forget, without_plan
from rain.scheduler.throttle import Throttle
from rain.server.framing import DamagedError, Frames, holds_record
from rain.server.journal.folder import JournalFolder
from rain.server.journal.records import Decoder, Header, JournalError, TurnRecord, make_again
from rain.server.journal.writer import MAGIC
from rain.server.reactor import Reactor
from rain.server.snapshot.reading import SnapshotError
from rain.server.snapshot.saving import load
from rain.server.state import ReactorSettings, State


@define
class Recovered:
    """The facts that a journal tells."""

    state: State
    turns: int = 0  # the number of its last turn
    file: int = 0  # and of its last file
    cut: int = 0  # bytes of a torn end that were cut off
    snapshot: int = 0  # the number of the one that was used
    damage: str = ""  # why a newer one could not be used

    @property
    def is_new(self) -> bool:
        """Whether there was no journal."""
        return self.file == 0

    def begin_file(self, header: Header) -> None:
        """Checks that a file goes on where the one before ends, and takes over what it says."""
        if header.first != self.turns + 1:
            raise JournalError(
                f"it begins with turn {header.first}, and the one before ends with turn"
                f" {self.turns}: a file is missing"
            )
        state = self.state
        state.settings = evolve(header.settings, debug=state.settings.debug)
        state.cluster = header.cluster or state.cluster
        state.graph.last_session = max(state.graph.last_session, header.last_session)

    def check_next(self, record: TurnRecord) -> None:
        """Checks that no turn is missing before this one."""
        if record.came.number != self.turns + 1:
            raise JournalError(f"turn {record.came.number} follows turn {self.turns}")


def recover(folder: JournalFolder, settings: ReactorSettings) -> Recovered:
    """Reads a journal to its end; what is torn there is cut off. No journal is an empty one.

    The state then has these settings, and a new scheduler hears of everything.
    """
    recovered = newest_snapshot(folder, settings)
    reactor = Reactor(RainScheduler, recovered.state)
    files = {number: path for number, path in folder.files().items() if number > recovered.file}
    for number, path in files.items():
        with _named(path, recovered):
            _read(path, number, reactor, recovered, is_last=number == max(files))
    begun = folder.begun(recovered.file + 1)
    if begun.exists():
        with _named(begun, recovered):
            _read_begun(begun, folder, reactor, recovered)
    begin_anew(recovered.state, settings)
    return recovered


def remake(folder: JournalFolder, last: int) -> Recovered:
    """The state after the file of this number, which was closed. Changes nothing in the folder."""
    recovered = newest_snapshot(folder, ReactorSettings(), last)
    reactor = Reactor(RainScheduler, recovered.state)
    for number, path in folder.files().items():
        if recovered.file < number <= last:
            with _named(path, recovered):
                _read(path, number, reactor, recovered, is_last=False)
    return recovered


def newest_snapshot(
    folder: JournalFolder, settings: ReactorSettings, last: int = maxsize
) -> Recovered:
    """The newest snapshot that is whole, and not newer than this file; or an empty state."""
    damage = ""
    for number, path in reversed(folder.snapshots().items()):
        if number > last:
            continue
        try:
            with path.open("rb") as file:
                saved = load(file, "" if settings.debug else rain.__version__)
        except (SnapshotError, InvariantError, OSError) as error:
            damage = damage or f"the snapshot {path} cannot be used: {error}"
        else:
            recovered = Recovered(saved.state, saved.turns, number, snapshot=number, damage=damage)
            recovered.state.settings = evolve(saved.state.settings, debug=settings.debug)
            return recovered
    return Recovered(State(settings), damage=damage)


@contextmanager
def _named(path: Path, recovered: Recovered) -> Generator[None]:
    """Says which file is wrong, and of a snapshot before it if that may be the reason."""
    try:
        yield
    except (JournalError, DamagedError, InvariantError, OSError) as error:
        also = f", and {recovered.damage}" if recovered.damage else ""
        raise StartError(
            f"the journal {path} cannot be used: {error}{also}. Move the folder away to begin anew"
        ) from error


def _read(
    path: Path, number: int, reactor: Reactor, recovered: Recovered, *, is_last: bool
) -> None:
    with path.open("rb") as file:
        if is_last and _has_torn_header(file):
            recovered.cut = file.seek(0, os.SEEK_END)
            path.unlink()
            return
        records = Records.of(file)
        recovered.begin_file(records.header)
        for record in records.turns():
            recovered.check_next(record)
            make_again(reactor, record)
            recovered.turns += 1
    recovered.file = number
    recovered.cut = records.cut
    if recovered.cut:
        if not is_last:
            raise JournalError(f"it is damaged after turn {recovered.turns}")
        os.truncate(path, records.whole)
    if is_last:
        _sync(path)


def _sync(path: Path) -> None:
    """Makes durable what a killed server has written last: the next file counts on it."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _read_begun(path: Path, folder: JournalFolder, reactor: Reactor, recovered: Recovered) -> None:
    """The server was killed, or its machine has stopped, before the file before was synced.

    If that one has lost its end, then what follows is of no use, and nobody was promised any of it.
    """
    with path.open("rb") as file:
        follows = not _has_torn_header(file)
        follows = follows and Records.of(file).header.first == recovered.turns + 1
    if not follows:
        recovered.cut += path.stat().st_size
        path.unlink()
        return
    number = recovered.file + 1
    path = path.rename(folder.file(number))
    sync_folder(folder.path)
    _read(path, number, reactor, recovered, is_last=True)


def _has_torn_header(file: BinaryIO) -> bool:
    """Whether the server was killed while it began the file."""
    magic = file.read(len(MAGIC))
    torn = MAGIC.startswith(magic) and (len(magic) < len(MAGIC) or Frames(file).read() is None)
    file.seek(0)
    return torn


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

    def turns(self) -> Generator[TurnRecord]:
        """All turns up to a torn end. What is damaged and followed by whole turns is no end."""
        begin = self._file.tell()
        while True:
            try:
                record = self._frames.read()
            except DamagedError:
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


def begin_anew(state: State, settings: ReactorSettings) -> None:
    """For a server that begins with this state, and a scheduler that knows nothing of the past."""
    graph = state.graph
    forget(graph)
    graph.remains += state.news.gone  # nobody is left who has to hear of them
    state.settings = settings
    state.throttle = Throttle(settings.thresholds)
    tasks = without_plan(graph.tasks.values())
    state.news = News(submitted=tasks, joined=list(graph.governors.values()))
