"""Ray with its best settings for small tasks: no dashboard, no logs to the driver."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from time import perf_counter
from typing import Protocol, cast

from attrs import Factory, frozen

from bench.functions import Function, inc
from bench.runners import CallOnce
from bench.shapes import Shape


class _RemoteFunction(Protocol):
    def remote(self, *arguments: object) -> object: ...


class _Context(Protocol):
    @property
    def gcs_address(self) -> str: ...


class _Ray(Protocol):
    """The used part of its API, so that this file can be type-checked without Ray."""

    def init(
        self,
        *,
        address: str | None = None,
        num_cpus: int | None = None,
        include_dashboard: bool | None = None,
        log_to_driver: bool,
        logging_level: str,
    ) -> object: ...

    def remote(self, function: Callable[..., object]) -> _RemoteFunction: ...

    def get(self, references: object) -> object: ...

    def get_runtime_context(self) -> _Context: ...

    def shutdown(self) -> None: ...


def _ray() -> _Ray:
    return cast("_Ray", import_module("ray"))


@cache  # as with a decorator, each process makes a remote function once
def _remote(function: Callable[..., object]) -> _RemoteFunction:
    return _ray().remote(function)


def tree(depth: int) -> int:
    """Submits two trees and waits for both; returns the number of calls."""
    if depth == 0:
        return 1
    ray, again = _ray(), _remote(tree)
    left, right = again.remote(depth - 1), again.remote(depth - 1)
    return 1 + cast("int", ray.get(left)) + cast("int", ray.get(right))


def fan(calls: int) -> int:
    """Submits this many calls and waits for all; returns their number."""
    ray, one = _ray(), _remote(inc)
    return len(cast("list[int]", ray.get([one.remote(number) for number in range(calls)])))


@frozen
class RayRunner:
    ray: _Ray
    address: str = ""
    _remotes: dict[Function, _RemoteFunction] = Factory(dict)

    def remote(self, function: Function) -> _RemoteFunction:
        if function not in self._remotes:
            self._remotes[function] = self.ray.remote(function.function)
        return self._remotes[function]

    def run(self, shape: Shape) -> tuple[float, list[object]]:
        start = perf_counter()
        references: list[object] = []
        for layer in shape.layers:
            function = self.remote(layer.function)
            # Arguments come from earlier layers, never from this one.
            references += [
                function.remote(*call.numbers, *(references[i] for i in call.needs))
                for call in layer.calls
            ]
        results = self.ray.get([references[i] for i in shape.results])
        return perf_counter() - start, cast("list[object]", results)

    def run_tree(self, depth: int) -> int:
        return cast("int", self.ray.get(_remote(tree).remote(depth)))

    def run_fan(self, calls: int) -> int:
        return cast("int", self.ray.get(_remote(fan).remote(calls)))

    @contextmanager
    def calling(self) -> Generator[CallOnce, None, None]:
        add_one = self.remote(Function.INC)
        yield lambda number: self.ray.get(add_one.remote(number))


@contextmanager
def cluster(cpus: int) -> Generator[RayRunner, None, None]:
    ray = _ray()
    ray.init(num_cpus=cpus, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        yield RayRunner(ray, ray.get_runtime_context().gcs_address)
    finally:
        ray.shutdown()


@contextmanager
def connected(address: str) -> Generator[RayRunner, None, None]:
    ray = _ray()
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    try:
        yield RayRunner(ray, address)
    finally:
        ray.shutdown()
