"""Worlds for the tests of the client; none of them starts a process."""

from collections.abc import Iterator

import pytest

from rain.client import active
from rain.client.session import Session
from tests.client.fake import World, world


@pytest.fixture
def here() -> Iterator[World]:
    """A fake server with a client and one session."""
    with world() as made:
        yield made


@pytest.fixture
def session() -> Iterator[Session]:
    """An active session without a server."""
    made = Session(None, 3)
    with made:
        yield made


@pytest.fixture(autouse=True)
def no_default_session() -> Iterator[None]:
    """Whatever a test makes the default, the next one starts without."""
    yield
    active.drop_default()
