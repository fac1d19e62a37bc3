"""The processes of a turn, found by a mark in their environment, wherever they have gone."""

import os
import select
import signal
from contextlib import suppress
from pathlib import Path

MARK = "RAIN_BENCH_TURN"
"""The variable that a turn passes on to whatever it starts."""

END_LIMIT_SECONDS = 10


def marked(mark: str) -> list[int]:
    """All processes that carry the mark."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it is somebody else's, or it has just ended
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def end_marked(mark: str) -> list[int]:
    """Ends all processes that carry the mark; who they were."""
    found = marked(mark)
    for pid in found:
        with suppress(ProcessLookupError):  # it has ended by itself
            _end(pid)
    return found


def _end(pid: int) -> None:
    """Kills a process that is no child of ours, and waits for its end."""
    process = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(process, signal.SIGKILL)
        select.select([process], [], [], END_LIMIT_SECONDS)
    finally:
        os.close(process)
