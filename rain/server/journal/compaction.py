"""Keeps a journal short: replaces old files by snapshots.

A file of turns is closed when the turns since the last snapshot are longer than `least`, and twice
as long as that snapshot. So all snapshots together take less writing than the turns, and a
restarted server reads about three times the size of its state.
"""

from __future__ import annotations

import os
import subprocess
import sys

import trio
from attrs import Factory, define, field
from structlog.typing import FilteringBoundLogger

from rain.daemon.packages import python_path
from rain.rpc.background import in_a_thread
from rain.server.core.state import State
from rain.server.journal.folder import JournalFolder
from rain.server.journal.records import Header

LEAST = 16 * 1024 * 1024
"""With fewer bytes of turns it is not worth making a snapshot."""


@define(eq=False)
class Compaction:
    """Starts the making of a snapshot whenever there are enough turns, one at a time."""

    folder: JournalFolder
    state: State
    log: FilteringBoundLogger
    last: int = 0  # the last file that was closed
    least: int = LEAST
    _limit: int = field(init=False)
    _closed: int = field(init=False)  # bytes of closed files since the last snapshot
    _wanted: trio.Event = Factory(trio.Event)

    def __attrs_post_init__(self) -> None:
        for unfinished in self.folder.unfinished():
            unfinished.unlink()
        self._look()
        if self._closed > self._limit:
            self.closed(self.last)

    @property
    def is_wanted(self) -> bool:
        """Whether a snapshot is to be made, or is being made."""
        return self._wanted.is_set()

    def is_due(self, more: int) -> bool:
        """Whether the open file should be closed; it has `more` bytes besides those of others."""
        return self._closed + more > self._limit and not self.is_wanted

    def header(self, first: int) -> Header:
        """That of the next file, whose first turn has this number."""
        return Header.of(first, self.state)

    def closed(self, number: int) -> None:
        """The file of this number, and all before it, do not change any more."""
        self.last = number
        self._wanted.set()

    async def run(self) -> None:
        """Makes snapshots until it is cancelled."""
        while True:
            await self._wanted.wait()
            await self.make_snapshot()

    async def make_snapshot(self) -> None:
        """Makes one of all closed files, and removes what is not needed then."""
        await self._compact(self.last)
        await in_a_thread(self._tidy, abandon=False)
        self._look()
        self._limit += self._closed  # what could not be done now is tried again later
        self._wanted = trio.Event()

    def _look(self) -> None:
        snapshots = self.folder.snapshots()
        newest = max(snapshots, default=0)
        size = snapshots[newest].stat().st_size if newest else 0
        self._limit = max(self.least, 2 * size)
        files = self.folder.files().items()
        closed = [path for number, path in files if newest < number <= self.last]
        self._closed = sum(path.stat().st_size for path in closed)

    async def _compact(self, last: int) -> None:
        packages = python_path(os.environ.get("PYTHONPATH"))
        program = [sys.executable, "-m", "rain.server.journal.compacting"]
        try:
            done = await trio.run_process(
                [*program, str(self.folder.path), str(last)],
                stdin=subprocess.DEVNULL,
                capture_stdout=True,
                capture_stderr=True,
                check=False,
                start_new_session=True,  # Ctrl-C must not reach it
                env={**os.environ, "PYTHONPATH": packages},
            )
        except OSError as error:
            cause = f"its program cannot be started: {error.strerror}"
        else:
            if not done.returncode:
                return
            said = done.stderr.decode(errors="replace").strip()
            cause = said.rpartition("\n")[2] or f"it has ended with status {done.returncode}"
        self.log.warning(
            "the journal stays as long as it is", journal=self.folder.path, cause=cause
        )

    def _tidy(self) -> None:
        for path in self.folder.superfluous():
            path.unlink(missing_ok=True)  # a server that was replaced may tidy up, too
