"""Which faults a round throws, and when: the same on each system, from one seed."""

from __future__ import annotations

from random import Random

from attrs import frozen

PARTS = ("worker", "node", "server")
EVERY_SECONDS = (1.0, 2.0)
STOPPED_SECONDS = (0.2, 5.0)
"""How long a process is stopped: shorter than the silence that any of the systems allows."""

ROUNDS = {
    "worker killed": ("worker",),
    "node killed": ("node",),
    "stopped": PARTS,
    "server killed": ("server",),
}
"""The rounds by name, with the parts that each of them hits. In all but one, parts are killed."""


@frozen
class Fault:
    after: float
    """Seconds since the one before."""

    part: str
    choice: float
    """Which of the processes of this part, from 0 to 1."""

    stopped: float
    """For how many seconds; 0 if the process is killed."""

    def victim(self, pids: list[int]) -> int:
        """The process that it hits."""
        return sorted(pids)[int(self.choice * len(pids))]


def plan(name: str, seed: int, seconds: float) -> list[Fault]:
    """The faults of a round that takes that long."""
    random, faults, spent = Random(f"{seed} {name}"), list[Fault](), 0.0
    while True:
        after = random.uniform(*EVERY_SECONDS)
        part = random.choice(ROUNDS[name])
        choice, stopped = random.random(), random.uniform(*STOPPED_SECONDS)
        spent += after
        if spent > seconds:
            return faults
        faults.append(Fault(after, part, choice, stopped if name == "stopped" else 0.0))
