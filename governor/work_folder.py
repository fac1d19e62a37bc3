"""The governor's own folder: stored data, executors, and what is in the making.

It must not exist before, since everything in it is removed at the end.
"""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

from attrs import frozen

from rain.base.errors import StartError


def default_work_folder() -> Path:
    """A folder of its own for this process, below the temporary folder."""
    name = f"governor-{socket.gethostname()}-{os.getpid()}"
    return Path(tempfile.gettempdir()) / "rain-work" / name


@frozen
class WorkFolder:
    """The parts of the folder."""

    root: Path

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def drafts(self) -> Path:
        return self.root / "tmp"

    @property
    def runs(self) -> Path:
        return self.root / "tasks"

    @property
    def executors(self) -> Path:
        return self.root / "executors" / "work"

    @staticmethod
    def make(path: Path) -> WorkFolder:
        """Makes the folder and its parts; `StartError` says why it cannot."""
        try:
            # Links count as there, too, wherever they lead.
            if os.path.lexists(path):
                raise StartError(
                    f"the work folder {path} exists already; choose a new one, since it is"
                    " removed at the end"
                )
            path.mkdir(parents=True)
        except OSError as error:
            raise StartError(
                f"the work folder {path} cannot be made: {error.strerror}; choose another one"
            ) from None
        folder = WorkFolder(path.resolve())
        for part in (folder.data, folder.drafts, folder.runs, folder.executors):
            part.mkdir(parents=True)
        return folder
