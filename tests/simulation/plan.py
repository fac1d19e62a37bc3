"""What a simulated run is made of: how large it is, and which faults come when."""

from __future__ import annotations

from enum import StrEnum
from random import Random

from attrs import frozen

from tests.simulation.agenda import START

FAULTS_END = 40.0
"""Seconds after which nothing breaks any more, so that all must come to its end."""


class Kind(StrEnum):
    """What can break."""

    CUT_GOVERNOR = "the connection of a governor is cut"
    CUT_CLIENT = "the connection of a client is cut"
    KILL_GOVERNOR = "a governor is killed"
    KILL_EXECUTOR = "an executor is killed"
    DRAIN = "a governor drains"
    PARTITION = "two governors cannot reach each other for a while"
    KILL_SERVER = "the server is killed"
    FULL_DISK = "the server's disk is full"
    STOP_MACHINE = "the server's machine stops, and what was not synced is lost"
    KILL_STANDBY = "a server that stands by is killed"
    STOP_SERVER = "a server stands still for a while"
    LEASE_AWAY = "a server cannot reach the place of the lease for a while"
    CLIENT_VANISHES = "the machine of a client stops"


LOSSLESS = (
    Kind.CUT_GOVERNOR,
    Kind.CUT_CLIENT,
    Kind.KILL_SERVER,
    Kind.FULL_DISK,
    Kind.KILL_STANDBY,
    Kind.LEASE_AWAY,
)
"""After these nothing is computed again that was not moved elsewhere before it had finished."""


OF_SEVERAL = (Kind.KILL_STANDBY, Kind.LEASE_AWAY)
"""These need a second server."""


@frozen
class Fault:
    """Something breaks."""

    time: float
    kind: Kind
    which: int  # of the things of its kind

    def __str__(self) -> str:
        return f"{self.time:.3f} {self.kind} ({self.which})"


@frozen
class Plan:
    """A run, to the last detail."""

    seed: int
    servers: int
    clients: int
    governors: int
    parts: int  # submissions of each client
    faults: tuple[Fault, ...]

    @property
    def is_lossless(self) -> bool:
        return all(fault.kind in LOSSLESS for fault in self.faults)


def plan_of(seed: int) -> Plan:
    """The run of a seed. Each has only some kinds of faults: each kind is met alone, too."""
    random = Random(seed)
    kinds = random.sample(list(Kind), random.choice([0, 1, 1, 2, 3, len(Kind)]))
    count = random.choice([1, 2, 5, 20]) if kinds else 0
    faults = [
        Fault(
            START + random.uniform(0.0, FAULTS_END) ** random.choice([1.0, 0.5]),
            random.choice(kinds),
            random.randrange(1000),
        )
        for _ in range(count)
    ]
    return Plan(
        seed,
        servers=2 if set(kinds) & set(OF_SEVERAL) else random.choice([1, 1, 2]),
        clients=random.choice([1, 1, 2, 3]),
        governors=random.choice([1, 2, 3]),
        parts=random.choice([1, 2, 3]),
        faults=tuple(sorted(faults, key=lambda fault: fault.time)),
    )
