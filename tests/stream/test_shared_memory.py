"""Where a new file is written: to the disk, or to shared memory."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from rain.stream.shared_memory import BOARD, LOOK_EVERY, Board, Placing, before_writing, left_of

PAGE = mmap.PAGESIZE


class Machine:
    """Its clock, and how much its kernel takes before it writes to the disk."""

    def __init__(self, folder: Path, left: int = 0) -> None:
        self.now = 50.0
        self.left = left
        self.looks = 0
        self.told = Board(f"{folder}/{BOARD}", new=True)
        self.placing = Placing(Board(f"{folder}/{BOARD}"), self.look, lambda: self.now)

    def look(self, memory: int) -> int:
        assert memory == 7
        self.looks += 1
        return self.left


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.told.write(1000, 7)
    return made


def test_files_go_to_the_disk_until_the_kernel_would_write_them(machine: Machine) -> None:
    machine.left = 250
    assert [machine.placing.is_shared(100) for _ in range(4)] == [False, False, True, True]


def test_what_the_kernel_takes_is_looked_at_now_and_then(machine: Machine) -> None:
    assert machine.placing.is_shared(100)
    machine.left = 100
    assert machine.placing.is_shared(100)
    machine.now += LOOK_EVERY
    assert not machine.placing.is_shared(100)
    assert machine.looks == 2


def test_what_has_no_room_goes_to_the_disk(machine: Machine) -> None:
    assert not machine.placing.is_shared(1001)
    assert [machine.placing.is_shared(500) for _ in range(3)] == [True, True, False]


def test_room_that_is_told_anew_is_all_there(machine: Machine) -> None:
    assert machine.placing.is_shared(800)
    assert not machine.placing.is_shared(800)
    machine.told.write(900, 7)
    assert machine.placing.is_shared(800)


def test_without_room_nothing_is_shared(machine: Machine) -> None:
    machine.told.write(0, 7)
    assert not machine.placing.is_shared(1)


STATISTICS = b"nr_dirty 10\nnr_writeback 5\nnr_dirty_background_threshold 100\nnr_free 7\n"


def test_the_kernel_tells_how_much_it_takes() -> None:
    assert left_of(STATISTICS, 0) == 85 * PAGE
    assert left_of(STATISTICS, 10_000 * PAGE) == 85 * PAGE
    assert left_of(STATISTICS.replace(b"dirty 10", b"dirty 99"), 0) == 0


def test_a_control_group_takes_a_tenth_of_its_memory() -> None:
    assert left_of(STATISTICS, 500 * PAGE) == 35 * PAGE


def test_a_kernel_that_does_not_tell_takes_nothing() -> None:
    assert left_of(b"nr_free 7\n", 0) == 0


def test_this_kernel_tells() -> None:
    assert 0 <= before_writing(0) < 1 << 50
