"""Which machine this is, so that two programs can tell that they are on the same one."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from rain.stream.protocol import NOBODY

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def machine_id(path: Path = BOOT_ID) -> bytes:
    """The number that the kernel has drawn at its start; `NOBODY` where it does not tell.

    Containers of one machine have it in common, though not their files: whoever uses a shared path
    also compares device and inode.
    """
    try:
        return UUID(path.read_text().strip()).bytes
    except (OSError, ValueError):
        return NOBODY
