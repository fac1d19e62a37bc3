"""Rain by its futures: plain functions, as users of Dask and of Ray call them."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import perf_counter

from attrs import frozen

from bench.functions import Function, inc
from bench.runners import CallOnce, ours
from bench.shapes import Shape
from rain.client import Client, Future


@frozen
class FuturesRunner:
    client: Client
    address: str = ""

    def run(self, shape: Shape) -> tuple[float, list[object]]:
        start = perf_counter()
        futures: list[Future[object]] = []
        for layer in shape.layers:
            function: Callable[..., object] = (
                _total if layer.function is Function.TOTAL else layer.function.function
            )
            rows = [[*call.numbers, *(futures[i] for i in call.needs)] for call in layer.calls]
            if len({len(row) for row in rows}) > 1:  # at the rims of a pattern
                futures += [self.client.submit(function, *row) for row in rows]
            else:
                futures += self.client.map(function, *zip(*rows, strict=True))
        results = self.client.gather([futures[i] for i in shape.results])
        return perf_counter() - start, results

    @contextmanager
    def calling(self) -> Generator[CallOnce, None, None]:
        yield lambda number: self.client.submit(inc, number).result()


def _total(*numbers: int) -> int:
    return sum(numbers)


@contextmanager
def cluster(cpus: int) -> Generator[FuturesRunner, None, None]:
    with ours.cluster(cpus) as runner:
        yield FuturesRunner(runner.client, runner.address)


@contextmanager
def connected(address: str) -> Generator[FuturesRunner, None, None]:
    with ours.connected(address) as runner:
        yield FuturesRunner(runner.client, address)
