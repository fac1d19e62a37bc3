"""Rain, as its users know it: remote functions, one session for each run.

An embedded cluster has a server and a governor as processes of their own.
"""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from inspect import Parameter, signature
from time import perf_counter

from attrs import Factory, frozen

from bench.functions import Function
from bench.runners import CallOnce
from bench.shapes import Shape
from rain.client import Client, Output, Task, remote
from rain.client.local import LocalCluster
from rain.client.tasks import Execute


def _task(function: Function) -> Callable[..., Task]:
    """The function as one that makes tasks, with the context before its arguments."""
    plain = function.function
    parameters = signature(plain).parameters.values()

    # Made in here, so that they travel by value and bring no import of this module with them.
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
            # To describe the tasks is a part of the work, as it is for the peers.
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

    @contextmanager
    def calling(self) -> Generator[CallOnce, None, None]:
        inc = self.task(Function.INC)
        with self.client.new_session("calls") as session:

            def call(number: int) -> object:
                return session.compute(inc(number)).load()

            yield call


@contextmanager
def cluster(cpus: int) -> Generator[RainRunner, None, None]:
    local = LocalCluster(cpus=cpus)
    # The programs of several clients find the secret there as well.
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
