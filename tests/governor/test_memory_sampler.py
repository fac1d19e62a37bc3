"""When memory is looked at, and what is told of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from rain.governor.core.events import KernelKill, MemorySampled
from rain.governor.machine.memory_files import (
    REMEMBERED_SECONDS,
    KernelKills,
    below,
    left_here,
    mapped,
    own,
    swapped,
    swaps,
    take_peak,
)
from rain.governor.machine.memory_sampler import (
    AT_ONCE,
    CHANGE,
    OFTEN,
    SELDOM,
    Watched,
    has_changed,
    next_look,
    pause_before_look,
)
from rain.governor.machine.memory_wall import MemoryWall
from rain.governor.machine.strays import Origin
from tests.support.waiting import until_now

MIB = 1024**2
GIB = 1024**3


async def no_time() -> None:
    """There is always a task that runs."""


def look(executors: dict[int, int], runs: dict[int, int]) -> MemorySampled:
    """Looks at these once; no task may have a process of its own."""
    return Watched(lambda: executors, lambda: runs, Origin(), None, 0, no_time).look()


@pytest.mark.parametrize(
    ("room", "growth", "seconds"),
    [
        (15 * GIB, 0.0, SELDOM),
        (15 * GIB, -1e9, SELDOM),
        (100_000_000, 0.0, 0.5),
        (100_000_000, 100e6, 0.25),
        (1_000_000, 0.0, OFTEN),
        (-1_000_000_000, 0.0, OFTEN),
    ],
)
def test_the_closer_to_the_limit_and_the_faster_it_grows_the_sooner_is_the_next_look(
    room: int, growth: float, seconds: float
) -> None:
    assert next_look(room, growth) == seconds


@pytest.mark.parametrize(
    ("before", "now", "changed"),
    [
        ({1: 5}, {1: 5}, False),
        ({1: 5}, {1: 4 + CHANGE}, False),
        ({1: 5}, {1: 5 + CHANGE}, True),
        ({1: 5 + CHANGE}, {1: 5}, True),
        ({1: 5}, {2: 5}, True),
        ({1: 5}, {}, True),
    ],
)
def test_what_has_hardly_changed_is_not_told(
    before: dict[int, int], now: dict[int, int], changed: bool
) -> None:
    assert has_changed(MemorySampled(before, {}), MemorySampled(now, {}), 0) is changed
    assert has_changed(MemorySampled({}, before), MemorySampled({}, now), 0) is changed
    files = MemorySampled({}, {}, mapped=before), MemorySampled({}, {}, mapped=now)
    assert has_changed(*files, 0) is changed


EATS = """
import mmap, subprocess, sys
eaten = bytearray(b"x" * int(sys.argv[1]))
if len(sys.argv) > 2:
    file = open(sys.argv[2], "rb")
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    sum(mapped[::4096])
    child = subprocess.Popen([sys.executable, "-c", sys.argv[3], sys.argv[1]], stdout=sys.stdout)
    child.wait()
