"""The names of governors' folders in a far store, which identify the owner of each.

A name contains the boot of the machine, the namespace of process ids, the process id, and the start
time of the process. So the next governor on the machine knows which folders have no owner any more.
"""

from __future__ import annotations

import os
from pathlib import Path

from rain.stream.machine import BOOT_ID

_PREFIX = "rain-spilled"


def own_name() -> str:
    """How the name begins of a folder of this process."""
    return f"{_PREFIX}-{_space()}-{os.getpid()}-{_started(os.getpid())}"


def _space() -> str:
    kernel = BOOT_ID.read_text(encoding="ascii").strip().replace("-", "")
    return f"{kernel[:12]}{os.stat('/proc/self/ns/pid').st_ino}"  # noqa: PTH116 # no file


def _started(pid: int) -> str:
    """When a process was started; "" if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except OSError:
        return ""


def is_abandoned(name: str) -> bool:
    """Whether a folder of this name belongs to a governor of this machine that has gone."""
    prefix, dash, rest = name.partition(f"{_PREFIX}-")
    space, *words = rest.split("-")
    if prefix or not dash or space != _space() or len(words) != 3 or not words[0].isdigit():
        return False
    return _started(int(words[0])) != words[1]
