"""The subfolders of a governor's work folder: stored data, executors, and runs of programs."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from rain.daemon.work_folder import WorkFolder


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
