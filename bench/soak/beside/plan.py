"""Which faults a round throws, and when: the same on each system, from one seed."""

from __future__ import annotations

from random import Random

from attrs import frozen

from bench.soak.cuts import CUT_SECONDS

PARTS = ("worker", "node", "server")
LINK = "link"
EVERY_SECONDS = (1.0, 2.0)
CUT_EVERY_SECONDS = (3.0, 6.0)
"""Time between two faults; with more cuts than this nothing would get through at all."""

STOPPED_SECONDS = (0.2, 5.0)
"""How long a process is stopped: shorter than the silence that any of the systems allows."""

ROUNDS = {
    "worker killed": ("worker",),
    "node killed": ("node",),
    "stopped": PARTS,
    "server killed": ("server",),
    "link cut": (LINK,),
}
"""The rounds by name, with the parts that each of them hits. Most of them are killed."""


@frozen
class Fault:
    after: float
    """Seconds since the one before."""

    part: str
    choice: float
    """Which of the processes of this part, from 0 to 1."""

    stopped: float
    """For how many seconds it is stopped or cut; 0 if the process is killed."""

    def victim(self, pids: list[int]) -> int:
        """The process that it hits."""
        return sorted(pids)[int(self.choice * len(pids))]


def plan(name: str, seed: int, seconds: float) -> list[Fault]:
    """The faults of a round that takes that long."""
    random, faults, spent = Random(f"{seed} {name}"), list[Fault](), 0.0
    is_cut = ROUNDS[name] == (LINK,)
    while True:
        after = random.uniform(*(CUT_EVERY_SECONDS if is_cut else EVERY_SECONDS))
        part = random.choice(ROUNDS[name])
        choice = random.random()
        stopped = random.uniform(*(CUT_SECONDS if is_cut else STOPPED_SECONDS))
        spent += after
        if spent > seconds:
            return faults
        faults.append(Fault(after, part, choice, stopped if is_cut or name == "stopped" else 0.0))
