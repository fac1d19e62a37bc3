"""The limit of the kernel for all tasks of a governor: how high it is, and where it is built."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from rain.governor.machine.budget import Budget
from rain.governor.machine.memory_wall import MORE, MemoryWall, is_in_memory, wall_for
from rain.governor.machine.process_groups import ProcessGroups

GIB = 1024**3
MIB = 1024**2

TAKES = """
import ctypes, mmap, sys
sys.stdin.readline()
taken = mmap.mmap(-1, int(sys.argv[1]))  # shared: no sample sees it
ctypes.memset((ctypes.c_char * len(taken)).from_buffer(taken), 1, len(taken))
"""


def a_machine(root: Path, controllers: str = "memory", group: str = "/user/me") -> Path:
    """A machine that says which group this process is in; its folders are no real groups."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(f"8:{controllers}:{group}\n1:cpu:/\n0::/\n")
    folder = root / "sys/fs/cgroup/memory" / group.lstrip("/")
    folder.mkdir(parents=True)
    return folder


def test_it_is_higher_than_both_budgets_and_lower_than_the_machine(tmp_path: Path) -> None:
    budget = Budget(memory=3 * GIB, store=GIB)
    assert wall_for(budget, 16 * GIB, tmp_path, tmp_path) == 4 * GIB + GIB // 2 + MORE
    assert wall_for(budget, 4 * GIB + GIB // 2, tmp_path, tmp_path) == 0
    assert wall_for(Budget(store=GIB), 16 * GIB, tmp_path, tmp_path) == 0


def test_there_is_none_where_the_files_of_data_lie_in_memory(tmp_path: Path) -> None:
    device = tmp_path.stat().st_dev
    mounts = tmp_path / "proc/self/mountinfo"
    mounts.parent.mkdir(parents=True)
    for system, is_memory in (("ext4 /dev/sda", False), ("tmpfs tmpfs", True)):
        mounts.write_text(
            "22 1 0:21 / /proc rw shared:1 - proc proc rw\n"
            f"29 1 {os.major(device)}:{os.minor(device)} / /data rw shared:2 - {system} rw\n"
        )
        assert is_in_memory(tmp_path, tmp_path) is is_memory
        height = wall_for(Budget(memory=GIB), 16 * GIB, tmp_path, tmp_path)
        assert bool(height) is not is_memory
    assert is_in_memory(Path("/dev/shm"))


def test_there_is_none_where_the_system_gives_none(tmp_path: Path) -> None:
    assert MemoryWall.make(GIB, None, tmp_path / "nothing") is None
    folder = a_machine(tmp_path)
    assert MemoryWall.make(GIB, None, tmp_path) is None  # it is no real group
    assert MemoryWall.make(0, None, tmp_path) is None
    assert list(folder.iterdir()) == []


def test_a_governor_inside_of_a_task_builds_none(tmp_path: Path) -> None:
    folder = a_machine(tmp_path, group="/rain-7-0123abcd")
    assert MemoryWall.make(GIB, None, tmp_path) is None
    assert list(folder.iterdir()) == []


def test_the_next_governor_removes_groups_of_those_that_were_killed(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as process:
        pass
    folder = a_machine(tmp_path, "hugetlb,memory")
    dead = folder / f"rain-{process.pid}-0123abcd"
    alive = folder / f"rain-{os.getpid()}-0123abcd"
    for one in (dead, alive):
        one.mkdir()
    MemoryWall.make(GIB, None, tmp_path)
    assert list(folder.iterdir()) == [alive]


def test_with_version_2_it_is_around_the_groups_of_processes(tmp_path: Path) -> None:
    groups = ProcessGroups(tmp_path, 9)
    (tmp_path / "memory.max").write_text("max")
    wall = MemoryWall.make(GIB, groups, tmp_path)
    assert wall is not None
    assert wall == MemoryWall(tmp_path, GIB, is_shared=True)
    assert (tmp_path / "memory.max").read_text() == str(GIB)
    assert (wall.kills(), wall.shared()) == (0, 0)
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\n")
    (tmp_path / "memory.stat").write_text("anon 5\nfile 9\nshmem 4096\nfile_mapped 7\n")
    assert (wall.kills(), wall.shared()) == (2, 4096)
    wall.hold(os.getpid())  # it is in a group below
    assert not (tmp_path / "cgroup.procs").exists()


@pytest.fixture
def wall() -> Generator[MemoryWall]:
    made = MemoryWall.make(64 * MIB, None)
    assert made is not None, "these tests need a control group of their own for memory"
    yield made
    made.folder.rmdir()


def take(size: int, wall: MemoryWall | None) -> int:
    """The status of a process that takes memory, behind the wall or not."""
    with subprocess.Popen(
        [sys.executable, "-c", TAKES, str(size)], stdin=subprocess.PIPE
    ) as process:
        if wall is not None:
            wall.hold(process.pid)
        process.communicate(b"\n")
        return process.returncode


@pytest.mark.whole
def test_the_kernel_ends_who_takes_more_behind_the_wall_and_nobody_else(wall: MemoryWall) -> None:
    assert take(20 * MIB, wall) == 0
    assert wall.kills() == 0
    assert take(200 * MIB, wall) == -signal.SIGKILL
    assert take(200 * MIB, None) == 0
    assert wall.kills() == 1


@pytest.mark.whole
def test_files_in_memory_count_as_long_as_they_exist(wall: MemoryWall) -> None:
    file = Path(f"/dev/shm/rain-test-{os.getpid()}")
    write = "import sys; sys.stdin.readline(); open(sys.argv[1], 'wb').write(bytes(30 << 20))"
    with subprocess.Popen(
        [sys.executable, "-c", write, str(file)], stdin=subprocess.PIPE
    ) as process:
        wall.hold(process.pid)
        process.communicate(b"\n")
    try:
        assert 30 * MIB <= wall.shared() < 32 * MIB
    finally:
        file.unlink()
    assert wall.shared() < MIB


@pytest.mark.whole
def test_what_has_ended_already_is_not_held(wall: MemoryWall) -> None:
    with subprocess.Popen(["true"]) as process:
        pass
    wall.hold(process.pid)
    assert (wall.folder / "cgroup.procs").read_text() == ""
