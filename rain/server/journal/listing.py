"""The content of a journal, for people. Nothing in the folder is changed."""

from __future__ import annotations

import os
from pathlib import Path

from attrs import Factory, define

from rain.base.errors import InvariantError, StartError
from rain.scheduler.rain import RainScheduler
from rain.server.framing import DamagedError
from rain.server.journal.folder import JournalFolder
from rain.server.journal.records import JournalError, make_again
from rain.server.journal.recovery import Records, Recovered, newest_snapshot
from rain.server.reactor import Reactor
from rain.server.state import ReactorSettings

_LOCKS = Path("/proc/locks")


@define
class Listed:
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
    files: list[Listed] = Factory(list)
    is_used: bool = False  # by a server that runs

    @property
    def wrong(self) -> str:
        """Which file a server cannot use, and why; "" if all is well."""
        return next((f"{file.name}: {file.wrong}" for file in self.files if file.wrong), "")


def look_into(path: Path) -> Contents:
    """Makes all turns again, up to the first one that cannot be made."""
    folder = JournalFolder.look_into(path)
    if not folder.has_lock():
        raise StartError(f"{path} is no journal of a server")
    recovered = newest_snapshot(folder, ReactorSettings())
    contents = Contents(recovered, is_used=_is_locked(folder.lock))
    for number, snapshot in folder.snapshots().items():
        wrong = recovered.damage if number > recovered.snapshot else ""
        contents.files.append(Listed(snapshot.name, snapshot.stat().st_size, wrong=wrong))
    files = folder.files()
    begun = folder.begun(max(files, default=0) + 1)
    if begun.exists():
        files[max(files, default=0) + 1] = begun
    reactor, goes_on = Reactor(RainScheduler, recovered.state), True
    for number, file in files.items():
        listed = Listed(file.name, file.stat().st_size)
        contents.files.append(listed)
        if number > recovered.file and goes_on:
            _read(file, listed, reactor, recovered)
            goes_on = not listed.wrong
    return contents


def remove_journal(path: Path) -> None:
    """Removes a journal that no server uses."""
    if not JournalFolder.look_into(path).has_lock():
        raise StartError(f"{path} is no journal of a server")
    folder = JournalFolder.open(path)
    try:
        folder.remove()
    finally:
        folder.close()


def _read(path: Path, listed: Listed, reactor: Reactor, recovered: Recovered) -> None:
    try:
        with path.open("rb") as file:
            records = Records.of(file)
            listed.first = records.header.first
            recovered.begin_file(records.header)
            for record in records.turns():
                recovered.check_next(record)
                make_again(reactor, record)
                recovered.turns = listed.last = record.came.number
                listed.begin, listed.end = listed.begin or record.came.now, record.came.now
        listed.cut = records.cut
    except (JournalError, DamagedError, InvariantError, OSError) as error:
        listed.wrong = str(error)


def _is_locked(lock: Path) -> bool:
    """Whether a process has locked it. To try it would keep a server from starting."""
    found = lock.stat()
    name = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    try:
        return any(name in line.split() for line in _LOCKS.read_text().splitlines())
    except OSError:  # a system without this file
        return False
