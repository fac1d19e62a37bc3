"""How much memory is left: of the machine, and of every group around the process."""

from pathlib import Path

import pytest

from rain.stream.room import memory_left

GIB = 1 << 30


def machine(root: Path, files: dict[str, str], groups: str = "0::/a/b\n") -> Path:
    everywhere = {
        "proc/meminfo": "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n",
        "proc/self/cgroup": groups,
    }
    for name, text in (everywhere | files).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_without_limits_it_is_what_the_machine_has(tmp_path: Path) -> None:
    files = {"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/b/memory.current": "5\n"}

    assert memory_left(machine(tmp_path, files)) == 8 * GIB


@pytest.mark.parametrize(
    ("groups", "limit", "used"),
    [
        ("0::/a/b\n", "sys/fs/cgroup/a/memory.max", "sys/fs/cgroup/a/memory.current"),
        (
            "9:cpu:/\n4:memory:/a/b\n0::/\n",
            "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
            "sys/fs/cgroup/memory/a/b/memory.usage_in_bytes",
        ),
    ],
)
def test_a_limited_group_leaves_what_it_does_not_use(
    tmp_path: Path, groups: str, limit: str, used: str
) -> None:
    root = machine(tmp_path, {limit: f"{3 * GIB}\n", used: f"{GIB}\n"}, groups)

    assert memory_left(root) == 2 * GIB


@pytest.mark.parametrize(
    ("groups", "folder", "limit", "used", "name"),
    [
        ("0::/a\n", "sys/fs/cgroup/a", "memory.max", "memory.current", "inactive_file"),
        ("0::/a\n", "sys/fs/cgroup/a", "memory.max", "memory.current", "active_file"),
        (
            "4:memory:/a\n",
            "sys/fs/cgroup/memory/a",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    ],
)
def test_what_a_group_uses_for_files_that_can_be_read_again_is_left(
    tmp_path: Path, groups: str, folder: str, limit: str, used: str, name: str
) -> None:
    files = {
        f"{folder}/{limit}": f"{3 * GIB}\n",
        f"{folder}/{used}": f"{3 * GIB}\n",
        f"{folder}/memory.stat": f"anon {2 * GIB}\n{name} {GIB}\n",
    }

    assert memory_left(machine(tmp_path, files, groups)) == GIB


def test_a_group_beyond_its_limit_leaves_nothing(tmp_path: Path) -> None:
    files = {"sys/fs/cgroup/a/memory.max": "5\n", "sys/fs/cgroup/a/memory.current": "6\n"}

    assert memory_left(machine(tmp_path, files)) == 0


def test_where_nothing_tells_nothing_is_left(tmp_path: Path) -> None:
    assert memory_left(tmp_path) == 0
