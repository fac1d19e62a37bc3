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


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters of this test are known in its own folder, where it also runs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
