"""Finds the processes of a turn by a mark in their environment."""

import os
import select
import signal
from contextlib import suppress
from pathlib import Path

MARK = "RAIN_BENCH_TURN"
"""The environment variable that all processes of a turn inherit."""

END_LIMIT_SECONDS = 10


def marked(mark: str) -> list[int]:
    """All processes with the mark."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # another user's process, or one that has just ended
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def end_marked(mark: str) -> list[int]:
    """Kills all processes with the mark; returns their pids."""
    found = marked(mark)
    for pid in found:
        with suppress(ProcessLookupError):  # it has ended already
            _end(pid)
    return found


def _end(pid: int) -> None:
    """Kills a process that is not our child and waits for its end."""
    process = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(process, signal.SIGKILL)
        select.select([process], [], [], END_LIMIT_SECONDS)
    finally:
        os.close(process)
