"""joblib and scikit-learn: on a real cluster, and in local mode."""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rain.client import Client, register_joblib
from rain.client.for_joblib.backend import RainBackend
from rain.client.futures.sending import CallSender
from tests.adapters.joblib_calls import call, parallel
from tests.support.modes import in_processes

joblib: Any = import_module("joblib")  # which is not annotated

pytestmark = pytest.mark.whole


def square(x: int) -> int:
    return x * x


def process(_: object) -> int:
    return os.getpid()


def fails_at(bad: int, x: int) -> int:
    if x == bad:
        raise KeyError(x)
    return x


def hangs() -> None:
    while True:  # in local mode a call is interrupted at its next line
        time.sleep(0.01)


def waits_for(mark: Path) -> str:
    while not mark.exists():
        time.sleep(0.01)
    return "found"


class _NoSleep:
    """Notes who sleeps, in the place of the module `time`."""

    time = staticmethod(time.time)

    def __init__(self, sleeps: list[float]) -> None:
        self.sleep = sleeps.append


def fails_once(mark: Path) -> str:
    if mark.exists():
        return "the second try"
    mark.touch()
    raise ValueError("the first try")


def inner(n_jobs: int) -> list[int]:
    """The processes and threads of a `Parallel` inside of a call."""
    threads = parallel((joblib.delayed(threading.get_ident)() for _ in range(4)), n_jobs=n_jobs)
    return [*threads, threading.get_ident()]


