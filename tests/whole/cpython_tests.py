"""Runs CPython's own tests of executors against ours: a program, started by `test_cpython`.

The package `test` that is imported here is that of some CPython which has these tests installed.
What is about one implementation is left out: its threads, processes and queues, and the scripts
that make an executor by the name of its class in `concurrent.futures`.
"""

import sys
import threading
import unittest
from collections.abc import Set as AbstractSet
from importlib import import_module
from typing import Any

from rain.client import Client
from tests.support.modes import client_in

WORKERS = 5

CHOSEN = {
    "executor.ExecutorTest": None,
    "test_wait.WaitTests": None,
    "test_as_completed.AsCompletedTests": None,
    "test_shutdown.ExecutorShutdownTest": {
        "test_cancel_futures",
        "test_hang_gh94440",
        "test_hang_issue12364",
        "test_run_after_shutdown",
    },
    "test_process_pool.ProcessPoolExecutorTest": {"test_map_chunksize"},
    "test_init.InitializerMixin": None,
    "test_init.FailingInitializerMixin": None,
}
"""Where the tests stand, and those that are general; None for all."""

BESIDE_EACH_OTHER = {
    "test_first_exception",
    "test_first_exception_some_already_complete",
    "test_map_timeout",
}
"""Those in which a call ends while another one runs, which local mode does not have."""


def found(place: str) -> Any:
    """A class of tests; CPython had all of them in one module once."""
    module, _, name = place.rpartition(".")
    try:
        return getattr(import_module(f"test.test_concurrent_futures.{module}"), name)
    except ModuleNotFoundError:
        return getattr(import_module("test.test_concurrent_futures"), name, None)


def support(name: str) -> Any:
    return found(f"util.{name}")


def suite(client: Client, left_out: AbstractSet[str]) -> unittest.TestSuite:
    """The chosen tests, with executors of this client."""
    mixin, base = support("ExecutorMixin"), support("BaseTestCase")
    made = unittest.TestSuite()
    for place, chosen in CHOSEN.items():
        tests = found(place)
        if tests is None:
            raise SystemExit(f"this CPython has no {place}")
        namespace = {"executor_type": staticmethod(client.executor)}
        bases = (tests, base) if issubclass(tests, mixin) else (tests, mixin, base)
        case: Any = type(f"Our{tests.__name__}", bases, namespace)
        names = [name for name in dir(case) if name.startswith("test_") and name not in left_out]
        made.addTests(case(name) for name in names if chosen is None or name in chosen)
    return made


def main(mode: str) -> None:
    with client_in(mode, cpus=WORKERS) as client:
        left_out = BESIDE_EACH_OTHER if mode == "local" else frozenset[str]()
        # Every thread of the client runs before the first test looks for threads that are left.
        called = threading.Event()
        first = client.submit(int)
        first.add_done_callback(lambda _: called.set())
        called.wait()
        result = unittest.TextTestRunner(verbosity=2).run(suite(client, left_out))
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main(sys.argv[1])
