"""The available memory: that of the machine, and that of our control groups."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from attrs import frozen


@frozen
class MemoryGroup:
    """The files with the memory limit, the memory usage and the statistics of a control group."""

    limit: Path
    used: Path
    statistics: Path

    def used_for_good(self) -> int | None:
        """Bytes in use, but for pages of files that the kernel takes back when it needs them."""
        used = amount_in(self.used)
        if used is None:
            return None
        words = (line.split() for line in lines(self.statistics))
        kept = {name: int(amount) for name, amount in words}
        return used - max(sum(kept.get(name, 0) for name in names) for names in _RECLAIMABLE)


_RECLAIMABLE = (
    ("inactive_file", "active_file"),
    ("total_inactive_file", "total_active_file"),
)
"""How versions 2 and 1 call it, with the groups below."""


def memory_groups(root: Path) -> Iterator[MemoryGroup]:
    """The control group of this process and all its ancestors."""
    for line in lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if not controllers:  # version 2
            base, limit, used = root / "sys/fs/cgroup", "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            base = root / "sys/fs/cgroup/memory"
            limit, used = "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        group = base / path.lstrip("/")
        for folder in (group, *group.parents):
            yield MemoryGroup(folder / limit, folder / used, folder / "memory.stat")
            if folder == base:
                break


def amount_in(file: Path) -> int | None:
    """Reads the number in a file; None if there is no such file, or it contains "max"."""
    return next((int(line) for line in lines(file) if line.isdigit()), None)


def memory_left(root: Path = Path("/")) -> int:
    """Bytes that are available without taking them from others; 0 if unknown."""
    return known_memory_left(root) or 0


def known_memory_left(root: Path = Path("/")) -> int | None:
    """The same, but None if unknown."""
    left = [
        int(line.split()[1]) * 1024
        for line in lines(root / "proc/meminfo")
        if line.startswith("MemAvailable:")
    ]
    if not left:
        return None
    for group in memory_groups(root):
        limit, used = amount_in(group.limit), group.used_for_good()
        if limit is not None and used is not None:
            left.append(limit - used)
    return max(0, min(left))


def lines(path: Path) -> list[str]:
    """The lines of a file; none if the file does not exist."""
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    return []
