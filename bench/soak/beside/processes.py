"""Processes of a cluster and those that they have started, also the ones whose parent has ended.

The driver of the soak takes orphans in (`rain.daemon.template.reap_orphans`). So whatever a cluster
has started is below it, and nothing of it is missed when the cluster is ended.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from bench.soak.cluster import descendants, send

POLITE_SECONDS = 15.0
"""How long daemons have to end in order."""

GLANCE_SECONDS = 0.1


def words(pid: int) -> str:
    """The command of a process; nothing if it has ended."""
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def kill_all(pids: list[int]) -> None:
    """Kills processes and all below them. They are stopped first, so that none starts another."""
    known: set[int] = set()
    while more := {p for pid in pids for p in (pid, *descendants(pid))} - known:
        for pid in more:
            send(pid, signal.SIGSTOP)
        known |= more
    for pid in known:
        send(pid, signal.SIGKILL)


def bury_orphans(own: set[int]) -> None:
    """Lets orphans go that have ended; not our own children, whose status others want."""
    for task in Path("/proc/self/task").iterdir():
        for child in (task / "children").read_text(encoding="ascii").split():
            if int(child) not in own:
                os.waitpid(int(child), os.WNOHANG)


def end_all(daemons: list[int], own: set[int]) -> None:
    """Ends the daemons in order, and then by force whatever is left below this process."""
    for number in (signal.SIGCONT, signal.SIGTERM):
        for pid in daemons:
            send(pid, number)
    late = time.monotonic() + POLITE_SECONDS
    while left := _alive(own):
        if time.monotonic() > late:
            kill_all(left)
        time.sleep(GLANCE_SECONDS)


def _alive(own: set[int]) -> list[int]:
    bury_orphans(own)
    return [pid for pid in descendants(os.getpid()) if words(pid)]  # a zombie has no words
