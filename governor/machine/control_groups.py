"""The names and files of the control groups that governors make.

A group of a governor that was killed stays if its warden was killed, too. The next governor that
makes a group in the same place removes it.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

_OURS = re.compile(r"rain-[0-9]+-[0-9a-f]{8}")

MEMBERS = "cgroup.procs"


def new_name() -> str:
    """The name of a group of this governor."""
    return f"rain-{os.getpid()}-{secrets.token_hex(4)}"


def is_of_a_task(group: Path) -> bool:
    """Whether this is a group in which a governor holds its tasks, or is below one."""
    return any(map(_OURS.fullmatch, group.parts))


def remove_abandoned(parent: Path) -> None:
    """Removes empty groups of governors that were killed, and their wardens with them."""
    for group in parent.glob("rain-*-*"):
        if _OURS.fullmatch(group.name) and not _runs(int(group.name.split("-")[1])):
            with suppress(OSError):  # processes are there, or another process removes it
                for inside in group.glob("*/"):
                    inside.rmdir()
                group.rmdir()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def write(file: Path, value: int | str) -> None:
    """Writes without making a file: in a folder that is no group there is none."""
    descriptor = os.open(file, os.O_WRONLY)
    try:
        os.write(descriptor, str(value).encode())
    finally:
        os.close(descriptor)
