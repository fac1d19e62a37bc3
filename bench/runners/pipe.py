"""A pipe to a loop in one child process that calls functions: the lower bound of every latency.

Between Python processes nothing is faster than pickling a call, writing it, and reading the answer.
"""

from collections.abc import Generator
from contextlib import contextmanager
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

from attrs import frozen

from bench.functions import inc
from bench.runners import CallOnce
from bench.shapes import Shape


def _answer(pipe: "Connection[Any, Any]") -> None:
    """The loop of the child."""
    while (call := pipe.recv()) is not None:
        function, arguments = call
        pipe.send(function(*arguments))


@frozen
class PipeRunner:
    pipe: "Connection[Any, Any]"
    address: str = ""

    def run(self, shape: Shape) -> tuple[float, list[object]]:
        start = perf_counter()
        results: list[object] = []
        for layer in shape.layers:
            for call in layer.calls:
                arguments = (*call.numbers, *(results[i] for i in call.needs))
                self.pipe.send((layer.function.function, arguments))
                results.append(self.pipe.recv())
        return perf_counter() - start, [results[i] for i in shape.results]

    @contextmanager
    def calling(self) -> Generator[CallOnce, None, None]:
        def call(number: int) -> object:
            self.pipe.send((inc, (number,)))
            return self.pipe.recv()

        yield call


@contextmanager
def cluster(cpus: int) -> Generator[PipeRunner, None, None]:  # one child for any number of cpus
    ours, theirs = Pipe()
    child = Process(target=_answer, args=(theirs,))
    child.start()
    try:
        yield PipeRunner(ours)
    finally:
        ours.send(None)
        child.join()
        ours.close()
        theirs.close()
