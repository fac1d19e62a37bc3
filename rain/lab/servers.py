"""A model of several servers instead of one, each with its own sessions and governors.

A session goes to a server by consistent hashing, so that everybody finds it without asking, and
few sessions move when a server comes or goes. What that costs is tried here: a server may have
much work and few governors while another one is idle. Governors can be lent to help with that.

Work is a fluid in this model: a session has cpu-seconds, and uses up to some number of cpus at a
time. The sessions of a server share its cpus evenly.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from hashlib import blake2b
from math import inf
from statistics import fmean

from attrs import define, field, frozen

POINTS = 64
"""Places of each server on the ring. With more of them, servers get more equal shares."""

_DONE = 1e-9
"""Cpu-seconds that are left of a session that has ended, by rounding."""


@frozen
class SessionLoad:
    """A session: what it needs, and when it comes."""

    name: str
    arrives: float
    seconds: float  # of cpu
    widest: int  # cpus that it can use at a time


class Ring:
    """Which server has which session."""

    def __init__(self, servers: int) -> None:
        places = [
            (_hashed(f"server {server}, point {point}"), server)
            for server in range(servers)
            for point in range(POINTS)
        ]
        places.sort()
        self._places = [place for place, _ in places]
        self._servers = [server for _, server in places]

    def server_of(self, session: str) -> int:
        """The next server on the ring."""
        found = bisect(self._places, _hashed(session))
        return self._servers[found % len(self._servers)]


def _hashed(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


@frozen
class Trial:
    """Servers, and the governors that they share."""

    servers: int
    governors: int
    cpus: int = 4  # of each governor
    lend_every: float = inf
    """Seconds from one look at the waiting work to the next; then idle governors are lent."""
    keeps: float = 0.25
    """The part of its governors that an idle server does not lend, for sessions that come."""
    move_seconds: float = 2.0
    """A governor that changes its server works for nobody in that time."""


@frozen
class SessionTimes:
    """How long sessions took, beside what they need when they are alone."""

    stretch: float  # the mean of that ratio
    worst: float  # one of twenty sessions is stretched by more
    makespan: float
    lent: int  # how often a governor went to another server


@define
class _Running:
    demand: SessionLoad
    left: float
    rate: float = 0.0


@define
class _Server:
    cpus: float
    running: list[_Running] = field(factory=list)

    def share(self) -> None:
        """Gives each session an equal part, or as much as it can use."""
        parts = fair_parts([one.demand.widest for one in self.running], self.cpus)
        for one, part in zip(self.running, parts, strict=True):
            one.rate = part

    def wanted(self) -> int:
        """The cpus that its sessions could use."""
        return sum(one.demand.widest for one in self.running)


def fair_parts(wanted: Sequence[float], amount: float) -> list[float]:
    """Equal parts of an amount; one that wants less leaves the rest to the others."""
    parts, others = [0.0] * len(wanted), len(wanted)
    for number in sorted(range(len(wanted)), key=wanted.__getitem__):
        parts[number] = min(wanted[number], amount / others)
        amount -= parts[number]
        others -= 1
    return parts


def play(trial: Trial, demands: Sequence[SessionLoad]) -> SessionTimes:
    """Plays these sessions, and says how long they took."""
    return _Game(trial, demands).played()


class _Game:
    def __init__(self, trial: Trial, demands: Sequence[SessionLoad]) -> None:
        self._trial = trial
        self._ring = Ring(trial.servers)
        self._coming = sorted(demands, key=lambda demand: -demand.arrives)
        every, more = divmod(trial.governors, trial.servers)
        self._governors = [every + (number < more) for number in range(trial.servers)]
        self._servers = [_Server(trial.cpus * count) for count in self._governors]
        self._moving: list[tuple[float, int]] = []  # when a governor is at its new server
        self._now = 0.0
        self._looks = trial.lend_every
        self._stretched: list[float] = []
        self._lent = 0
        self._total = trial.governors * trial.cpus
        self._kept = trial.keeps * self._total / trial.servers

    def played(self) -> SessionTimes:
        while self._coming or any(server.running for server in self._servers):
            self._go_on(self._next_time())
            self._end_sessions()
            self._start_sessions()
            self._end_moves()
            if self._now >= self._looks:
                self._looks += self._trial.lend_every
                self._lend()
            for server in self._servers:
                server.share()
        ordered = sorted(self._stretched)
        worst = ordered[int(0.95 * (len(ordered) - 1))]
        return SessionTimes(fmean(ordered), worst, self._now, self._lent)

    def _next_time(self) -> float:
        times = [self._looks, *(due for due, _ in self._moving)]
        times += [demand.arrives for demand in self._coming[-1:]]
        for server in self._servers:
            times += [self._now + one.left / one.rate for one in server.running if one.rate]
        return min(times)

    def _go_on(self, time: float) -> None:
        for server in self._servers:
            for one in server.running:
                one.left -= one.rate * (time - self._now)
        self._now = time

    def _end_sessions(self) -> None:
        for server in self._servers:
            for one in server.running:
                if one.left <= _DONE * one.demand.seconds:
                    alone = self._alone(one.demand)
                    self._stretched.append((self._now - one.demand.arrives) / alone)
            server.running = [
                one for one in server.running if one.left > _DONE * one.demand.seconds
            ]

    def _alone(self, demand: SessionLoad) -> float:
        return demand.seconds / min(demand.widest, self._total)

    def _start_sessions(self) -> None:
        while self._coming and self._coming[-1].arrives <= self._now:
            demand = self._coming.pop()
            server = self._servers[self._ring.server_of(demand.name)]
            server.running.append(_Running(demand, demand.seconds))

    def _end_moves(self) -> None:
        for due, number in self._moving:
            if due <= self._now:
                self._servers[number].cpus += self._trial.cpus
        self._moving = [move for move in self._moving if move[0] > self._now]

    def _lend(self) -> None:
        """Governors go from servers that have more than their fair part to those that have less."""
        cpus = self._trial.cpus
        wanted = [max(server.wanted(), self._kept) for server in self._servers]
        fair = fair_parts(wanted, self._total)
        has = [server.cpus for server in self._servers]
        for _, number in self._moving:  # already on their way there
            has[number] += cpus
        lacks = [part - own for part, own in zip(fair, has, strict=True)]
        while True:
            poorest = max(range(len(lacks)), key=lacks.__getitem__)
            richest = min(range(len(lacks)), key=lambda number: self._lack(lacks, number))
            spare = -self._lack(lacks, richest)
            starves = lacks[poorest] > 0 and has[poorest] < cpus  # and would do so for ever
            if spare == -inf or not (starves or (lacks[poorest] >= cpus and spare >= cpus)):
                return
            for number, change in ((poorest, cpus), (richest, -cpus)):
                has[number] += change
                lacks[number] -= change
            self._servers[richest].cpus -= cpus
            self._moving.append((self._now + self._trial.move_seconds, poorest))
            self._lent += 1

    def _lack(self, lacks: Sequence[float], number: int) -> float:
        """A server can only give governors that have arrived."""
        return lacks[number] if self._servers[number].cpus >= self._trial.cpus else inf
