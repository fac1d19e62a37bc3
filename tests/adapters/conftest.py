"""What tests of Dask's collections share: a client, Dask's scheduler, the sizes of graphs."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from importlib import import_module
from typing import Any

import pytest

from rain.client import Client
from rain.client.futures.futures import Futures
from rain.client.task import Task
from tests.support.modes import MODES, client_in

dask: Any = import_module("dask")  # which is half annotated


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
def counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of how many tasks each graph is."""
    counts: list[int] = []
    run = Futures.run

    def counting(self: Futures, steps: Sequence[Task], wanted: Iterable[Task]) -> Any:
        counts.append(len(steps))
        return run(self, steps, wanted)

    monkeypatch.setattr(Futures, "run", counting)
    return counts
