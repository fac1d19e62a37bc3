"""Limits the threads of numerical libraries to the cpus of the task.

Libraries that are loaded later, and programs that a call starts, read the number from the
environment. For libraries that are already loaded, threadpoolctl changes it.
"""

import os
from importlib import import_module
from typing import Any

from rain.base.thread_limits import thread_limits


class Threads:
    """The thread limit of this process; not used if its environment already had one."""

    def __init__(self) -> None:
        self.cpus = -1  # of the latest call; none yet
        self._is_ours = bool(thread_limits(1, os.environ))

    def limit(self, cpus: int) -> None:
        """Limits the threads of the libraries to the cpus of the task."""
        before, self.cpus = self.cpus, cpus
        if not self._is_ours:
            return
        os.environ.update(thread_limits(cpus))
        if before >= 0:
            # Most executors never need it, and it has no type annotations.
            threadpoolctl: Any = import_module("threadpoolctl")
            threadpoolctl.threadpool_limits(max(cpus, 1))
