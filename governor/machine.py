"""What this machine has: its memory, and its gpus. Nothing here decides; `offer` does.

Everything is read below a root folder and from a given environment, so that tests can bring theirs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from rain.governor.gpus import VISIBLE

_CONTAINER = "NVIDIA_VISIBLE_DEVICES"
_NO_GPUS = frozenset({"", "none", "void", "NoDevFiles", "-1"})


@frozen
class Machine:
    """Where to look."""

    root: Path
    environment: Mapping[str, str]

    @staticmethod
    def this() -> Machine:
        """The machine that this runs on."""
        return Machine(Path("/"), os.environ)

    def memory(self) -> int:
        """Bytes of memory that processes here may use; 0 when nothing tells."""
        limits = [self._physical_memory(), *self._memory_limits()]
        return min((limit for limit in limits if limit), default=0)

    def _physical_memory(self) -> int:
        for line in _lines(self.root / "proc/meminfo"):
            if line.startswith("MemTotal:"):
                return int(line.split()[1]) * 1024
        return 0

    def _memory_limits(self) -> Iterable[int]:
        """The limits of the control group of this process and of all groups around it."""
        for line in _lines(self.root / "proc/self/cgroup"):
            _, controllers, path = line.split(":", 2)
            if not controllers:  # version 2
                base, name = self.root / "sys/fs/cgroup", "memory.max"
            elif "memory" in controllers.split(","):
                base, name = self.root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
            else:
                continue
            group = base / path.lstrip("/")
            for folder in (group, *group.parents):
                for limit in _lines(folder / name):
                    if limit.isdigit():  # else it is "max"
                        yield int(limit)
                if folder == base:
                    break

    def gpus(self) -> tuple[str, ...]:
        """The gpus that programs here may use, as CUDA names them."""
        named = self.environment.get(VISIBLE)
        if named is not None:
            return _named_gpus(named)
        inside = self.environment.get(_CONTAINER)
        if inside is not None and inside not in {"all", *_NO_GPUS}:
            # Programs in a container see those that were passed in, counted from 0.
            return _numbers(len(_named_gpus(inside)))
        if inside in _NO_GPUS:
            return ()
        return _numbers(self._devices())

    def _devices(self) -> int:
        """How many gpus the driver has."""
        driver = self.root / "proc/driver/nvidia/gpus"
        if driver.is_dir():
            return len(list(driver.iterdir()))
        return len([path for path in self.root.glob("dev/nvidia*") if path.name[6:].isdigit()])


def _named_gpus(text: str) -> tuple[str, ...]:
    """The names up to the first one that is none, which is how CUDA reads them."""
    names: list[str] = []
    for name in (entry.strip() for entry in text.split(",")):
        if name in _NO_GPUS:
            break
        if name not in names:
            names.append(name)
    return tuple(names)


def _numbers(count: int) -> tuple[str, ...]:
    return tuple(str(number) for number in range(count))


def _lines(path: Path) -> list[str]:
    """The lines of a file; none when this machine does not have it."""
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    return []
