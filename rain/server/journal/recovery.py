"""Repeats all turns of a journal, which restores the state of the server exactly.

A standby does this while another server still writes (`Recovery.catch_up`), and then only has to
read the end. A file of a later generation (`rain.server.lease`) has the number of its first turn.
If a replaced server has added that turn or later ones to its own file, they are not read.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from sys import maxsize

from attrs import define, evolve, field

import rain
from rain.base.errors import InvariantError, RainError
from rain.daemon.folders import sync_folder
from rain.scheduler.api import News
from rain.scheduler.rain import RainScheduler
from rain.scheduler.renewal import forget, without_plan
from rain.scheduler.throttle import Throttle
from rain.server.core.reactor import Reactor
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from rain.server.framing import DamagedRecordError
from rain.server.journal.folder import JournalFolder
from rain.server.journal.reading import OpenFile, first_of_successor, unusable
from rain.server.journal.records import Header, JournalError, TurnRecord, make_again
from rain.server.snapshot.reading import SnapshotError
from rain.server.snapshot.saving import load


@define
class Recovered:
    """The restored state, and facts about its journal."""

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
        state.succession.cluster = header.cluster or state.succession.cluster
        state.succession.generation = max(state.succession.generation, header.generation)
        state.graph.last_session = max(state.graph.last_session, header.last_session)

    def make_next(self, reactor: Reactor, record: TurnRecord) -> None:
        """Makes a turn again, before which none may be missing."""
        if record.came.number != self.turns + 1:
            raise JournalError(f"turn {record.came.number} follows turn {self.turns}")
        make_again(reactor, record)
        self.turns += 1


class BehindError(RainError):
    """Files have gone before they were read, or were not what a later server went on from."""


@define(eq=False)
class Recovery:
    """The turns of a journal, made again as far as they are there."""

    folder: JournalFolder
    settings: ReactorSettings
    recovered: Recovered
    reactor: Reactor = field(init=False)
    _open: OpenFile | None = None  # which is being read

    def __attrs_post_init__(self) -> None:
        self.reactor = Reactor(RainScheduler, self.recovered.state)

    @staticmethod
    def begin(folder: JournalFolder, settings: ReactorSettings) -> Recovery:
        """Begins with the newest snapshot."""
        return Recovery(folder, settings, newest_snapshot(folder, settings))

    def catch_up(self) -> None:
        """Makes all turns that are there by now, though another server still writes.

        Nothing is changed in the folder. `BehindError`: begin anew.
        """
        while True:
            if self._open is not None:
                self._read_whole(self._open, until=first_of_successor(self.folder, self._open))
            follower = self._next()
            if follower is None:
                return
            number, path = follower
            with _named(path, self.recovered):
                begun = OpenFile.of(number, path)
                if begun is None:
                    return
                self._go_on_with(begun)

    def _read_whole(self, begun: OpenFile, until: int | None = None) -> None:
        """Makes the turns again that are whole by now, and come before that one."""
        with _named(begun.path, self.recovered):
            while self.recovered.turns + 1 != until and (record := begun.records.next_whole()):
                self.recovered.make_next(self.reactor, record)

    def _next(self) -> tuple[int, Path] | None:
        last = self.recovered.file if self._open is None else self._open.number
        later = (one for one in self.folder.files().items() if one[0] > last)
        return next(later, None)

    def _go_on_with(self, begun: OpenFile) -> None:
        """The next file has begun, so the one before has ended; it may have grown until then."""
        first = begun.records.header.first
        if self._open is not None:
            self._read_whole(self._open, until=first)
            self._open.close()
            self.recovered.file, self._open = self._open.number, None
        if first != self.recovered.turns + 1:
            begun.close()
            raise BehindError(f"turn {first} follows turn {self.recovered.turns}")
        self.recovered.begin_file(begun.records.header)
        self._open = begun

    def close(self) -> None:
        """Nothing more is read."""
        if self._open is not None:
            self._open.close()

    def finish(self) -> Recovered:
        """Reads the journal to its end, when no other server may write; what is torn is cut off.

        The state then has the settings, and a new scheduler hears of everything.
        """
        recovered = self.recovered
        if self._open is not None and self._open.has_shrunk():
            raise BehindError("the machine of the journal has lost what was read")
        if self._open is not None:
            path, is_last = self._open.path, self._next() is None
            with _named(path, recovered), self._open:
                _read_on(self._open, self.reactor, recovered, self.folder, is_last=is_last)
            self._open = None
        files = {n: path for n, path in self.folder.files().items() if n > recovered.file}
        for number, path in files.items():
            with _named(path, recovered):
                is_last = number == max(files)
                _read(path, number, self.reactor, recovered, self.folder, is_last=is_last)
        begun = self.folder.begun(recovered.file + 1)
        if begun.exists():
            with _named(begun, recovered):
                _read_begun(begun, self.folder, self.reactor, recovered)
        self.folder.begun(recovered.file).unlink(missing_ok=True)  # it has its other name
        begin_anew(recovered.state, self.settings)
        return recovered


def recover(folder: JournalFolder, settings: ReactorSettings) -> Recovered:
    """Reads a journal to its end; no journal is an empty one."""
    return Recovery.begin(folder, settings).finish()


def remake(folder: JournalFolder, last: int) -> Recovered:
    """The state after the file of this number, which was closed. Changes nothing in the folder."""
    recovered = newest_snapshot(folder, ReactorSettings(), last)
    reactor = Reactor(RainScheduler, recovered.state)
    for number, path in folder.files().items():
        if recovered.file < number <= last:
            with _named(path, recovered):
                _read(path, number, reactor, recovered, folder, is_last=False)
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
    except (JournalError, DamagedRecordError, InvariantError, OSError) as error:
        also = f", and {recovered.damage}" if recovered.damage else ""
        raise unusable(path, f"{error}{also}") from error


def _read(
    path: Path,
    number: int,
    reactor: Reactor,
    recovered: Recovered,
    folder: JournalFolder,
    *,
    is_last: bool,
) -> None:
    begun = OpenFile.of(number, path)
    if begun is None:
        if not is_last:
            raise JournalError("it ends before its header does")
        recovered.cut = path.stat().st_size
        path.unlink()
        return
    with begun:
        recovered.begin_file(begun.records.header)
        _read_on(begun, reactor, recovered, folder, is_last=is_last)


def _read_on(
    begun: OpenFile,
    reactor: Reactor,
    recovered: Recovered,
    folder: JournalFolder,
    *,
    is_last: bool,
) -> None:
    """Reads the rest of a file that no server writes any more, or should."""
    records = begun.records
    until = first_of_successor(folder, begun)
    turns = records.turns()
    while recovered.turns + 1 != until and (record := next(turns, None)) is not None:
        recovered.make_next(reactor, record)
    recovered.file = begun.number
    recovered.cut = records.cut
    if recovered.cut:
        if not is_last:
            raise JournalError(f"it is damaged after turn {recovered.turns}")
        os.truncate(begun.path, records.whole)
    if is_last:
        _sync(begun.path)


def _sync(path: Path) -> None:
    """Makes durable what a killed server has written last: the next file counts on it."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _read_begun(path: Path, folder: JournalFolder, reactor: Reactor, recovered: Recovered) -> None:
    """Reads a file with the ending `.begun`: the server or its machine stopped before the previous
    file was synced.

    If the previous file has lost its end, this one is of no use, and nothing in it was promised to
    anybody.
    """
    number = recovered.file + 1
    begun = OpenFile.of(number, path)
    if begun is not None:
        begun.close()
    if begun is None or begun.records.header.first != recovered.turns + 1:
        recovered.cut += path.stat().st_size
        path.unlink()
        return
    path = path.rename(folder.file(number))
    sync_folder(folder.path)
    _read(path, number, reactor, recovered, folder, is_last=True)


def begin_anew(state: State, settings: ReactorSettings) -> None:
    """For a server that begins with this state, and a scheduler that knows nothing of the past."""
    graph = state.graph
    forget(graph)
    graph.remains += state.news.gone  # no scheduler has to hear of them any more
    state.settings = settings
    state.throttle = Throttle(settings.thresholds)
    tasks = without_plan(graph.tasks.values())
    state.news = News(submitted=tasks, joined=list(graph.governors.values()))
