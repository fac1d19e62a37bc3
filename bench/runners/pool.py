"""`concurrent.futures.ProcessPoolExecutor`: no graph, no cluster, no stored data.

It is the limit for independent tasks: on one machine, users would prefer it to any slower system.
"""

from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from time import perf_counter

from attrs import frozen

from bench.functions import inc
from bench.runners import CallOnce
from bench.shapes import Shape


@frozen
class PoolRunner:
    pool: ProcessPoolExecutor
    address: str = ""

    def run(self, shape: Shape) -> tuple[float, list[object]]:
        (layer,) = shape.layers
        start = perf_counter()
        columns = zip(*(call.numbers for call in layer.calls), strict=True)
        results = list(self.pool.map(layer.function.function, *columns, chunksize=1))
        return perf_counter() - start, [results[i] for i in shape.results]

    @contextmanager
    def calling(self) -> Generator[CallOnce, None, None]:
        yield lambda number: self.pool.submit(inc, number).result()


@contextmanager
def cluster(cpus: int) -> Generator[PoolRunner, None, None]:
    with ProcessPoolExecutor(cpus) as pool:
        yield PoolRunner(pool)
