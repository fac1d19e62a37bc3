"""Parsl with its HighThroughputExecutor, which is the one for clusters.

One block of workers on this machine without encryption, logs and scaling, and with prefetching, so
that a worker need not request each task.
"""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from tempfile import mkdtemp
from time import perf_counter
from typing import Any, Protocol, cast

from attrs import Factory, frozen

from bench.functions import Function
from bench.runners import CallOnce
from bench.shapes import Shape


class _Future(Protocol):
    def result(self) -> object: ...


_PARTS = "parsl.executors.high_throughput"

_App = Callable[..., _Future]
_PythonApp = Callable[[Callable[..., object]], _App]


@frozen
class ParslRunner:
    python_app: _PythonApp
    address: str = ""  # its workers serve only the program that started them
    _apps: dict[Function, _App] = Factory(dict)

    def app(self, function: Function) -> _App:
        if function not in self._apps:
            self._apps[function] = self.python_app(function.function)
        return self._apps[function]

    def run(self, shape: Shape) -> tuple[float, list[object]]:
        start = perf_counter()
        futures: list[_Future] = []
        for layer in shape.layers:
            app = self.app(layer.function)
            futures += [
                app(*call.numbers, *(futures[i] for i in call.needs)) for call in layer.calls
            ]
        results = [futures[i].result() for i in shape.results]
        return perf_counter() - start, results

    @contextmanager
    def calling(self) -> Generator[CallOnce, None, None]:
        inc = self.app(Function.INC)
        yield lambda number: inc(number).result()


@contextmanager
def cluster(cpus: int) -> Generator[ParslRunner, None, None]:
    parsl: Any = import_module("parsl")
    executors: Any = import_module("parsl.executors")
    providers: Any = import_module("parsl.providers")
    config: Any = import_module("parsl.config")
    htex: Any = import_module("parsl.executors.high_throughput.executor")
    workers = executors.HighThroughputExecutor(
        label="bench",
        # By module, because its scripts are on PATH only in an activated environment.
        interchange_launch_cmd=[sys.executable, "-m", f"{_PARTS}.interchange"],
        launch_cmd=htex.DEFAULT_LAUNCH_CMD.replace(
            "process_worker_pool.py", f"{sys.executable} -m {_PARTS}.process_worker_pool"
        ),
        address="127.0.0.1",
        cores_per_worker=1,
        max_workers_per_node=cpus,
        prefetch_capacity=cpus,
        encrypted=False,
        provider=providers.LocalProvider(init_blocks=1, min_blocks=1, max_blocks=1),
    )
    with parsl.load(
        config.Config(
            executors=[workers],
            strategy="none",
            run_dir=mkdtemp(prefix="parsl-"),  # in the folder of the turn
            initialize_logging=False,
            usage_tracking=0,
        )
    ):
        yield ParslRunner(cast("_PythonApp", parsl.python_app))
