"""Finds out how much of its inputs a task has mapped from the store.

The kernel lists the mapped ranges of each process with the paths of the files (`maps`). To read the
list costs nothing for each page. So it says how much of a file is mapped, and not how much of that
was touched yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from rain.governor.machine.memory_files import below

_REMOVED = " (deleted)"
"""What the kernel says of a file that has left its folder since it was mapped."""


def mapped_bytes(pid: int, folders: Collection[Path], sizes: Mapping[int, int]) -> int:
    """Bytes of these files that a process, or any below it, has mapped; each counts once.

    A file is in one of the folders, and its name is its number.
    """
    most: Counter[int] = Counter()
    where = [f"{folder.resolve()}/" for folder in folders]
    for one in (pid, *below(pid)):
        with suppress(OSError):  # it has ended
            lines = Path(f"/proc/{one}/maps").read_text(errors="surrogateescape").splitlines()
            most |= mapped_of(lines, where)
    return sum(min(most[number], size) for number, size in sizes.items())


def mapped_of(lines: Iterable[str], where: Iterable[str]) -> Counter[int]:
    """Bytes that a process has mapped of each file or directory in these folders."""
    found: Counter[int] = Counter()
    for line in lines:
        addresses, _, _, _, _, *path = line.split(maxsplit=5)
        for folder in where:
            if path and path[0].startswith(folder):
                name = path[0].removeprefix(folder).removesuffix(_REMOVED).partition("/")[0]
                begin, end = (int(address, 16) for address in addresses.split("-"))
                if name.isdigit():
                    found[int(name)] += end - begin
    return found
