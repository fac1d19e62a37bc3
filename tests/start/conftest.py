from collections.abc import Generator
from pathlib import Path

import pytest

from tests.start.world import World


@pytest.fixture
def copied() -> bool:
    """Whether the governors of this machine are copies of one process; or else each a program."""
    return False


@pytest.fixture
def world(tmp_path: Path, copied: bool) -> Generator[World]:
    world = World(tmp_path, copied)
    yield world
    world.end()
    assert world.left() == []
