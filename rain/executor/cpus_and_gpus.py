"""Tells libraries, and programs that a call starts, which cpus and gpus the call may use.

Numerical libraries that are loaded later, and programs, read the number of threads from the
environment, and CUDA reads its gpus there. For libraries that are already loaded, threadpoolctl
changes the number of threads.
"""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from rain.base.executor_protocol import VISIBLE_GPUS
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


@contextmanager
def visible_gpus(gpus: Sequence[str]) -> Generator[None, None, None]:
    """Makes only these gpus visible to CUDA in its scope, and restores the environment."""
    before = os.environ.get(VISIBLE_GPUS)
    os.environ[VISIBLE_GPUS] = ",".join(gpus)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VISIBLE_GPUS, None)
        else:
            os.environ[VISIBLE_GPUS] = before
