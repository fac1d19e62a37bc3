"""Each task finds an empty folder, and a folder that nobody touched is not looked into."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import define

from rain.executor.task_folder import STEP, TaskFolder


@contextmanager
def task_folder(path: Path) -> Generator[TaskFolder, None, None]:
    folder = TaskFolder(str(path / "task"))
    try:
        yield folder
    finally:
        folder.close()


@define
class Clock:
    """Takes the place of the clock; file systems go on with theirs."""

    now: float = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("rain.executor.task_folder.time", clock)
    return clock


def settle(folder: TaskFolder, clock: Clock) -> None:
    """The folder has been empty for a long time, by the clock of its file system, too."""
    folder.clean()
    probe = Path(folder.path).parent / "probe"
    while True:
        probe.touch()
        if probe.stat().st_ctime_ns > Path(folder.path).stat().st_ctime_ns:
            break
    clock.now += 2 * STEP
    folder.clean()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each time that a folder is listed."""
    seen: list[str] = []
    listdir = os.listdir

    def counted(path: str) -> list[str]:
        seen.append(path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", counted)
    return seen


def test_what_a_task_leaves_is_removed(tmp_path: Path, clock: Clock) -> None:
    with task_folder(tmp_path) as folder:
        path = Path(folder.path)
        for _ in range(3):
            (path / "file").touch()
            (path / "folder").mkdir()
            (path / "folder" / "file").touch()
            (path / "link").symlink_to(tmp_path)
            folder.clean()
            assert list(path.iterdir()) == []
            settle(folder, clock)
    assert tmp_path.is_dir()


def test_a_folder_that_nobody_touched_is_not_looked_into(
    tmp_path: Path, clock: Clock, looks: list[str]
) -> None:
    with task_folder(tmp_path) as folder:
        settle(folder, clock)
        assert len(looks) == 2
        for _ in range(10):
            folder.clean()
    assert len(looks) == 2


def test_a_folder_is_looked_into_as_long_as_its_last_change_is_fresh(
    tmp_path: Path, clock: Clock, looks: list[str]
) -> None:
    with task_folder(tmp_path) as folder:
        for _ in range(10):
            folder.clean()
            clock.now += STEP / 20
    assert len(looks) == 10


@pytest.mark.parametrize("moved", [False, True])
def test_a_folder_that_a_task_has_taken_away_is_made_again(
    tmp_path: Path, clock: Clock, moved: bool
) -> None:
    with task_folder(tmp_path) as folder:
        settle(folder, clock)
        path = Path(folder.path)
        if moved:
            path.rename(tmp_path / "elsewhere")
        else:
            path.rmdir()
        folder.clean()
        assert path.is_dir()
        before = Path.cwd()
        folder.enter()
        try:
            assert Path.cwd() == path
        finally:
            os.chdir(before)


class StandingClock:
    """Takes the place of `os`, on a file system whose clock stands until the test moves it."""

    def __init__(self) -> None:
        self.changed = 5_000_000_000

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def fstat(self, descriptor: int) -> Any:
        return SimpleNamespace(st_ctime_ns=self.changed, st_nlink=os.fstat(descriptor).st_nlink)

    def stat(self, path: str) -> Any:
        return SimpleNamespace(st_ctime_ns=self.changed)


def test_a_file_is_found_where_the_times_of_files_are_coarse(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    standing = StandingClock()
    monkeypatch.setattr("rain.executor.task_folder.os", standing)
    with task_folder(tmp_path) as folder:
        for _ in range(3):
            clock.now += 2 * STEP
            folder.clean()
        (tmp_path / "task" / "left").touch()  # within the same second

        folder.clean()

        assert not list((tmp_path / "task").iterdir())
        standing.changed += 1_000_000_000
        for _ in range(2):
            clock.now += 2 * STEP
            folder.clean()


def test_what_a_task_has_left_is_named_without_a_look_into_a_folder_that_nobody_touched(
    tmp_path: Path, clock: Clock, looks: list[str]
) -> None:
    with task_folder(tmp_path) as folder:
        settle(folder, clock)
        looks.clear()
        assert folder.left() == []
        assert looks == []
        Path(folder.path, "figure.png").touch()
        assert folder.left() == ["figure.png"]
        folder.clean()
        assert folder.left() == []
