"""The shared place of the lease in the simulation, and clocks of machines that do not agree."""

from __future__ import annotations

from attrs import Factory, define

from rain.server.lease.rules import NOBODY, Record
from rain.server.lease.store import LeaseStoreError
from tests.simulation.agenda import Agenda


@define(eq=False)
class Place:
    """What all servers share."""

    record: Record = NOBODY
    living: set[str] = Factory(set)  # names of servers whose processes live


@define(eq=False)
class Store:
    """Implements `rain.server.lease.store.LeaseStore` for one server."""

    agenda: Agenda
    place: Place
    knows_ends: bool  # the servers are on one machine, and so each sees when the other one ends
    away_until: float = 0.0  # the place is out of reach for this server until then
    where: str = "the place of the simulation"

    def read(self) -> Record:
        self._reach()
        return self.place.record

    def put(self, before: Record, after: Record) -> bool:
        self._reach()
        if self.place.record != before:
            return False
        self.place.record = after
        return True

    def has_ended(self, record: Record) -> bool:
        return self.knows_ends and record.holder.name not in self.place.living

    def close(self) -> None:
        pass

    def _reach(self) -> None:
        if self.agenda.now < self.away_until:
            raise LeaseStoreError("no route to the place")


@define(eq=False)
class Clock:
    """That of one machine: it goes a little too fast or too slow, and began somewhere else."""

    agenda: Agenda
    rate: float
    ahead: float

    @staticmethod
    def of(agenda: Agenda) -> Clock:
        random = agenda.random
        return Clock(agenda, random.uniform(0.96, 1.04), random.uniform(0.0, 5000.0))

    def __call__(self) -> float:
        return self.agenda.now * self.rate + self.ahead

    def when(self, time: float) -> float:
        """The time of the agenda when this clock shows another one."""
        return (time - self.ahead) / self.rate
