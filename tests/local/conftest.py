"""What tests of local mode share."""

from collections.abc import Iterator

import pytest

from rain.client import Client


@pytest.fixture
def client() -> Iterator[Client]:
    with Client(local=True) as made:
        yield made
