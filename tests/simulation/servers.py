"""The servers of a cluster: one leads, another one may stand by; and how peers find who leads."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from rain.base.leading import Servers as Addresses
from tests.simulation.agenda import Agenda
from tests.simulation.disk import Disk
from tests.simulation.lease import Place, Store
from tests.simulation.network import Connection
from tests.simulation.server import Server

PORT = 7210

NOTICED = 3.0, 6.0
"""Seconds of silence after which a peer looks whether another server leads."""


class Servers:
    """All of them, with the folder and the place of the lease that they share."""

    def __init__(self, agenda: Agenda, count: int, folder: Path) -> None:
        self._agenda = agenda
        self.disk = Disk.make(folder)
        place, on_one_machine = Place(), count == 1 or agenda.random.random() < 0.5
        self.all = [
            Server(agenda, f"10.0.1.{number}", self.disk, Store(agenda, place, on_one_machine))
            for number in range(1, count + 1)
        ]
        self._on_one_machine = on_one_machine

    @property
    def leader(self) -> Server | None:
        """Who holds the newest lease; None if nobody does now."""
        leading = [one for one in self.all if one.is_there]
        return max(leading, key=lambda one: one.registration.generation, default=None)

    def close(self) -> None:
        """No file stays open at the end of a run."""
        for server in self.all:
            if server.lives:
                server.close()

    def standbys(self) -> list[Server]:
        return [one for one in self.all if one.is_alive and not one.leads]

    def addresses(self) -> Addresses:
        """Where a peer looks for them."""
        return Addresses([(one.host, PORT) for one in self.all])

    def found(self, addresses: Addresses) -> Server | None:
        """Who lets a peer in at the address that it tries now."""
        host, _ = addresses.current
        (server,) = [one for one in self.all if one.host == host]
        return server if server.is_there and not server.stands_still else None

    def stop_machine(self) -> None:
        """That of the leader; the other server may be on it, too."""
        for server in self.all:
            if server.is_alive and (server.leads or self._on_one_machine):
                server.die(machine=True)

    def stand_still(self, server: Server, seconds: float, *, before_it_speaks: bool) -> None:
        """Its peers notice that, and look for another one."""
        server.stand_still(seconds, before_it_speaks=before_it_speaks)
        for connection in server.connections:
            self._agenda.within(*NOTICED, partial(self._look, server, connection))

    def _look(self, server: Server, connection: Connection) -> None:
        """Whether another one leads. A peer asks again as long as it hears nothing."""
        leader = self.leader
        if server.stands_still and connection in server.connections:
            if leader is not None and leader is not server:
                connection.cut("another server leads")
            else:
                self._agenda.within(1.0, 5.0, partial(self._look, server, connection))
