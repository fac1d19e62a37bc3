"""How each system runs calls, with what its documentation offers against lost processes."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any

from attrs import frozen

from bench.soak.beside.works import Caller
from rain.client import Client

RETRIES = 1000
"""How often a call may be tried again: more often than a soak can cost it."""


@frozen
class RainCaller:
    client: Client

    def submit(self, function: Callable[..., object], *arguments: object) -> object:
        return self.client.submit(function, *arguments)

    def result(self, call: Any) -> object:
        return call.result()


@frozen
class DaskCaller:
    client: Any

    def submit(self, function: Callable[..., object], *arguments: object) -> object:
        return self.client.submit(function, *arguments, retries=RETRIES, pure=False)

    def result(self, call: Any) -> object:
        return call.result()


@frozen
class RayCaller:
    ray: Any

    def submit(self, function: Callable[..., object], *arguments: object) -> object:
        options = self.ray.remote(num_cpus=1, max_retries=-1)  # without end
        return options(function).remote(*arguments)

    def result(self, call: Any) -> object:
        return self.ray.get(call)


@contextmanager
def of_rain(address: str) -> Generator[Caller, None, None]:
    host, _, port = address.rpartition(":")
    with Client(host, int(port)) as client:
        yield RainCaller(client)


@contextmanager
def of_dask(address: str) -> Generator[Caller, None, None]:
    distributed: Any = import_module("distributed")
    with distributed.Client(address) as client:
        yield DaskCaller(client)


@contextmanager
def of_ray(address: str) -> Generator[Caller, None, None]:
    ray: Any = import_module("ray")
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    try:
        yield RayCaller(ray)
    finally:
        ray.shutdown()


CALLERS: dict[str, Callable[[str], AbstractContextManager[Caller]]] = {
    "rain": of_rain,
    "dask": of_dask,
    "ray": of_ray,
}
"""A client of each system, connected to an address."""
