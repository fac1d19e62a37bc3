"""Lets Dask's own tests compute on a cluster: a plugin for the pytest that runs them.

Dask's tests name schedulers themselves, mostly "sync". So the names stand for ours here, and the
last line of the output says how many graphs it has computed.
"""

from collections.abc import Generator
from typing import Any

import pytest
from dask import base, config

from rain.client import Client

REPLACED = ("sync", "synchronous", "single-threaded", "threads", "threading", "processes")

_computed: list[int] = []


@pytest.fixture(scope="session", autouse=True)
def cluster() -> Generator[None]:
    schedulers: dict[str, Any] = base.named_schedulers
    with Client(cpus=2) as client, pytest.MonkeyPatch.context() as patch:

        def counted(dsk: Any, keys: Any, **options: Any) -> Any:
            _computed.append(1)
            return client.dask(dsk, keys, **options)

        for name in REPLACED:
            patch.setitem(schedulers, name, counted)
        with config.set(scheduler=counted):
            yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"computed on the cluster: {len(_computed)} graphs")
