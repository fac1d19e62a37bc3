"""The CPU time that other programs take from a turn: on a busy machine it gets only the rest."""

import os
from pathlib import Path
from time import perf_counter

from attrs import frozen

from bench.marks import MARK, marked
from bench.processes import cpu_seconds

WORKING = (0, 1, 2, 5, 6, 7)  # user, nice, system, irq, softirq, steal: columns of /proc/stat


def busy_seconds(stat: str) -> float:
    """The CPU time that the machine has spent on whatever it was, from the text of /proc/stat."""
    ticks = [int(word) for word in stat.partition("\n")[0].split()[1:]]
    return sum(ticks[column] for column in WORKING) / os.sysconf("SC_CLK_TCK")


@frozen
class Clocks:
    """Seconds: the time of day, the CPU time of the machine, and that of this turn."""

    time: float
    machine: float
    turn: dict[int, float]  # by process: one that has ended since must not count as negative

    @staticmethod
    def read() -> "Clocks":
        """In a process of a turn."""
        turn: dict[int, float] = {}
        for pid in {os.getpid(), *marked(os.environ.get(MARK, ""))}:
            try:
                turn[pid] = cpu_seconds(pid)
            except OSError:  # it has just ended
                continue
        return Clocks(perf_counter(), busy_seconds(Path("/proc/stat").read_text()), turn)

    def elsewhere_since(self, before: "Clocks") -> float:
        """How many cpus everybody else has had meanwhile, in the mean."""
        own = sum(seconds - before.turn.get(pid, 0.0) for pid, seconds in self.turn.items())
        elsewhere = max(0.0, self.machine - before.machine - own)
        return elsewhere / (self.time - before.time)


def available(cpus: int, elsewhere: float, machine_cpus: int) -> float:
    """How many of so many cpus were there: the others take those first that nobody else wants."""
    return min(cpus, max(0.0, machine_cpus - elsewhere))
