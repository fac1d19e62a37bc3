"""Ray at its best settings for small tasks: no dashboard, no logs to the driver."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from time import perf_counter
from typing import Protocol, cast

from attrs import frozen

from bench.shapes import Function, Shape


class _RemoteFunction(Protocol):
    def remote(self, *arguments: object) -> object: ...


class _Ray(Protocol):
    """The little that is used of it: Ray itself need not be installed to check this file."""

    def init(
        self, *, num_cpus: int, include_dashboard: bool, log_to_driver: bool, logging_level: str
    ) -> object: ...

    def remote(self, function: Callable[..., object]) -> _RemoteFunction: ...

    def get(self, references: list[object]) -> list[object]: ...

    def shutdown(self) -> None: ...


def functions(ray: _Ray) -> dict[Function, _RemoteFunction]:
    # Made in here, so that they travel by value: workers need not find this module.
    def inc(number: int) -> int:
        return number + 1

    def add(left: int, right: int) -> int:
        return left + right

    def total(*numbers: int) -> int:
        return sum(numbers)

    return {
        Function.INC: ray.remote(inc),
        Function.ADD: ray.remote(add),
        Function.TOTAL: ray.remote(total),
    }


@frozen
class RayRunner:
    ray: _Ray
    functions: dict[Function, _RemoteFunction]

    def run(self, shape: Shape) -> tuple[float, list[object]]:
        start = perf_counter()
        references: list[object] = []
        for layer in shape.layers:
            function = self.functions[layer.function]
            # Arguments are looked up among the layers before, never in this one.
            references += [
                function.remote(*call.numbers, *(references[i] for i in call.needs))
                for call in layer.calls
            ]
        results = self.ray.get([references[i] for i in shape.results])
        return perf_counter() - start, results


@contextmanager
def cluster(cpus: int) -> Generator[RayRunner, None, None]:
    ray = cast("_Ray", import_module("ray"))
    ray.init(num_cpus=cpus, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        yield RayRunner(ray, functions(ray))
    finally:
        ray.shutdown()
