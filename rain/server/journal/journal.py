"""A journal as a server opens it: what is known from before, and the file for what comes."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_bytes

from attrs import define
from structlog.typing import FilteringBoundLogger

from rain.base.errors import StartError
from rain.base.ids import ObjectId, spell
from rain.server.journal.compaction import Compaction
from rain.server.journal.folder import JournalFolder
from rain.server.journal.records import Header
from rain.server.journal.recovery import Recovered, recover
from rain.server.journal.writer import Writer
from rain.server.spool import Spool
from rain.server.state import CLUSTER_BYTES, ReactorSettings, State


@define(eq=False)
class Journal:
    """An open journal."""

    folder: JournalFolder
    recovered: Recovered
    uploads: Spool

    @property
    def state(self) -> State:
        return self.recovered.state

    @property
    def goes_on(self) -> bool:
        """Whether an earlier server has made turns."""
        return self.recovered.turns > 0

    def begin(self) -> Writer:
        """Begins the next file."""
        state = self.state
        state.cluster = state.cluster or token_bytes(CLUSTER_BYTES)
        header = Header.of(self.recovered.turns + 1, state)
        return Writer.create(self.folder, self.recovered.file + 1, header)

    def compaction(self, log: FilteringBoundLogger) -> Compaction:
        """Keeps it short; all files of earlier servers are closed."""
        return Compaction(self.folder, self.state, log, self.recovered.file)


@contextmanager
def open_journal(
    path: Path, settings: ReactorSettings, log: FilteringBoundLogger
) -> Generator[Journal]:
    """Locks the folder during the block, and makes all turns again that are in it."""
    folder = JournalFolder.open(path)
    try:
        recovered = recover(folder, settings)
        if recovered.cut:
            log.warning(
                "the journal had a torn end, which was cut off",
                journal=str(path),
                bytes=recovered.cut,
            )
        if recovered.damage:
            log.error("the journal is damaged; the server goes on", cause=recovered.damage)
        uploads = Spool(folder.uploads(), lasts=True)
        missing = uploads.restore(_large_constants(recovered.state))
        if missing:
            raise StartError(
                f"the journal {path} cannot be used: the file of the constant {spell(missing[0])}"
                " is missing in its folder uploads"
            )
        if recovered.turns:
            log.info(
                "the server returns",
                journal=str(path),
                turns=recovered.turns,
                sessions=len(recovered.state.graph.sessions),
                tasks=len(recovered.state.graph.tasks),
            )
        yield Journal(folder, recovered, uploads)
    finally:
        folder.close()


def _large_constants(state: State) -> dict[ObjectId, None]:
    """Those that are files, also of submissions that are not read to their ends."""
    wanted = [one.id for one in state.graph.objects.values() if one.spooled]
    for growing in state.growing.values():
        constants = growing.submit.submission.constants
        sizes = constants.sizes or [len(data) for data in constants.data]
        for object_id, size, data in zip(constants.ids, sizes, constants.data, strict=True):
            if len(data) != size:
                wanted.append(object_id)
    return dict.fromkeys(wanted)
