"""Detects memory, room and gpus of this machine; `budget` and `offer` decide what to do with them.

It reads below a root folder and from a given environment, so that tests can provide their own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from rain.base.executor_protocol import VISIBLE_GPUS
from rain.stream.room import amount_in, lines, memory_groups

_CONTAINER = "NVIDIA_VISIBLE_DEVICES"
_NO_GPUS = frozenset({"", "none", "void", "NoDevFiles", "-1"})


@frozen
class Machine:
    """Where to look for memory and gpus."""

    root: Path
    environment: Mapping[str, str]

    @staticmethod
    def this() -> Machine:
        """The machine that this runs on."""
        return Machine(Path("/"), os.environ)

    def memory(self) -> int:
        """Bytes of memory that processes here may use; 0 if unknown."""
        groups = [amount_in(group.limit) for group in memory_groups(self.root)]
        limits = [self._physical_memory(), *groups]
        return min((limit for limit in limits if limit), default=0)

    def free(self, folder: str) -> int:
        """Free bytes of the file system of a folder, or of its nearest existing parent; or 0."""
        place = self.root / folder.lstrip("/")
        while not place.exists() and place != self.root:
            place = place.parent
        try:
            status = os.statvfs(place)
        except OSError:
            return 0
        return status.f_bavail * status.f_frsize

    def _physical_memory(self) -> int:
        for line in lines(self.root / "proc/meminfo"):
            if line.startswith("MemTotal:"):
                return int(line.split()[1]) * 1024
        return 0

    def gpus(self) -> tuple[str, ...]:
        """The gpus that programs here may use, as CUDA names them."""
        named = self.environment.get(VISIBLE_GPUS)
        if named is not None:
            return _named_gpus(named)
        inside = self.environment.get(_CONTAINER)
        if inside is not None and inside not in {"all", *_NO_GPUS}:
            # Programs in a container see the gpus passed to it, numbered from 0.
            return _numbers(len(_named_gpus(inside)))
        if inside in _NO_GPUS:
            return ()
        return _numbers(self._devices())

    def _devices(self) -> int:
        """The number of gpus of the driver."""
        driver = self.root / "proc/driver/nvidia/gpus"
        if driver.is_dir():
            return len(list(driver.iterdir()))
        return len([path for path in self.root.glob("dev/nvidia*") if path.name[6:].isdigit()])


def _named_gpus(text: str) -> tuple[str, ...]:
    """The names up to the first invalid one, as CUDA reads them."""
    names: list[str] = []
    for name in (entry.strip() for entry in text.split(",")):
        if name in _NO_GPUS:
            break
        if name not in names:
            names.append(name)
    return tuple(names)


def _numbers(count: int) -> tuple[str, ...]:
    return tuple(str(number) for number in range(count))
