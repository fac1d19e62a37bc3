"""The folder that a task works in, empty for each.

To list a folder takes five system calls and as long as all else that an executor does for a small
task. So the system is asked for one number instead: when the folder was last changed. Clocks of
file systems advance in steps, of milliseconds or of two seconds, and within one step two changes
look like one: only what is still empty a step after its last change need not be looked into. That
the clock has advanced is seen by what is changed then, the folder around it.
"""

import os
import time

STEP = 0.05
"""Seconds between two looks at the clock of the file system; few have a coarser one."""


class TaskFolder:
    """Made once, and made again when a task has removed it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._around = os.path.dirname(path)  # noqa: PTH120 # pathlib starts slowly
        self._make()

    def _make(self) -> None:
        os.mkdir(self.path)  # noqa: PTH102 # a string is wanted
        self._descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        self._empty = -1  # when it was changed last, as seen when it was last found empty
        self._seen = 0.0  # when that was seen first
        self._settled = -1  # the same, if it was found empty a step later, too

    def enter(self) -> None:
        """Makes it the current folder."""
        os.fchdir(self._descriptor)

    def clean(self) -> None:
        """Empties it after a task."""
        status = os.fstat(self._descriptor)
        changed = status.st_ctime_ns
        if changed == self._settled and status.st_nlink:
            return
        try:
            names = os.listdir(self.path)  # noqa: PTH208 # a list of names is wanted
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
        """What time it is for the file system."""
        os.utime(self._around)
        return os.stat(self._around).st_ctime_ns  # noqa: PTH116 # as above

    def close(self) -> None:
        """Lets go of it; for those that outlive it."""
        os.close(self._descriptor)


def _leave_nothing(folder: str, names: list[str]) -> None:
    import shutil  # noqa: PLC0415 # few tasks leave anything

    for name in names:
        path = os.path.join(folder, name)  # noqa: PTH118 # pathlib starts slowly
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112,PTH114 # as above
            shutil.rmtree(path)
        else:
            os.unlink(path)  # noqa: PTH108 # as above
