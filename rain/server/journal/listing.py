"""The content of a journal, for people. Nothing in the folder is changed."""

from __future__ import annotations

from pathlib import Path

from attrs import Factory, define

from rain.base.errors import InvariantError, StartError
from rain.scheduler.rain import RainScheduler
from rain.server.core.reactor import Reactor
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.framing import DamagedRecordError
from rain.server.journal.folder import JournalFolder
from rain.server.journal.reading import OpenFile, first_of_successor
from rain.server.journal.records import JournalError
from rain.server.journal.recovery import Recovered, newest_snapshot
from rain.server.lease.folder import FolderStore
from rain.server.lease.rules import NOBODY, Record


@define
class ListedFile:
    """A file of a journal. Turns that are in a snapshot as well are not read."""

    name: str
    size: int
    first: int = 0  # the number of its first turn, 0 if there is none or it was not read
    last: int = 0
    begin: float = 0.0  # the time of its first turn
    end: float = 0.0
    cut: int = 0  # bytes of a torn end, which a server cuts off
    wrong: str = ""  # why it cannot be used


@define
class Contents:
    """A journal, as far as it can be read."""

    recovered: Recovered
    files: list[ListedFile] = Factory(list)
    lease: Record = NOBODY
    is_used: bool = False  # by a server that runs, as far as can be known here

    @property
    def wrong(self) -> str:
        """Which file a server cannot use, and why; "" if all is well."""
        return next((f"{file.name}: {file.wrong}" for file in self.files if file.wrong), "")


def look_into(path: Path) -> Contents:
    """Makes all turns again, up to the first one that cannot be made."""
    folder = JournalFolder.look_into(path)
    if not path.is_dir() or not folder.is_journal():
        raise StartError(f"{path} is no journal of a server")
    recovered = newest_snapshot(folder, ReactorSettings())
    leases = FolderStore(folder.leases())
    lease = leases.read()
    is_used = not (lease.released or leases.has_ended(lease))
    contents = Contents(recovered, lease=lease, is_used=is_used)
    for number, snapshot in folder.snapshots().items():
        wrong = recovered.damage if number > recovered.snapshot else ""
        contents.files.append(ListedFile(snapshot.name, snapshot.stat().st_size, wrong=wrong))
    files = folder.files()
    begun = folder.begun(max(files, default=0) + 1)
    if begun.exists():
        files[max(files, default=0) + 1] = begun
    reactor, goes_on = Reactor(RainScheduler, recovered.state), True
    for number, file in files.items():
        listed = ListedFile(file.name, file.stat().st_size)
        contents.files.append(listed)
        if number > recovered.file and goes_on:
            _read(folder, OpenFile.of(number, file), listed, reactor, recovered)
            goes_on = not listed.wrong
    return contents


def _read(
    folder: JournalFolder,
    begun: OpenFile | None,
    listed: ListedFile,
    reactor: Reactor,
    recovered: Recovered,
) -> None:
    try:
        if begun is None:
            raise JournalError("it ends before its header does")
        header, until = begun.records.header, first_of_successor(folder, begun)
        listed.first = header.first
        with begun:
            recovered.begin_file(header)
            turns = begun.records.turns()
            while recovered.turns + 1 != until and (record := next(turns, None)) is not None:
                recovered.make_next(reactor, record)
                listed.last = record.came.number
                listed.begin, listed.end = listed.begin or record.came.now, record.came.now
        listed.cut = begun.records.cut
    except (JournalError, DamagedRecordError, InvariantError, OSError) as error:
        listed.wrong = str(error)
