"""Rain as users use it: remote functions, one session for each run.

The embedded cluster has a server and a governor in one process.
"""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from inspect import Parameter, signature
from time import perf_counter

from attrs import Factory, frozen

from bench.functions import Function, inc
from bench.runners import CallOnce
from bench.shapes import Shape
from rain.client import Client, Output, Task, get_client, remote
from rain.client.local import LocalCluster
from rain.client.tasks import Execute


def _task(function: Function) -> Callable[..., Task]:
    """Makes a remote function of the function, with the context as first argument."""
    plain = function.function
    parameters = signature(plain).parameters.values()

    # Defined here, so that they are pickled by value without importing this module.
    def of_one(ctx: object, one: object) -> object:
        return plain(one)

    def of_two(ctx: object, one: object, two: object) -> object:
        return plain(one, two)

    def of_any(ctx: object, *arguments: object) -> object:
        return plain(*arguments)

    several = any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters)
    of_so_many: dict[int, Callable[..., object]] = {1: of_one, 2: of_two}
    calling = of_any if several else of_so_many.get(len(parameters), of_any)
    return remote(outputs=[Output(encode="pickle")], auto_load=True, name=function.value)(calling)


# Executors import this module for them, as users' programs are imported.
def tree(depth: int) -> int:
    """Submits two trees and waits for both; returns the number of calls."""
    if depth == 0:
        return 1
    client = get_client()
    left, right = client.submit(tree, depth - 1), client.submit(tree, depth - 1)
    return 1 + left.result() + right.result()


def fan(calls: int) -> int:
    """Submits this many calls and waits for all; returns their number."""
    client = get_client()
    return len(client.gather(client.map(inc, range(calls))))


@frozen
class RainRunner:
    client: Client
    address: str = ""
    _tasks: dict[Function, Callable[..., Task]] = Factory(dict)

    def task(self, function: Function) -> Callable[..., Task]:
        if function not in self._tasks:
            self._tasks[function] = _task(function)
        return self._tasks[function]

    def run(self, shape: Shape) -> tuple[float, list[object]]:
        with self.client.new_session("bench") as session:
            # Describing the tasks is part of the measured work, as for the peers.
            start = perf_counter()
            tasks: list[Task] = []
            for layer in shape.layers:
                function = self.task(layer.function)
                for call in layer.calls:
                    tasks.append(function(*call.numbers, *(tasks[i] for i in call.needs)))
            wanted = [tasks[i].output for i in shape.results]
            for output in wanted:
                output.keep()
            session.submit(fuse=shape.fused)
            session.wait_all()
            results: list[object] = [output.fetch().load() for output in wanted]
            return perf_counter() - start, results

    def run_programs(self, count: int) -> float:
        with self.client.new_session("programs") as session:
            start = perf_counter()
            for _ in range(count):
                Execute(["true"])
            session.submit()
            session.wait_all()
            return perf_counter() - start

    def run_tree(self, depth: int) -> int:
        return self.client.submit(tree, depth).result()

    def run_fan(self, calls: int) -> int:
        return self.client.submit(fan, calls).result()

    @contextmanager
    def calling(self) -> Generator[CallOnce, None, None]:
        add_one = self.task(Function.INC)
        with self.client.new_session("calls") as session:

            def call(number: int) -> object:
                return session.compute(add_one(number)).load()

            yield call


@contextmanager
def cluster(cpus: int) -> Generator[RainRunner, None, None]:
    local = LocalCluster(cpus=cpus)
    # Other client programs read the secret from there too.
    os.environ["RAIN_SECRET_FILE"] = str(local.secret_file)
    try:
        with Client(local.host, local.port) as client:
            yield RainRunner(client, f"{local.host}:{local.port}")
    finally:
        local.close()


@contextmanager
def connected(address: str) -> Generator[RainRunner, None, None]:
    host, _, port = address.rpartition(":")
    with Client(host, port) as client:
        yield RainRunner(client, address)
