"""Dask at its best settings for small tasks.

Worker processes of one thread each and no dashboard. Layers of several calls go
through `Client.map`, which is faster than as many single submits and than a
graph given to `Client.get`.
"""

from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from time import perf_counter
from typing import Protocol, cast

from attrs import frozen

from bench.shapes import Function, Shape


class _Client(Protocol):
    def submit(self, function: Callable[..., object], *arguments: object, pure: bool) -> object: ...

    def map(
        self, function: Callable[..., object], *arguments: Iterable[object], pure: bool
    ) -> list[object]: ...

    def gather(self, futures: list[object]) -> list[object]: ...


class _Distributed(Protocol):
    """The little that is used of it: Dask itself need not be installed to check this file."""

    def LocalCluster(  # noqa: N802 - Dask's name
        self, *, n_workers: int, threads_per_worker: int, processes: bool, dashboard_address: None
    ) -> AbstractContextManager[object]: ...

    def Client(self, cluster: object) -> AbstractContextManager[_Client]: ...  # noqa: N802


def functions() -> dict[Function, Callable[..., object]]:
    # Made in here, so that they travel by value: workers need not find this module.
    def inc(number: int) -> int:
        return number + 1

    def add(left: int, right: int) -> int:
        return left + right

    def total(numbers: list[int]) -> int:
        return sum(numbers)

    return {Function.INC: inc, Function.ADD: add, Function.TOTAL: total}


@frozen
class DaskRunner:
    client: _Client
    functions: dict[Function, Callable[..., object]]

    def run(self, shape: Shape) -> tuple[float, list[object]]:
        start = perf_counter()
        futures: list[object] = []
        for layer in shape.layers:
            function = self.functions[layer.function]
            rows: list[list[object]] = [
                [*call.numbers, *(futures[i] for i in call.needs)] for call in layer.calls
            ]
            if layer.function is Function.TOTAL:
                rows = [[row] for row in rows]
            if len(rows) == 1:
                futures.append(self.client.submit(function, *rows[0], pure=False))
            else:
                futures += self.client.map(function, *zip(*rows, strict=True), pure=False)
        results = self.client.gather([futures[i] for i in shape.results])
        return perf_counter() - start, results


@contextmanager
def cluster(cpus: int) -> Generator[DaskRunner, None, None]:
    distributed = cast("_Distributed", import_module("distributed"))
    with (
        distributed.LocalCluster(
            n_workers=cpus, threads_per_worker=1, processes=True, dashboard_address=None
        ) as local,
        distributed.Client(local) as client,
    ):
        yield DaskRunner(client, functions())
