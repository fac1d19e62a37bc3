"""Rain, as its users know it: remote functions, one session for each run.

`Client(cpus=n)` starts an embedded cluster, a server and a governor as
processes of their own, and stops it when the client is closed.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import perf_counter

from attrs import frozen

from bench.shapes import Function, Shape
from rain.client import Client, Output, Task, remote


def functions() -> dict[Function, Callable[..., Task]]:
    # Made in here, so that they travel by value: executors need not find this module.
    @remote(outputs=[Output(encode="pickle")], auto_load=True)
    def inc(ctx: object, number: int) -> int:
        return number + 1

    @remote(outputs=[Output(encode="pickle")], auto_load=True)
    def add(ctx: object, left: int, right: int) -> int:
        return left + right

    @remote(outputs=[Output(encode="pickle")], auto_load=True)
    def total(ctx: object, *numbers: int) -> int:
        return sum(numbers)

    return {Function.INC: inc, Function.ADD: add, Function.TOTAL: total}


@frozen
class RainRunner:
    client: Client
    functions: dict[Function, Callable[..., Task]]

    def run(self, shape: Shape) -> tuple[float, list[object]]:
        with self.client.new_session("bench") as session:
            # To describe the tasks is a part of the work, as it is for the peers.
            start = perf_counter()
            tasks: list[Task] = []
            for layer in shape.layers:
                function = self.functions[layer.function]
                for call in layer.calls:
                    tasks.append(function(*call.numbers, *(tasks[i] for i in call.needs)))
            wanted = [tasks[i].output for i in shape.results]
            for output in wanted:
                output.keep()
            session.submit()
            session.wait_all()
            results: list[object] = [output.fetch().load() for output in wanted]
            return perf_counter() - start, results


@contextmanager
def cluster(cpus: int) -> Generator[RainRunner, None, None]:
    with Client(cpus=cpus) as client:
        yield RainRunner(client, functions())
