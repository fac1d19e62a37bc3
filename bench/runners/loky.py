"""joblib's own processes: no server, no graphs, one machine."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager

from attrs import frozen

from bench.runners import CallOnce
from bench.shapes import Shape


@frozen
class LokyRunner:
    address: str = ""

    def run(self, shape: Shape) -> tuple[float, list[object]]:
        raise NotImplementedError("only calls of joblib")

    def calling(self) -> AbstractContextManager[CallOnce]:
        raise NotImplementedError("only calls of joblib")


@contextmanager
def cluster(cpus: int) -> Generator[LokyRunner, None, None]:
    del cpus  # joblib is told how many jobs there are where it is called
    yield LokyRunner()
