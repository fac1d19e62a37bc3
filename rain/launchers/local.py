"""Jobs that are processes of this machine, for clusters that grow and shrink without a queue."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from attrs import Factory, define

from rain.base.errors import StartError
from rain.launchers.interface import Job, JobState, Standing

_START = 19  # the place of the start time among the fields that follow the name of a program


@define(eq=False)
class LocalJobs:
    """The launcher `local`. The number of a job is that of its process, and when that started."""

    name: str = "local"
    cpus_variable: str = ""
    _children: dict[str, subprocess.Popen[bytes]] = Factory(dict)

    def submit(self, job: Job) -> str:
        try:
            with job.output.open("ab") as output:
                child = subprocess.Popen(
                    ["/bin/sh", "-c", job.script],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
        except OSError as error:
            raise StartError(f"{job.name} cannot be started: {error}") from error
        number = f"{child.pid}.{_start_of(child.pid)}"
        self._children[number] = child
        return number

    def look(self, numbers: Sequence[str]) -> Mapping[str, Standing]:
        return {number: self._standing(number) for number in numbers}

    def _standing(self, number: str) -> Standing:
        runs = _runs(number)  # first, so that a child which does not run has a status
        child = self._children.get(number)
        status = None if child is None else child.poll()
        if status is not None:
            how = f"signal {-status}" if status < 0 else f"status {status}"
            return Standing(JobState.ENDED, how if status else "")
        return Standing(JobState.RUNNING if runs else JobState.ENDED)

    def drain(self, numbers: Sequence[str]) -> None:
        """Lets governors leave in order."""
        self._signal(numbers, signal.SIGUSR2)

    def cancel(self, numbers: Sequence[str]) -> None:
        self._signal(numbers, signal.SIGTERM)

    def _signal(self, numbers: Sequence[str], what: signal.Signals) -> None:
        for number in numbers:
            with suppress(ProcessLookupError):
                descriptor = os.pidfd_open(_pid(number))
                try:
                    if _runs(number):  # looked at when it is open: it is no other process
                        signal.pidfd_send_signal(descriptor, what)
                finally:
                    os.close(descriptor)


def _pid(number: str) -> int:
    return int(number.partition(".")[0])


def _runs(number: str) -> bool:
    return number == f"{_pid(number)}.{_start_of(_pid(number))}"


def _start_of(pid: int) -> str:
    """When a process has started, in ticks since the boot; "" for one that has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] in {"Z", "X"} else fields[_START]
