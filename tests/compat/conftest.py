"""One cluster of two governors for all programs here; each program has a session of its own."""

from collections.abc import Iterator

import pytest

from rain.client import Client, Session


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    """A client with a server and two governors, which have two cpus each."""
    with Client(cpus=2, governors=2) as made:
        yield made


@pytest.fixture
def session(client: Client) -> Iterator[Session]:
    """The active session of one program."""
    with client.new_session("compat") as made:
        yield made
