"""The folder of the journal: real files, which lose at the stop of a machine what was not synced.

The folder is shared. The leading server writes to it, and the others read it meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

from attrs import Factory, define

from rain.server.core.state import State
from rain.server.journal.compacting import compact
from rain.server.journal.folder import JournalFolder
from rain.server.journal.journal import Journal
from rain.server.journal.records import Header
from rain.server.journal.writer import JournalEnded, Writer


@define(eq=False)
class Disk:
    """What all servers share."""

    folder: JournalFolder
    is_full: bool = False
    synced: dict[int, int] = Factory(dict)  # bytes of files, by number, that no stop loses

    @staticmethod
    def make(folder: Path) -> Disk:
        return Disk(JournalFolder.open(folder / "journal"))

    def read_by_a_leader(self) -> None:
        """The server that takes over has read everything to its end, and has synced it."""
        for number, path in self.folder.files().items():
            self.synced[number] = path.stat().st_size


class SimulatedWriter:
    """Does for `JournalKeeper` what a `Writer` does; its syncs begin and end at different times."""

    def __init__(self, disk: Disk, journal: Journal) -> None:
        if disk.is_full:
            raise _full()
        self._disk = disk
        self._writer: Writer = journal.begin()
        self._numbers = [self._writer.number]  # of the files that it has begun
        self._begun = False  # the last file has no name yet
        disk.synced[self._writer.number] = self._writer.size

    @property
    def turns(self) -> int:
        return self._writer.turns

    @property
    def is_in_a_new_file(self) -> bool:
        return self._begun

    def write(self, record: bytes) -> None:
        if self._disk.is_full:
            raise _full()
        self._writer.write(record)

    def begin_next(self, state: State) -> None:
        """The file is closed, so that a snapshot can take its place."""
        self._writer.begin_next(Header.of(self.turns + 1, state))
        self._numbers.append(self._writer.number)
        self._begun = True

    def begin_sync(self) -> Callable[[], None]:
        """What is to be done when it is over."""
        recent = [(number, self._path(number)) for number in self._numbers[-2:]]
        sizes = {number: path.stat().st_size for number, path in recent if path.exists()}

        def end() -> None:
            if self._begun:
                self._writer.sync()  # gives the file its name
                self._begun = False
            self._disk.synced |= sizes

        return end

    def compact(self) -> None:
        """A snapshot takes the place of all files but the open one."""
        folder = self._disk.folder
        compact(folder, self._writer.number - 1)
        for path in folder.superfluous():
            path.unlink()

    def close(self) -> None:
        self._writer.close()

    def lose_what_is_not_synced(self, random: Random) -> None:
        """Of what was not synced a part may have reached the disk, of each file another one."""
        for number in self._numbers:
            path = self._path(number)
            if path.exists():
                size = path.stat().st_size
                os.truncate(path, random.randint(min(self._disk.synced.get(number, 0), size), size))

    def _path(self, number: int) -> Path:
        is_open = number == self._writer.number
        return self._writer.path if is_open else self._disk.folder.file(number)


def _full() -> JournalEnded:
    return JournalEnded("no space is left on the disk of the simulation")
