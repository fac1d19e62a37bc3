"""What users do without Rain's own language: futures, joblib, Dask's collections. Each in seconds.

Each function computes the same on every system that has it, and checks its answer. What is Dask's
or joblib's is used as their users write it; only the scheduler or the backend is another one.
"""

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from queue import SimpleQueue
from statistics import median
from time import perf_counter
from typing import Any, TypeAlias, cast

from bench.functions import Function, inc
from bench.runners import Runner
from bench.runners.dask import DaskRunner
from bench.runners.ours import RainRunner
from bench.runners.ray import RayRunner
from bench.shapes import WrongAnswer

Door: TypeAlias = Callable[[Any, int], float]
"""Gets the runner of a system and a size, and gives seconds."""

EDGE = 250
"""The edge of a chunk of the array, which has half a megabyte."""

ROWS_OF_A_PARTITION = 10_000
KEYS = 1_000


def check(answer: object, expected: object) -> None:
    if answer != expected:
        raise WrongAnswer(f"{answer!r} instead of {expected!r}")


# Futures.


def map_ours(runner: RainRunner, calls: int) -> float:
    return _mapped(calls, lambda: runner.client.gather(runner.client.map(inc, range(calls))))


def map_dask(runner: DaskRunner, calls: int) -> float:
    client = runner.client
    return _mapped(calls, lambda: client.gather(client.map(inc, range(calls), pure=False)))


def map_ray(runner: RayRunner, calls: int) -> float:
    remote = runner.remote(Function.INC)
    get = runner.ray.get
    return _mapped(calls, lambda: get([remote.remote(number) for number in range(calls)]))


def _mapped(calls: int, compute: Callable[[], object]) -> float:
    start = perf_counter()
    results = cast("Iterable[int]", compute())
    seconds = perf_counter() - start
    check(sum(results), calls * (calls + 1) // 2)
    return seconds


def single(runner: Runner, rounds: int) -> float:
    """The median of single calls, one after the other."""
    samples: list[float] = []
    with runner.calling() as call:
        for number in range(rounds):
            start = perf_counter()
            answer = call(number)
            samples.append(perf_counter() - start)
            check(answer, number + 1)
    return median(samples)


def single_future(runner: RainRunner, rounds: int) -> float:
    samples: list[float] = []
    for number in range(rounds):
        start = perf_counter()
        answer = runner.client.submit(inc, number).result()
        samples.append(perf_counter() - start)
        check(answer, number + 1)
    return median(samples)


def one_by_one(runner: RainRunner, calls: int) -> float:
    """All futures as they are done."""
    as_completed = import_module("rain.client").as_completed
    start = perf_counter()
    futures = runner.client.map(inc, range(calls))
    total = sum(future.result() for future in as_completed(futures))
    seconds = perf_counter() - start
    check(total, calls * (calls + 1) // 2)
    return seconds


def all_at_once(runner: RainRunner, calls: int) -> float:
    """The same with a single wait."""
    start = perf_counter()
    futures = runner.client.map(inc, range(calls))
    runner.client.wait(futures)
    total = sum(future.result() for future in futures)
    seconds = perf_counter() - start
    check(total, calls * (calls + 1) // 2)
    return seconds


def callback(runner: RainRunner, rounds: int) -> float:
    """From the moment at which `result()` has returned to the callback: nine of ten are not slower.

    It is 0 where the callback came first, since another thread calls it.
    """
    delays: list[float] = []
    for number in range(rounds):
        called: SimpleQueue[float] = SimpleQueue()
        future = runner.client.submit(inc, number)
        future.add_done_callback(lambda _, called=called: called.put(perf_counter()))  # type: ignore[misc] # mypy cannot infer a lambda's default
        answer = future.result()
        told = perf_counter()
        check(answer, number + 1)
        delays.append(max(called.get() - told, 0.0))
    return sorted(delays)[len(delays) * 9 // 10]


# joblib.


def joblib_ours(runner: RainRunner, calls: int) -> float:
    import_module("rain.client").register_joblib()
    return _joblib(calls, backend="rain", client=runner.client)


def joblib_dask(runner: DaskRunner, calls: int) -> float:
    del runner  # its backend finds the client of the process
    return _joblib(calls, backend="dask")


def joblib_loky(runner: object, calls: int) -> float:
    del runner
    return _joblib(calls, backend="loky", n_jobs=2)


def _joblib(calls: int, **config: object) -> float:
    joblib = import_module("joblib")
    with joblib.parallel_config(**config):
        joblib.Parallel()(joblib.delayed(inc)(number) for number in range(100))  # workers start
        start = perf_counter()
        results = joblib.Parallel()(joblib.delayed(inc)(number) for number in range(calls))
        seconds = perf_counter() - start
    check(sum(results), calls * (calls + 1) // 2)
    return seconds


# Dask's collections.


def array_ours(runner: RainRunner, chunks: int) -> float:
    return _array(chunks, scheduler=runner.client.dask)


def array_dask(runner: DaskRunner, chunks: int) -> float:
    return _array(chunks, scheduler=_get(runner))


def _array(chunks: int, scheduler: object) -> float:
    edge = round(chunks**0.5)
    x = import_module("dask.array").ones((edge * EDGE, edge * EDGE), chunks=(EDGE, EDGE))
    start = perf_counter()
    answer = (x + x.T).sum().compute(scheduler=scheduler)
    seconds = perf_counter() - start
    check(float(answer), 2.0 * (edge * EDGE) ** 2)
    return seconds


def groupby_ours(runner: RainRunner, parts: int) -> float:
    return _groupby(parts, scheduler=runner.client.dask)


def groupby_dask(runner: DaskRunner, parts: int) -> float:
    return _groupby(parts, scheduler=_get(runner))


def _groupby(parts: int, scheduler: object) -> float:
    """The sums of many keys of a data frame, over partitions of the result, too."""
    dask, frames = import_module("dask"), import_module("dask.dataframe")
    numpy, pandas = import_module("numpy"), import_module("pandas")
    rows = numpy.arange(parts * ROWS_OF_A_PARTITION)
    frame = frames.from_pandas(
        pandas.DataFrame({"key": rows % KEYS, "value": rows}), npartitions=parts
    )
    with dask.config.set({"dataframe.shuffle.method": "tasks"}):
        sums = frame.groupby("key").value.sum(split_out=8)
        start = perf_counter()
        answer = sums.compute(scheduler=scheduler)
        seconds = perf_counter() - start
    check((len(answer), int(answer.sum())), (KEYS, int(rows.sum())))
    return seconds


def _get(runner: DaskRunner) -> object:
    return cast("Any", runner.client).get


DOORS: Sequence[tuple[str, dict[str, Door]]] = (
    ("map and gather", {"rain": map_ours, "dask": map_dask, "ray": map_ray}),
    ("submit and result, p50", {"rain": single_future, "dask": single, "ray": single}),
    ("joblib", {"rain": joblib_ours, "dask": joblib_dask, "loky": joblib_loky}),
    ("array (x + x.T).sum()", {"rain": array_ours, "dask": array_dask}),
    ("groupby of a data frame", {"rain": groupby_ours, "dask": groupby_dask}),
    ("as_completed", {"rain": one_by_one}),
    ("wait for all", {"rain": all_at_once}),
    ("callback, p90", {"rain": callback}),
)
"""What is measured, and how by each system that has it."""
