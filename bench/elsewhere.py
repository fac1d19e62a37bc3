"""Measures the CPU time that other programs use during a turn."""

import os
from pathlib import Path
from time import perf_counter

from attrs import frozen

from bench.marks import MARK, marked
from bench.processes import cpu_seconds

WORKING = (0, 1, 2, 5, 6, 7)  # user, nice, system, irq, softirq, steal: columns of /proc/stat


def busy_seconds(stat: str) -> float:
    """The total busy CPU time of the machine, from /proc/stat."""
    ticks = [int(word) for word in stat.partition("\n")[0].split()[1:]]
    return sum(ticks[column] for column in WORKING) / os.sysconf("SC_CLK_TCK")


@frozen
class Clocks:
    """The wall time, the CPU time of the machine, and that of this turn, in seconds."""

    time: float
    machine: float
    turn: dict[int, float]  # by process, because a process that ends must not count as negative

    @staticmethod
    def read() -> "Clocks":
        """Reads the clocks; runs in a process of a turn."""
        turn: dict[int, float] = {}
        for pid in {os.getpid(), *marked(os.environ.get(MARK, ""))}:
            try:
                turn[pid] = cpu_seconds(pid)
            except OSError:  # the process has just ended
                continue
        return Clocks(perf_counter(), busy_seconds(Path("/proc/stat").read_text()), turn)

    def elsewhere_since(self, before: "Clocks") -> float:
        """The mean number of cpus that other programs have used since `before`."""
        own = sum(seconds - before.turn.get(pid, 0.0) for pid, seconds in self.turn.items())
        elsewhere = max(0.0, self.machine - before.machine - own)
        return elsewhere / (self.time - before.time)


def available(cpus: int, elsewhere: float, machine_cpus: int) -> float:
    """How many of `cpus` were available: others use the remaining cpus of the machine first."""
    return min(cpus, max(0.0, machine_cpus - elsewhere))
