"""Ends processes: sends SIGTERM, waits for them, and kills them after some time.

`python -m rain.start.ending SECONDS PID:START:BOOT ...` does so on the machine where it runs, and
prints one line with the result for each. Processes of other machines are ended this way.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from enum import StrEnum
from time import monotonic

from attrs import define, frozen

from rain.start.processes import (
    ProcessMark,
    boot,
    every_process,
    open_process,
    parse_mark,
    spell_mark,
)

GRACE = 10.0
"""Seconds that processes have to end before they are killed, unless a user gives others."""

_AFTER_FORCE = 5.0  # seconds that the kernel may need to remove a killed process


class ProcessEnding(StrEnum):
    """How a process ended."""

    GONE = "gone"  # ended before it was asked to
    STOPPED = "stopped"
    KILLED = "killed"


@frozen
class _Open:
    """A running process with its pidfd, so that signals can reach only this process."""

    fd: int

    def signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # it may just have ended
            signal.pidfd_send_signal(self.fd, number)

    def runs(self) -> bool:
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        return not poll.poll(0)


@define(eq=False)
class _Victim:
    """A session: all its processes by pid, and those in the process group of its leader."""

    session: dict[int, _Open]
    group: list[_Open]

    def runs(self) -> bool:
        return any(process.runs() for process in self.group)

    def has_rest(self) -> bool:
        return any(process.runs() for process in self.session.values())


def end_processes(marks: Sequence[ProcessMark], grace: float) -> list[ProcessEnding]:
    """Ends sessions, given by their leaders, all at the same time; returns how each ended."""
    with ExitStack() as stack:
        victims: dict[int, _Victim] = {}
        for mark in marks:
            leader = _opened(mark, stack)
            if leader is not None:
                victims[mark.pid] = _Victim({mark.pid: leader}, [leader])
        _complete(victims, stack)
        for pid in victims:
            # Whole groups, not single processes: a process forked in between could be missed.
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGTERM)
        _complete({pid: victim for pid, victim in victims.items() if victim.has_rest()}, stack)
        asked = [process.fd for victim in victims.values() for process in victim.group]
        wait_readable(asked, grace)
        endings = [_judge(victims.get(mark.pid)) for mark in marks]
        _end_by_force({pid: victim for pid, victim in victims.items() if victim.has_rest()}, stack)
    return endings


def _judge(victim: _Victim | None) -> ProcessEnding:
    if victim is None:
        return ProcessEnding.GONE
    return ProcessEnding.KILLED if victim.runs() else ProcessEnding.STOPPED


def _end_by_force(victims: dict[int, _Victim], stack: ExitStack) -> None:
    """Kills whole sessions that still have running processes."""
    # A stopped process starts no others: once no new one is found, none can be missed.
    while True:
        doomed = [process for victim in victims.values() for process in victim.session.values()]
        for process in doomed:
            process.signal(signal.SIGSTOP)
        if not _complete(victims, stack):
            break
    for process in doomed:
        process.signal(signal.SIGKILL)
    wait_readable([process.fd for process in doomed], _AFTER_FORCE)


def _complete(victims: dict[int, _Victim], stack: ExitStack) -> bool:
    """Finds unknown processes of the sessions; returns whether there are any."""
    if not victims:
        return False
    found = False
    now = boot()
    for other in every_process():
        victim = victims.get(other.session)
        if victim is None or other.pid in victim.session:
            continue
        member = _opened(ProcessMark(other.pid, other.start, now), stack)
        if member is not None:
            found = True
            victim.session[other.pid] = member
            if other.group == other.session:
                victim.group.append(member)
    return found


def _opened(process: ProcessMark, stack: ExitStack) -> _Open | None:
    fd = open_process(process)
    if fd is None:
        return None
    stack.callback(os.close, fd)
    return _Open(fd)


def wait_readable(fds: Iterable[int], seconds: float) -> bool:
    """Waits until each has been readable at some time; returns whether that was in time."""
    deadline = monotonic() + seconds
    poll = select.poll()
    waiting = set(fds)
    for fd in waiting:
        poll.register(fd, select.POLLIN)
    while waiting:
        ready = poll.poll(max(0.0, deadline - monotonic()) * 1000)
        if not ready:
            return False
        for fd, _ in ready:
            poll.unregister(fd)
            waiting.discard(fd)
    return True


def main(arguments: Sequence[str]) -> int:
    """Ends the given processes of this machine."""
    marks = [found for text in arguments[1:] if (found := parse_mark(text)) is not None]
    endings = end_processes(marks, float(arguments[0]))
    for process, ending in zip(marks, endings, strict=True):
        sys.stdout.write(f"{spell_mark(process)} {ending}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
