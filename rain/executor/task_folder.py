"""The working folder of a task, which is empty for each task.

Listing a folder takes five system calls and as long as everything else that an executor does for a
small task. So only the time of the last change of the folder is read. File system clocks advance in
steps of milliseconds or even two seconds, and two changes within one step have the same time. So
the folder need not be listed only if it was empty one step after its last change. To see that the
clock has advanced, the parent folder is changed.
"""

import os
import time

STEP = 0.05
"""Seconds between two reads of the file system clock; few clocks are coarser."""


class TaskFolder:
    """The folder; it is created again if a task has removed it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._around = os.path.dirname(path)  # noqa: PTH120 # pathlib starts slowly
        self._make()

    def _make(self) -> None:
        os.mkdir(self.path)  # noqa: PTH102 # a string is needed
        self._descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        self._empty = -1  # time of its last change when it was last found empty
        self._seen = 0.0  # when that time was first seen
        self._settled = -1  # the same time, if it was also found empty a step later

    def enter(self) -> None:
        """Makes it the working directory."""
        os.fchdir(self._descriptor)

    def left(self) -> list[str]:
        """The names of what a task has left in it, which nobody will see."""
        if os.fstat(self._descriptor).st_ctime_ns == self._settled:
            return []
        try:
            return sorted(os.listdir(self.path))  # noqa: PTH208 # a list of names is needed
        except FileNotFoundError:
            return []

    def clean(self) -> None:
        """Empties it after a task."""
        status = os.fstat(self._descriptor)
        changed = status.st_ctime_ns
        if changed == self._settled and status.st_nlink:
            return
        try:
            names = os.listdir(self.path)  # noqa: PTH208 # a list of names is needed
        except FileNotFoundError:
            os.close(self._descriptor)
            self._make()
            return
        if names:
            _leave_nothing(self.path, names)
        elif changed != self._empty:
            self._empty, self._seen = changed, time.perf_counter()
        elif time.perf_counter() - self._seen > STEP:
            if self._clock() > changed:
                self._settled = changed
            else:
                self._seen = time.perf_counter()

    def _clock(self) -> int:
        """The current time of the file system clock."""
        os.utime(self._around)
        return os.stat(self._around).st_ctime_ns  # noqa: PTH116 # as above

    def close(self) -> None:
        """Closes it; for processes that outlive it."""
        os.close(self._descriptor)


def _leave_nothing(folder: str, names: list[str]) -> None:
    import shutil  # noqa: PLC0415 # few tasks leave anything

    for name in names:
        path = os.path.join(folder, name)  # noqa: PTH118 # pathlib starts slowly
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112,PTH114 # as above
            shutil.rmtree(path)
        else:
            os.unlink(path)  # noqa: PTH108 # as above
