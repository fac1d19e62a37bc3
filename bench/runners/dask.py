"""Dask with its best settings for small tasks.

Worker processes have one thread each, and there is no dashboard. Layers of several calls use
`Client.map`, which is faster than single submits and than a graph for `Client.get`.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from time import perf_counter
from typing import Protocol, cast

from attrs import frozen

from bench.functions import Function, inc
from bench.runners import CallOnce
from bench.shapes import Shape


class _Future(Protocol):
    def result(self) -> object: ...


class _Client(Protocol):
    def submit(
        self, function: Callable[..., object], *arguments: object, pure: bool
    ) -> _Future: ...

    def map(
        self, function: Callable[..., object], *arguments: Iterable[object], pure: bool
    ) -> Sequence[_Future]: ...

    def gather(self, futures: Sequence[_Future]) -> list[object]: ...


class _Cluster(Protocol):
    scheduler_address: str


class _Distributed(Protocol):
    """The used part of its API, so that this file can be type-checked without Dask."""

    def LocalCluster(  # noqa: N802 - Dask's name
        self, *, n_workers: int, threads_per_worker: int, processes: bool, dashboard_address: None
    ) -> AbstractContextManager[_Cluster]: ...

    def Client(self, cluster: object) -> AbstractContextManager[_Client]: ...  # noqa: N802


def _arguments(shape: Shape, futures: list[_Future], number: int) -> list[list[object]]:
    """The arguments of each call. A list of futures is cheaper for Dask than many arguments."""
    layer = shape.layers[number]
    rows: list[list[object]] = [
        [*call.numbers, *(futures[i] for i in call.needs)] for call in layer.calls
    ]
    return [[row] for row in rows] if layer.function is Function.TOTAL else rows


def _function(function: Function) -> Callable[..., object]:
    return sum if function is Function.TOTAL else function.function


@frozen
class DaskRunner:
    client: _Client
    address: str = ""

    def run(self, shape: Shape) -> tuple[float, list[object]]:
        start = perf_counter()
        futures: list[_Future] = []
        for number, layer in enumerate(shape.layers):
            function = _function(layer.function)
            rows = _arguments(shape, futures, number)
            if len({len(row) for row in rows}) > 1:  # at the edges of a pattern
                futures += [self.client.submit(function, *row, pure=False) for row in rows]
            elif len(rows) == 1:
                futures.append(self.client.submit(function, *rows[0], pure=False))
            else:
                futures += self.client.map(function, *zip(*rows, strict=True), pure=False)
        results = self.client.gather([futures[i] for i in shape.results])
        return perf_counter() - start, results

    @contextmanager
    def calling(self) -> Generator[CallOnce, None, None]:
        yield lambda number: self.client.submit(inc, number, pure=False).result()


@contextmanager
def cluster(cpus: int) -> Generator[DaskRunner, None, None]:
    distributed = cast("_Distributed", import_module("distributed"))
    with (
        distributed.LocalCluster(
            n_workers=cpus, threads_per_worker=1, processes=True, dashboard_address=None
        ) as local,
        distributed.Client(local) as client,
    ):
        yield DaskRunner(client, local.scheduler_address)


@contextmanager
def connected(address: str) -> Generator[DaskRunner, None, None]:
    distributed = cast("_Distributed", import_module("distributed"))
    with distributed.Client(address) as client:
        yield DaskRunner(client, address)
