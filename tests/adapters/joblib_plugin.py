"""Lets joblib's own tests run their calls on a cluster: a plugin for the pytest that runs them.

joblib's tests name its backends, so "loky" stands for ours here, and the last line of the output
says how many batches it has run.
"""

# joblib is not annotated, and what pyright guesses of its base classes is wrong.
# pyright: reportIncompatibleMethodOverride=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import pytest
from joblib import parallel

from rain.client import Client
from rain.client.for_joblib.backend import RainBackend

_run: list[int] = []
_clients: list[Client] = []


class InPlaceOfLoky(RainBackend):
    """One cluster for all tests, which starts with the first call."""

    def __init__(self, nesting_level: int | None = None, **options: Any) -> None:
        if not _clients:
            _clients.append(Client(cpus=2))
        super().__init__(nesting_level=nesting_level, client=_clients[0])

    def submit(self, func: Any, callback: Any = None) -> Any:
        _run.append(1)
        return super().submit(func, callback)


backends: dict[str, Any] = parallel.BACKENDS
backends["loky"] = InPlaceOfLoky


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for client in _clients:
        client.close()
    terminalreporter.write_line(f"run on the cluster: {len(_run)} batches")
