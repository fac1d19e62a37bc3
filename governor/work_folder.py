"""The governor's own folder: stored data, executors, and what is in the making.

It must not exist before, since everything in it is removed at the end.
"""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from rain.daemon.folders import make_work_folder


@frozen
class WorkFolder:
    """The parts of the folder."""

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
    def make(path: Path) -> WorkFolder:
        """Makes the folder and its parts; `StartError` says why it cannot."""
        folder = WorkFolder(make_work_folder(path))
        for part in (folder.data, folder.runs, folder.executors):
            part.mkdir(parents=True)
        return folder
