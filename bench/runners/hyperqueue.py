"""HyperQueue: its server and one worker in this process, as started by its Python package.

Its client polls for the end of a job once a second, so short runs are unfair to it.
"""

import os
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, redirect_stderr
from importlib import import_module
from io import StringIO
from tempfile import mkdtemp
from time import perf_counter
from typing import Any

from attrs import frozen

from bench.runners import CallOnce
from bench.shapes import Shape


@frozen
class HyperQueueRunner:
    client: Any
    address: str = ""

    def run(self, shape: Shape) -> tuple[float, list[object]]:
        raise NotImplementedError("only programs")

    def calling(self) -> AbstractContextManager[CallOnce]:
        raise NotImplementedError("only programs")

    def run_programs(self, count: int) -> float:
        start = perf_counter()
        job = import_module("hyperqueue").Job()
        for _ in range(count):
            job.program(["true"])
        with redirect_stderr(StringIO()):  # its progress bar
            self.client.wait_for_jobs([self.client.submit(job)])
        return perf_counter() - start


@contextmanager
def cluster(cpus: int) -> Generator[HyperQueueRunner, None, None]:
    os.chdir(mkdtemp(prefix="hq-"))  # in the folder of the turn: it leaves two files per task
    with import_module("hyperqueue").LocalCluster() as local:
        local.start_worker(import_module("hyperqueue.cluster").WorkerConfig(cores=cpus))
        yield HyperQueueRunner(local.client())
