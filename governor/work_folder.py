"""The folders of a governor: the parts of its work folder, and the one in shared memory."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen
from structlog.typing import FilteringBoundLogger

from rain.base.errors import StartError
from rain.daemon.work_folder import SHARED_MEMORY, WorkFolder
from rain.governor.machine.budget import Budget

LITTLE = 256 * 1024 * 1024
"""With less shared memory than this there is a line in the log: a container has 64 MiB by
default.
"""


@frozen
class FolderPaths:
    """The paths of the parts of the folder."""

    root: Path

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def runs(self) -> Path:
        return self.root / "tasks"

    @property
    def executors(self) -> Path:
        return self.root / "executors" / "work"

    @staticmethod
    def make(folder: WorkFolder) -> FolderPaths:
        """Creates the parts."""
        parts = FolderPaths(folder.path)
        for part in (parts.data, parts.runs, parts.executors):
            part.mkdir(parents=True)
        return parts


def shared_folder(budget: Budget, work: WorkFolder, log: FilteringBoundLogger) -> WorkFolder | None:
    """The folder in shared memory; None if there shall be none, or cannot be."""
    if not budget.store:
        return None
    try:
        shared = WorkFolder.in_shared_memory("governor")
    except StartError as error:
        log.warning("no data is kept in shared memory", reason=str(error))
        return None
    if shared.path.stat().st_dev == work.path.stat().st_dev:
        log.info("all data is in shared memory, where the work folder is", folder=str(work.path))
        shared.remove()
        return None
    if budget.store < LITTLE:
        log.info(
            "little data can be kept in shared memory; a container has more of it with --shm-size",
            folder=str(SHARED_MEMORY),
            bytes=budget.store,
        )
    return shared


def remove_folder(folder: WorkFolder, log: FilteringBoundLogger) -> None:
    """Removes a folder and lets it go; what cannot be removed is told in the log."""
    try:
        folder.remove()
    except OSError as error:
        log.warning("work folder not removed", folder=str(folder.path), reason=str(error))
    folder.let_go()
