"""Programs started by a bare loop, as many at a time as there are cpus."""

import os
import select
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from time import perf_counter

from attrs import frozen

from bench.runners import CallOnce
from bench.shapes import Shape

_QUIET = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]


@frozen
class SpawnRunner:
    cpus: int
    address: str = ""

    def run(self, shape: Shape) -> tuple[float, list[object]]:
        raise NotImplementedError("only programs")

    def calling(self) -> AbstractContextManager[CallOnce]:
        raise NotImplementedError("only programs")

    def run_programs(self, count: int) -> float:
        start = perf_counter()
        running: dict[int, int] = {}
        poll = select.poll()
        started = 0
        while running or started < count:
            while len(running) < self.cpus and started < count:
                pid = os.posix_spawnp("true", ["true"], os.environ, file_actions=_QUIET)
                descriptor = os.pidfd_open(pid)
                running[descriptor] = pid
                poll.register(descriptor, select.POLLIN)
                started += 1
            for descriptor, _ in poll.poll():
                poll.unregister(descriptor)
                os.close(descriptor)
                os.waitpid(running.pop(descriptor), 0)
        return perf_counter() - start


@contextmanager
def cluster(cpus: int) -> Generator[SpawnRunner, None, None]:
    yield SpawnRunner(cpus)
