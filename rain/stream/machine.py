"""Identifies the machine, so that two programs can tell whether they are on the same one."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from rain.stream.protocol import NOBODY

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def machine_id(path: Path = BOOT_ID) -> bytes:
    """The kernel's boot id; `NOBODY` where there is none.

    The containers of one machine share it, but not their files. So users of a shared path also
    compare device and inode.
    """
    try:
        return UUID(path.read_text().strip()).bytes
    except (OSError, ValueError):
        return NOBODY