else:
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_the_memory_of_a_process_is_its_own_and_that_of_what_it_has_started(
    tmp_path: Path,
) -> None:
    # given: a process and its child, each of which has eaten 30 MB, and has mapped a file as large
    file = tmp_path / "mapped"
    file.write_bytes(bytes(30 * MIB))
    command = [sys.executable, "-c", EATS, str(30 * MIB), str(file), EATS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        # then
        (child,) = below(process.pid)
        assert 30 * MIB < own(process.pid) < 55 * MIB
        seen = look({1: process.pid}, {7: child})
        assert own(process.pid) + own(child) == seen.executors[1] > 60 * MIB
        assert seen.runs == {7: own(child)}
        assert 30 * MIB < seen.mapped[1] < 60 * MIB
        # and it has more processes than this allows
        assert (seen.crowds, seen.crowds_of_runs) == ({1: 1}, {})
        process.stdin.close()
        process.wait()
        assert own(child) == 0
        assert take_peak(child) == (0, 0)
        assert mapped(child) == 0


def test_a_peak_is_told_once() -> None:
    eaten = bytearray(b"x" * 80 * MIB)
    del eaten
    first, second = take_peak(os.getpid())[0], take_peak(os.getpid())[0]
    assert first >= 80 * MIB
    assert second <= first - 70 * MIB


def test_what_is_left_is_news_only_where_the_tasks_cannot_have_their_limit() -> None:
    much, more = MemorySampled({}, {}, 900 * MIB), MemorySampled({}, {}, 700 * MIB)
    assert not has_changed(much, more, 600 * MIB)
    assert has_changed(much, more, 800 * MIB)


def test_a_process_is_found_by_its_session_when_its_parent_has_ended() -> None:
    script = "(sleep 100 >/dev/null & echo $!)"
    with subprocess.Popen(
        ["sh", "-c", script + "; read end"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        until_now(lambda: not below(process.pid))
        watched = Watched(lambda: {1: process.pid}, dict, Origin(), None, 0, no_time)
        assert watched.look().crowds == {}
        assert watched.look(everywhere=True).crowds == {1: 1}
        os.killpg(process.pid, signal.SIGKILL)


class Counted:
    """Says how many processes the machine has: 300, and a number more from the third look on."""

    def __init__(self, more: int) -> None:
        self.looks = 0
        self.more = more

    def __call__(self) -> int:
        self.looks += 1
        return 300 + (self.more if self.looks > 3 else 0)


@pytest.mark.parametrize(("more", "looks"), [(5, 11), (6, 4)])
def test_the_next_look_comes_at_once_when_there_are_many_more_processes(
    monkeypatch: pytest.MonkeyPatch, more: int, looks: int
) -> None:
    counted = Counted(more)
    monkeypatch.setattr("rain.governor.machine.memory_sampler.processes_here", counted)

    async def scenario() -> bool:
        return await pause_before_look(SELDOM - AT_ONCE / 2, 10, no_time)

    seen = trio.run(scenario, clock=MockClock(autojump_threshold=0))
    assert seen is (more > 5)
    assert counted.looks == looks


def test_an_idle_governor_does_not_count_the_processes_of_its_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = Counted(600)
    monkeypatch.setattr("rain.governor.machine.memory_sampler.processes_here", counted)

    async def scenario() -> bool:
        return await pause_before_look(SELDOM, 10, trio.sleep_forever)

    assert trio.run(scenario, clock=MockClock(autojump_threshold=0)) is False
    assert counted.looks == 1  # at its beginning


AREAS = "Filename Type Size Used Priority\n"


@pytest.mark.parametrize(
    ("areas", "in_use"),
    [
        ("", False),
        ("/dev/sda2 partition 1048572 0 -2\n", False),
        ("/dev/sda2 partition 1048572 0 -2\n/swap\\040file file 4096 8 -3\n", True),
    ],
)
def test_processes_are_asked_for_swap_only_where_some_is_in_use(
    tmp_path: Path, areas: str, in_use: bool
) -> None:
    assert not swaps(tmp_path)
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/swaps").write_text(AREAS + areas)
    assert swaps(tmp_path) is in_use


def test_what_is_in_swap_counts_for_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given: a process of which 3 of 5 pages are in swap
    (tmp_path / "9/task/9").mkdir(parents=True)
    (tmp_path / "9/task/9/children").write_text("")
    (tmp_path / "9/statm").write_text("90 5 3 0 0 0 0\n")
    (tmp_path / "9/status").write_text(
        "Name:\tx\nVmHWM:\t40 kB\nRssFile:\t12 kB\nVmSwap:\t 12 kB\n"
    )
    monkeypatch.setattr("rain.governor.machine.memory_files._PROC", str(tmp_path))
    # then
    assert swapped(9) == 12 * 1024
    assert take_peak(9) == (40 * 1024, 12 * 1024)
    for in_use, more in ((False, 0), (True, 12 * 1024)):
        monkeypatch.setattr("rain.governor.machine.memory_sampler.swaps", partial(bool, in_use))
        assert look({1: 9}, {}).executors == {1: own(9) + more}
    # and a process that has ended has none
    assert swapped(10) == 0


def vmstat(folder: Path, kills: int) -> None:
    (folder / "vmstat").write_text(f"nr_free_pages 7\noom_kill {kills}\nzone 3\n")


def test_each_kill_of_the_kernel_explains_one_death(tmp_path: Path) -> None:
    vmstat(tmp_path, 5)
    kills = KernelKills(proc=tmp_path)
    assert not kills.take_one()
    vmstat(tmp_path, 7)
    assert [kills.take_one() for _ in range(3)] == [KernelKill(), KernelKill(), None]


def test_a_kill_explains_a_death_that_is_heard_some_looks_later_but_not_for_ever(
    tmp_path: Path,
) -> None:
    now = 100.0
    vmstat(tmp_path, 5)
    kills = KernelKills(proc=tmp_path, clock=lambda: now)
    vmstat(tmp_path, 7)
    for _ in range(5):  # the processes give back their memory meanwhile
        kills.forget()
        now += REMEMBERED_SECONDS / 10
    assert kills.take_one()
    vmstat(tmp_path, 8)
    kills.forget()
    now += REMEMBERED_SECONDS / 2  # all but the last one are too old
    kills.forget()
    assert [kills.take_one() for _ in range(2)] == [KernelKill(), None]
    vmstat(tmp_path, 9)
    kills.forget()
    now += REMEMBERED_SECONDS
    kills.forget()
    assert not kills.take_one()


def test_kills_at_the_wall_of_the_governor_are_told_apart(tmp_path: Path) -> None:
    def at_wall(count: int) -> None:
        (tmp_path / "memory.oom_control").write_text(f"under_oom 0\noom_kill {count}\n")

    now = 100.0
    vmstat(tmp_path, 5)
    (tmp_path / "memory.stat").write_text("cache 70\nrss 900\nshmem 60\n")
    kills = KernelKills(MemoryWall(tmp_path, 1000), tmp_path, lambda: now)
    at_wall(1)
    vmstat(tmp_path, 7)  # one is another's
    assert [kills.take_one() for _ in range(3)] == [KernelKill(1000, 60), KernelKill(), None]

    # A process of a task was killed there, and its executor was not.
    at_wall(2)
    vmstat(tmp_path, 8)
    kills.forget()
    now += REMEMBERED_SECONDS
    kills.forget()
    vmstat(tmp_path, 9)
    assert kills.take_one() == KernelKill()


def test_a_kernel_that_does_not_count_explains_nothing(tmp_path: Path) -> None:
    assert not KernelKills(proc=tmp_path).take_one()


def test_what_the_machine_has_left_is_known_or_not(tmp_path: Path) -> None:
    assert left_here(tmp_path) == -1
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9 kB\nMemFree: 1 kB\nMemAvailable:  5 kB\n")
    assert left_here(tmp_path) == 5 * 1024
