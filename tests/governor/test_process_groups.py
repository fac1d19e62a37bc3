"""Control groups of executors and programs: where they can be made, and how they end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from rain.governor.machine.process_groups import WALL_MORE, ProcessGroups
from tests.support.fences import fence
from tests.support.waiting import until_now

IN_A_GROUP = """
import os, sys
from rain.governor.machine.process_groups import ProcessGroups
made = ProcessGroups.make(1)
print(made and made.folder)
if made: made.folder.rmdir()
"""


def a_machine(root: Path, group: str) -> Path:
    """A machine that says which group this process is in; its folders are no real groups."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(f"8:pids:{group}\n1:cpu:/\n0::/\n")
    folder = root / "sys/fs/cgroup/pids" / group.lstrip("/")
    folder.mkdir(parents=True)
    return folder


def test_there_are_none_where_the_system_gives_none(tmp_path: Path) -> None:
    assert ProcessGroups.make(5, tmp_path / "nothing") is None
    folder = a_machine(tmp_path, "/user/me")
    assert ProcessGroups.make(5, tmp_path) is None
    assert list(folder.iterdir()) == []


def test_there_are_none_beside_groups_of_version_2_that_were_not_handed_down(
    tmp_path: Path,
) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/app.slice/rain.service\n")
    (tmp_path / "sys/fs/cgroup/app.slice/rain.service").mkdir(parents=True)
    assert ProcessGroups.make(5, tmp_path) is None
    assert len(list((tmp_path / "sys/fs/cgroup/app.slice").iterdir())) == 1


def test_a_group_in_which_others_may_have_no_limit_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_machine(tmp_path, "/user/me")
    asked: list[Path] = []

    def refuse(made: Path) -> None:
        asked.append(made)
        assert made.is_dir()
        raise PermissionError(made)

    monkeypatch.setattr("rain.governor.machine.process_groups._allow_limits", refuse)
    assert ProcessGroups.make(5, tmp_path) is None
    assert [made.parent for made in asked] == [folder]
    assert list(folder.iterdir()) == []


def test_the_next_governor_removes_groups_of_those_that_were_killed(tmp_path: Path) -> None:
    # given: a process that has ended
    with subprocess.Popen(["true"]) as process:
        pass
    folder = a_machine(tmp_path, "/user/me")
    dead = folder / f"rain-{process.pid}-0123abcd"
    alive = folder / f"rain-{os.getpid()}-0123abcd"
    other = folder / f"rain-{process.pid}"
    for one in (dead, alive, other):
        (one / "e1").mkdir(parents=True)
    # when
    ProcessGroups.make(5, tmp_path)
    # then
    assert sorted(folder.iterdir()) == sorted([alive, other])


@pytest.mark.whole
def test_a_governor_inside_of_a_task_makes_none() -> None:
    with fence(50) as (group, words):
        made = subprocess.check_output([*words, sys.executable, "-c", IN_A_GROUP], text=True)
        assert Path(made.strip()).parent == group
    with fence(50, is_task=True) as (_, words):
        made = subprocess.check_output([*words, sys.executable, "-c", IN_A_GROUP], text=True)
        assert made.strip() == "None"


@pytest.fixture
def groups() -> Generator[ProcessGroups]:
    made = ProcessGroups.make(5)
    assert made is not None, "these tests need a control group of their own for processes"
    yield made
    made.folder.rmdir()


@pytest.mark.whole
def test_a_group_holds_a_process_and_what_it_starts_up_to_the_wall(groups: ProcessGroups) -> None:
    assert groups.wall == 5 * 4 + WALL_MORE
    script = "read go; setsid sleep 100 >/dev/null & echo $!; wait"
    with subprocess.Popen(
        ["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        groups.hold("token/e3", process.pid)
        assert groups.members("token/e3") == [process.pid]
        process.stdin.write("\n")
        process.stdin.flush()
        child = int(process.stdout.readline())
        # Even if its parent has ended, it is there.
        process.kill()
        process.wait()
        assert groups.members("token/e3") == [child]
        until_now(lambda: groups.end(["token/e3"]) == [])
    assert list(groups.folder.glob("*/")) == []


@pytest.mark.whole
def test_what_a_program_has_left_ends_with_its_session(groups: ProcessGroups) -> None:
    with subprocess.Popen(["sleep", "100"]) as process:
        groups.hold("token/r1", process.pid)
        groups.leave("token/r1", "token/s9")
        assert groups.end(["token/s8"]) == []
        assert process.poll() is None
        # The first look has killed it, and it may take a moment to end.
        left = groups.end(["token/s9"])
        assert set(left) <= {"token/r1"}
        assert process.wait() == -9
        until_now(lambda: groups.end(left) == [])


@pytest.mark.whole
def test_a_process_that_has_ended_has_no_group(groups: ProcessGroups) -> None:
    with subprocess.Popen(["true"]) as process:
        pass
    groups.hold("token/r1", process.pid)
    assert list(groups.folder.glob("*/")) == []
    groups.leave("token/r1", "token/s1")
