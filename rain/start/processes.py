"""Processes that cannot be mistaken for others: a number, when it started, and on which boot.

The number of a process that has ended is given to another one sooner or later. Together with the
start time it names one process of one run of a machine's kernel, for ever.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

_PROC = Path("/proc")


@frozen
class ProcessMark:
    """One process."""

    pid: int
    start: int  # clock ticks since the boot
    boot: str  # the kernel's name for the boot


@frozen
class ProcessStat:
    """What the kernel says of a process."""

    pid: int
    state: str
    group: int
    session: int
    start: int

    @property
    def runs(self) -> bool:
        """Whether it is more than the memory of a process that nobody has asked about yet."""
        return self.state not in {"Z", "X"}


def spell_mark(mark: ProcessMark) -> str:
    return f"{mark.pid}:{mark.start}:{mark.boot}"


def parse_mark(text: str) -> ProcessMark | None:
    """A mark as `spell_mark` writes it, or with blanks; None if it is none."""
    match text.replace(":", " ").split():
        case [pid, start, boot] if pid.isdecimal() and start.isdecimal():
            return ProcessMark(int(pid), int(start), boot)
        case _:
            return None


def parse_stat(text: str) -> ProcessStat:
    """The text of /proc/PID/stat."""
    # The second field is the program's name in brackets, and may hold blanks and brackets.
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    return ProcessStat(
        int(head.split(None, 1)[0]), fields[0], int(fields[2]), int(fields[3]), int(fields[19])
    )


def boot() -> str:
    """The name of this run of this machine's kernel."""
    return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def stat(pid: int) -> ProcessStat | None:
    """What the kernel says of a process; None when there is none, or none that can be seen."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    return parse_stat(text)


def mark(pid: int) -> ProcessMark | None:
    """The mark of a process; None when there is none of that number."""
    found = stat(pid)
    return None if found is None else ProcessMark(pid, found.start, boot())


def is_running(process: ProcessMark) -> bool:
    """Whether exactly this process runs on this machine."""
    found = stat(process.pid)
    return (
        found is not None and found.runs and found.start == process.start and process.boot == boot()
    )


def open_process(process: ProcessMark) -> int | None:
    """A descriptor of exactly this process, that can be read once it has ended; or None."""
    try:
        fd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return None
    # Asked after opening: the descriptor cannot move to another process any more.
    if is_running(process):
        return fd
    os.close(fd)
    return None


def every_process() -> Iterator[ProcessStat]:
    """All processes of this machine that can be seen."""
    for entry in _PROC.iterdir():
        if entry.name.isdecimal():
            found = stat(int(entry.name))
            if found is not None and found.runs:
                yield found