def test_a_thousand_short_calls_run_in_batches(
    backend: RainBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted: list[int] = []
    submit = backend.submit

    def counted(func: Any, callback: Any = None) -> Any:
        submitted.append(len(func.items))
        return submit(func, callback)

    monkeypatch.setattr(backend, "submit", counted)

    assert parallel(call(square, x) for x in range(1000)) == [x * x for x in range(1000)]
    assert sum(submitted) == 1000
    assert len(submitted) < 500


@in_processes
def test_a_batch_does_not_wait_for_the_thread_that_gathers_calls(
    backend: RainBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asleep(_: CallSender) -> None:
        pass

    monkeypatch.setattr(CallSender, "soon", asleep)

    assert parallel((call(square, x) for x in range(20)), timeout=60) == [x * x for x in range(20)]


@in_processes
def test_calls_run_in_processes_of_the_cluster(backend: RainBackend) -> None:
    assert os.getpid() not in parallel(call(process, x) for x in range(4))


def test_a_local_function_can_be_called(backend: RainBackend) -> None:
    offset = 5

    def local(x: int) -> int:
        return x + offset

    assert parallel(call(local, x) for x in range(3)) == [5, 6, 7]


def test_minus_one_job_means_all_cpus_of_the_cluster(backend: RainBackend) -> None:
    assert joblib.effective_n_jobs(-1) == 2
    assert joblib.effective_n_jobs(7) == 7
    with pytest.raises(ValueError, match="no meaning"):
        joblib.effective_n_jobs(0)


def test_an_exception_has_its_type_and_what_remains_is_cancelled(backend: RainBackend) -> None:
    with pytest.raises(KeyError, match="7") as raised:
        parallel(call(fails_at, 7, x) for x in range(100))

    assert "in fails_at" in str(raised.value.__cause__)  # where it was raised, over there
    assert parallel(call(fails_at, -1, x) for x in range(3)) == [0, 1, 2]


def test_the_error_of_a_late_batch_names_the_line_that_has_called_joblib(
    backend: RainBackend,
) -> None:
    with pytest.raises(KeyError) as raised:
        parallel(call(fails_at, 99, x) for x in range(100))

    _, created = str(raised.value.__cause__).split("Task created at:")
    assert "test_joblib.py" in created
    assert "joblib/parallel.py" not in created


def test_results_come_as_they_get_done(backend: RainBackend) -> None:
    calls = (call(square, x) for x in range(20))
    results = parallel(calls, return_as="generator_unordered")

    assert sorted(results) == [x * x for x in range(20)]


def test_results_are_awaited_and_not_looked_for_from_time_to_time(
    backend: RainBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []
    monkeypatch.setattr(joblib.parallel, "time", _NoSleep(looks))

    assert parallel(call(square, x) for x in range(100)) == [x * x for x in range(100)]
    with pytest.raises(KeyError):
        parallel(call(fails_at, 7, x) for x in range(100))

    assert not looks


@in_processes
def test_an_error_is_raised_while_other_calls_run(backend: RainBackend) -> None:
    with pytest.raises(KeyError):
        parallel([call(hangs), call(fails_at, 1, 1)])


@in_processes
def test_a_parallel_does_not_wait_for_another_one_that_goes_on(
    backend: RainBackend, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    others = parallel([call(square, 3), call(waits_for, mark)], return_as="generator")
    assert next(others) == 9

    assert parallel(call(square, x) for x in range(3)) == [0, 1, 4]

    mark.touch()
    assert next(others) == "found"


def test_the_error_of_a_parallel_leaves_another_one_alone(backend: RainBackend) -> None:
    others = parallel((call(square, x) for x in range(20)), return_as="generator")
    assert next(others) == 0

    with pytest.raises(KeyError):
        parallel(call(fails_at, 7, x) for x in range(10))

    assert list(others) == [x * x for x in range(1, 20)]


@pytest.mark.parametrize("place", [0, 30])
def test_an_argument_that_cannot_be_sent_is_an_error_also_in_a_late_batch(
    backend: RainBackend, place: int
) -> None:
    arguments = [threading.Lock() if x == place else x for x in range(100)]

    with pytest.raises(TypeError, match=r"cannot pickle '_thread\.lock'") as raised:
        parallel((call(repr, x) for x in arguments), timeout=60)

    assert "A call of repr cannot be sent: its arguments[0] is a lock" in raised.value.__notes__[0]


def test_a_call_that_takes_too_long_raises_a_timeout(backend: RainBackend) -> None:
    with pytest.raises(multiprocessing.TimeoutError):
        parallel([call(hangs)], timeout=0.1)

    assert parallel(call(square, x) for x in range(3)) == [0, 1, 4]  # the cpus are free again


def test_a_future_among_the_arguments_is_its_value(client: Client, backend: RainBackend) -> None:
    nine = client.submit(square, 3)

    assert parallel(call(square, nine) for _ in range(2)) == [81, 81]


def test_a_parallel_inside_of_a_call_uses_the_thread_of_the_call(backend: RainBackend) -> None:
    for threads in parallel(call(inner, 2) for _ in range(2)):
        assert len(set(threads)) == 1


def _cluster_of(_: int) -> str:
    return os.environ["RAIN_SERVER"]


def _clusters_of_a_parallel(count: int) -> list[str]:
    joblib: Any = import_module("joblib")  # in a process that has loaded nothing else
    found: list[str] = joblib.Parallel(n_jobs=2, backend="rain")(
        joblib.delayed(_cluster_of)(number) for number in range(count)
    )
    return found


def test_a_parallel_in_a_task_uses_the_cluster_of_the_task_and_lends_it_its_only_cpu() -> None:
    with Client(cpus=1) as client:
        clusters = client.submit(_clusters_of_a_parallel, 3).result(timeout=60)

        assert clusters == [client.address] * 3


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(TypeError, match=r"and 'localhost' is none: write client=Client\("):
        joblib.parallel_config(backend="rain", client="localhost")


def test_options_of_the_backend_are_those_of_its_calls(client: Client, tmp_path: Path) -> None:
    with joblib.parallel_config(backend="rain", client=client, tries=2):
        assert parallel([call(fails_once, tmp_path / "mark")]) == ["the second try"]


def test_a_grid_search_finds_what_it_finds_without_a_cluster(
    backend: RainBackend, puts: list[object]
) -> None:
    search: Any = import_module("sklearn.model_selection").GridSearchCV
    machine: Any = import_module("sklearn.svm").SVC
    data, target = import_module("sklearn.datasets").load_iris(return_X_y=True)
    grid = {"C": [0.1, 1, 10], "gamma": [0.01, 0.1]}

    here = search(machine(), grid, cv=3, n_jobs=1).fit(data, target)
    there = search(machine(), grid, cv=3).fit(data, target)

    assert there.best_params_ == here.best_params_
    assert np.array_equal(there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])


def test_without_a_client_the_backend_has_a_cluster_of_its_own_and_ends_it() -> None:
    register_joblib()
    before = set(threading.enumerate())

    with joblib.parallel_config(backend="rain"):
        assert parallel(call(square, x) for x in range(3)) == [0, 1, 4]
        (housekeeper,) = {
            thread
            for thread in set(threading.enumerate()) - before
            if thread.name == "rain-client-housekeeper"
        }
    gc.collect()

    housekeeper.join(60)
    assert not housekeeper.is_alive()


@pytest.mark.parametrize("imports", ["import joblib, rain.client", "import rain.client, joblib"])
def test_the_backend_is_known_whichever_was_imported_first(imports: str) -> None:
    script = (
        f"{imports}; print('rain' in joblib.parallel.BACKENDS, type(joblib.__loader__).__name__)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.stdout, ran.stderr) == ("True SourceFileLoader\n", "")
