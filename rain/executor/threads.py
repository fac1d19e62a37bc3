"""The threads of numerical libraries: a call has as many as its task has cpus.

Libraries that are not loaded yet, and programs that a call starts, find the number in the
environment. Those that were loaded for a call with another number are told by threadpoolctl.
"""

import os
from importlib import import_module
from typing import Any

from rain.base.thread_limits import thread_limits


class Threads:
    """The number that holds in this process, unless its environment came with one."""

    def __init__(self) -> None:
        self.cpus = -1  # those of the latest call; none yet
        self._is_ours = bool(thread_limits(1, os.environ))

    def limit(self, cpus: int) -> None:
        """From now on the libraries use as many threads as the task has cpus."""
        before, self.cpus = self.cpus, cpus
        if not self._is_ours:
            return
        os.environ.update(thread_limits(cpus))
        if before >= 0:
            # Most executors never need it; and it is not annotated.
            threadpoolctl: Any = import_module("threadpoolctl")
            threadpoolctl.threadpool_limits(max(cpus, 1))
