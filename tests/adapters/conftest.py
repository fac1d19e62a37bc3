"""What tests of Dask and joblib share: a client, what runs their calls, the sizes of graphs."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from importlib import import_module
from typing import Any

import pytest

from rain.client import Client, register_joblib
from rain.client.for_joblib.backend import RainBackend
from rain.client.future import Future
from rain.client.futures.futures import Futures
from rain.client.task import Task
from tests.support.modes import MODES, client_in

dask: Any = import_module("dask")  # which is half annotated
joblib: Any = import_module("joblib")  # which is not annotated


@pytest.fixture(scope="module", params=MODES)
def client(request: pytest.FixtureRequest) -> Generator[Client]:
    with client_in(request.param, cpus=2) as client:
        yield client


@pytest.fixture
def scheduler(client: Client) -> Generator[Any]:
    """All that Dask computes in the test is computed by Rain."""
    scheduler: Any = client.dask
    with dask.config.set(scheduler=scheduler):
        yield scheduler


@pytest.fixture
def backend(client: Client) -> Generator[RainBackend]:
    """All that joblib calls in the test is called by Rain."""
    register_joblib()
    with joblib.parallel_config(backend="rain", client=client) as config:
        yield config["backend"]


@pytest.fixture
def puts(client: Client, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the client uploads with `put`."""
    seen: list[object] = []
    put = client.put

    def noting(value: Any, name: str = "value") -> Future[Any]:
        seen.append(value)
        return put(value, name)

    monkeypatch.setattr(client, "put", noting)
    return seen


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of how many tasks each graph is."""
    counts: list[int] = []
    run = Futures.run

    def counting(self: Futures, steps: Sequence[Task], wanted: Iterable[Task]) -> Any:
        counts.append(len(steps))
        return run(self, steps, wanted)

    monkeypatch.setattr(Futures, "run", counting)
    return counts
