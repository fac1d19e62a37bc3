"""The fixture `rain_client` for tests of users; pytest loads this wherever Rain is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rain.client import Client


@pytest.fixture
def rain_client() -> Iterator[Client]:
    """A client in local mode: calls run in this process, one after the other."""
    from rain.client import Client  # noqa: PLC0415 # most runs of pytest use no Rain

    with Client(local=True) as client:
        yield client
