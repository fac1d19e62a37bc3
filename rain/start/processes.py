"""Unique identification of processes: pid, start time, and boot id.

The kernel reuses pids. Together with the start time and the boot id, a pid identifies one process
forever.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

_PROC = Path("/proc")


@frozen
class ProcessMark:
    """The unique mark of a process."""

    pid: int
    start: int  # clock ticks since the boot
    boot: str  # the kernel's boot id


@frozen
class ProcessStat:
    """The status of a process from the kernel."""

    pid: int
    state: str
    group: int
    session: int
    start: int

    @property
    def runs(self) -> bool:
        """Whether the process runs, and is no zombie."""
        return self.state not in {"Z", "X"}


def spell_mark(mark: ProcessMark) -> str:
    return f"{mark.pid}:{mark.start}:{mark.boot}"


def parse_mark(text: str) -> ProcessMark | None:
    """Parses a mark of `spell_mark`, also with blanks as separators; None if it is not valid."""
    match text.replace(":", " ").split():
        case [pid, start, boot] if pid.isdecimal() and start.isdecimal():
            return ProcessMark(int(pid), int(start), boot)
        case _:
            return None


def parse_stat(text: str) -> ProcessStat:
    """Parses /proc/PID/stat."""
    # The second field is the program name in parentheses; it may contain blanks and parentheses.
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    return ProcessStat(
        int(head.split(None, 1)[0]), fields[0], int(fields[2]), int(fields[3]), int(fields[19])
    )


def boot() -> str:
    """The boot id of this machine."""
    return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def stat(pid: int) -> ProcessStat | None:
    """Reads the status of a process; None if it does not exist or cannot be seen."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    return parse_stat(text)


def mark(pid: int) -> ProcessMark | None:
    """Returns the mark of a process; None if there is no process with this pid."""
    found = stat(pid)
    return None if found is None else ProcessMark(pid, found.start, boot())


def is_running(process: ProcessMark) -> bool:
    """Whether exactly this process runs on this machine."""
    found = stat(process.pid)
    return (
        found is not None and found.runs and found.start == process.start and process.boot == boot()
    )


def open_process(process: ProcessMark) -> int | None:
    """Opens a pidfd of exactly this process, readable at its end; None if it is gone."""
    try:
        fd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return None
    # Checked after opening: the pidfd cannot refer to another process any more.
    if is_running(process):
        return fd
    os.close(fd)
    return None


def every_process() -> Iterator[ProcessStat]:
    """Yields all visible processes of this machine."""
    for entry in _PROC.iterdir():
        if entry.name.isdecimal():
            found = stat(int(entry.name))
            if found is not None and found.runs:
                yield found
