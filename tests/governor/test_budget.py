"""What a governor may use: detected, told, or divided between governors of one machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from rain.base.errors import StartError
from rain.governor.machine.budget import Budget, Room, read_budget
from rain.governor.machine.detecting import Machine

MIB = 1024**2
GIB = 1024**3
DETECT = "detect"


def budget(room: Room, memory: str = DETECT, store: str = DETECT, disk: str = DETECT) -> Budget:
    return read_budget(memory, store, room, disk)


LARGE = Room(10 * GIB, 100 * GIB)


def test_the_store_gets_its_part_of_the_memory_and_the_executors_the_rest() -> None:
    assert budget(LARGE) == Budget(7 * GIB, 3 * GIB)


def test_a_small_file_system_of_shared_memory_bounds_the_store() -> None:
    """As in a container, which has 64 MiB there unless it is told otherwise."""
    found = budget(Room(10 * GIB, 64 * MIB))
    assert found.store == 64 * MIB * 9 // 10
    assert found.memory + found.store == 10 * GIB


def test_the_store_is_in_proportion_to_a_memory_that_was_told() -> None:
    found = budget(LARGE, memory="700MiB")
    assert (found.memory, found.store) == (700 * MIB, 300 * MIB)


def test_memory_that_was_told_may_be_more_than_there_is_but_the_store_is_not() -> None:
    found = budget(LARGE, memory="64GiB")
    assert (found.memory, found.store) == (64 * GIB, 3 * GIB)


def test_what_is_told_for_the_store_is_not_for_executors() -> None:
    assert budget(LARGE, store="8GiB").memory == 2 * GIB
    assert budget(LARGE, store="80GiB").memory == 0


def test_everything_can_be_told() -> None:
    assert budget(Room(0, 0), "1GiB", "2GiB") == Budget(GIB, 2 * GIB)


def test_data_may_fill_nine_tenths_of_what_its_disk_has_free() -> None:
    assert budget(Room(0, 0, 100 * GIB)).disk == 90 * GIB
    assert budget(Room(0, 0, 100 * GIB), disk="500GiB").disk == 500 * GIB


def test_a_disk_for_no_data_is_refused() -> None:
    with pytest.raises(StartError, match=r"^--disk 0 leaves no room for data"):
        budget(LARGE, disk="0")


def test_a_machine_that_tells_nothing_has_nothing_to_give() -> None:
    assert budget(Room(0, 0)) == Budget(0, 0)


def test_governors_of_one_machine_divide_its_memory_and_its_room(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text(f"MemTotal: {4 * GIB // 1024} kB\n")
    (tmp_path / "dev/shm").mkdir(parents=True)
    whole = Room.of(Machine(tmp_path, {}), 1, Path("/"))
    half = Room.of(Machine(tmp_path, {}), 2, Path("/"))
    assert half.memory == whole.memory // 2 == 2 * GIB
    assert 0 < half.shared < whole.shared
    assert 0 < half.disk < whole.disk


def test_the_room_of_a_folder_that_will_be_made_is_that_of_the_one_around_it(
    tmp_path: Path,
) -> None:
    assert Machine(tmp_path, {}).free("/not/there/yet") > 0


@pytest.mark.parametrize(
    ("told", "option"),
    [
        ({"memory": "much"}, "--memory"),
        ({"store": "-1"}, "--store"),
        ({"disk": "some"}, "--disk"),
    ],
)
def test_what_is_no_size_is_refused_by_the_name_of_its_option(
    told: dict[str, str], option: str
) -> None:
    with pytest.raises(StartError, match=f"^{option} '.*' is neither a size"):
        budget(LARGE, **told)
