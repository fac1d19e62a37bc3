"""One cluster for all programs here, in each mode; each program has a session of its own."""

from collections.abc import Iterator

import pytest

from rain.client import Client, Session
from tests.support.modes import MODES, client_in


@pytest.fixture(scope="session", params=MODES)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    """A client with a server and two governors, which have two cpus each, or all in one process."""
    with client_in(request.param, cpus=2, governors=2) as made:
        yield made


@pytest.fixture
def session(client: Client) -> Iterator[Session]:
    """The active session of one program."""
    with client.new_session("compat") as made:
        yield made
