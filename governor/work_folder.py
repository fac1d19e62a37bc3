"""The governor's work folder: stored data, executors, and runs of programs.

It must not exist before, because everything in it is removed at the end.
"""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from rain.daemon.folders import make_work_folder


@frozen
class WorkFolder:
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
    def make(path: Path) -> WorkFolder:
        """Creates the folder and its parts; raises `StartError` if it cannot."""
        folder = WorkFolder(make_work_folder(path))
        for part in (folder.data, folder.runs, folder.executors):
            part.mkdir(parents=True)
        return folder
