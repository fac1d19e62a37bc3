"""The threads of numerical libraries, in the process of an executor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rain.base import executor_protocol as protocol
from rain.base.thread_limits import THREAD_VARIABLES
from tests.executor.child import Child, child

pytestmark = pytest.mark.whole


def told(ctx: Any) -> tuple[str | None, str | None]:
    """What a library that is loaded now would find, and what a program would."""
    import os  # noqa: PLC0415 -- this runs in another process
    import subprocess  # noqa: PLC0415 -- as above

    line = 'printf %s "$OPENBLAS_NUM_THREADS"'
    shown = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=True)
    return os.environ.get("OMP_NUM_THREADS"), shown.stdout.decode() or None


def used(ctx: Any) -> set[int]:
    """How many threads the libraries that numpy has loaded use."""
    from importlib import import_module  # noqa: PLC0415 -- as above

    import_module("numpy")
    libraries = import_module("threadpoolctl").threadpool_info()
    return {library["num_threads"] for library in libraries}


def with_cpus(executor: Child, cpus: int, function: Any) -> Any:
    return executor.value(function, resources=[[protocol.CPUS, cpus]])


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("unset")
def test_a_call_finds_as_many_threads_as_it_has_cpus(tmp_path: Path) -> None:
    with child(tmp_path) as executor:
        for cpus, threads in ((1, "1"), (3, "3"), (0, "1")):
            assert with_cpus(executor, cpus, told) == (threads, threads)


@pytest.mark.usefixtures("unset")
def test_libraries_that_are_loaded_already_are_told_of_other_cpus(tmp_path: Path) -> None:
    with child(tmp_path) as executor:
        for cpus in (1, 3, 2):
            assert with_cpus(executor, cpus, used) <= {cpus}


@pytest.mark.usefixtures("unset")
def test_what_the_governor_was_started_with_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with child(tmp_path) as executor:
        assert with_cpus(executor, 1, told) == ("2", None)
        assert with_cpus(executor, 5, used) <= {2}
