from collections.abc import Generator
from pathlib import Path

import pytest

from tests.start.world import World


@pytest.fixture
def world(tmp_path: Path) -> Generator[World]:
    world = World(tmp_path)
    yield world
    world.end()
    assert world.left() == []
