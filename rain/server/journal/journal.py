"""Opens the journal of a server: restores the earlier state, and begins the file for new turns."""

from __future__ import annotations

import shlex
from datetime import datetime
from secrets import token_bytes

from attrs import define, field
from structlog.typing import FilteringBoundLogger

from rain.base.errors import StartError
from rain.base.ids import ObjectId, spell
from rain.server.core.state import State
from rain.server.core.succession import CLUSTER_BYTES
from rain.server.journal.compacting import write_whole
from rain.server.journal.compaction import Compaction
from rain.server.journal.folder import JournalFolder
from rain.server.journal.records import Header
from rain.server.journal.recovery import Recovered
from rain.server.journal.writer import Writer
from rain.server.snapshot.saving import save
from rain.server.spool import Spool

FEW = 10_000
"""With up to this many tasks and objects, a server makes a snapshot itself when it ends, in well
under a second.
"""


@define(eq=False)
class Journal:
    """An open journal."""

    folder: JournalFolder
    recovered: Recovered
    uploads: Spool
    _was: str = field(init=False)  # the restored state

    def __attrs_post_init__(self) -> None:
        self._was = _summary(self.state)

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
        state.succession.name_cluster(token_bytes(CLUSTER_BYTES))
        header = Header.of(self.recovered.turns + 1, state)
        return Writer.create(self.folder, self.recovered.file + 1, header)

    def what_goes_on(self) -> str:
        """A text for the user about the sessions of an earlier server; "" if there are none."""
        if not self._was:
            return ""
        return f"goes on with {self._was}; to begin anew: rain stop, {self.begin_anew}"

    @property
    def begin_anew(self) -> str:
        """The command for a user who does not want to go on."""
        return f"rain journal --remove {shlex.quote(str(self.folder.path))}"

    def leave_short(self, writer: Writer, log: FilteringBoundLogger) -> None:
        """Makes a snapshot at the end of a server that has little to keep.

        So the next one starts at once, and the folder is small. All turns must be synced.
        """
        state = self.state
        if len(state.graph.tasks) + len(state.graph.objects) > FEW or state.has_effects:
            return
        try:
            write_whole(self.folder.snapshot(writer.number), save(state, writer.turns))
            for path in self.folder.superfluous():
                path.unlink()
        except OSError as error:
            log.warning(
                "the journal stays as long as it is",
                journal=str(self.folder.path),
                cause=error.strerror,
            )

    def compaction(self, log: FilteringBoundLogger) -> Compaction:
        """Keeps it short; all files of earlier servers are closed."""
        return Compaction(self.folder, self.state, log, self.recovered.file)


def _summary(state: State) -> str:
    sessions, tasks = state.graph.sessions, state.graph.tasks
    if not sessions:
        return ""
    unfinished = sum(not task.is_done for task in tasks.values())
    when = datetime.fromtimestamp(state.now).astimezone().strftime("%Y-%m-%d %H:%M")
    return (
        f"{len(sessions)} session{'s' if len(sessions) > 1 else ''} of {when} ({len(tasks)} tasks,"
        f" {unfinished} unfinished)"
    )


def open_journal(
    folder: JournalFolder, recovered: Recovered, generation: int, log: FilteringBoundLogger
) -> Journal:
    """Goes on with a journal that was read to its end, as the server of this generation."""
    path, state = folder.path, recovered.state
    if recovered.cut:
        log.warning(
            "the journal had a torn end, which was cut off",
            journal=str(path),
            bytes=recovered.cut,
        )
    if recovered.damage:
        log.error("the journal is damaged; the server goes on", cause=recovered.damage)
    uploads = Spool(folder.uploads(), lasts=True)
    missing = uploads.restore(_large_constants(state), generation)
    if missing:
        raise StartError(
            f"the journal {path} cannot be used: the file of the constant {spell(missing[0])}"
            " is missing in its folder uploads"
        )
    state.succession.generation = generation
    opened = Journal(folder, recovered, uploads)
    if recovered.turns:
        log.info(
            "the server returns",
            journal=str(path),
            generation=generation,
            turns=recovered.turns,
            sessions=len(state.graph.sessions),
            tasks=len(state.graph.tasks),
            to_begin_anew=opened.begin_anew,
        )
    return opened


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
