"""A server of the simulation: it stands by, leads with real turns and a real journal, and dies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from rain.base.errors import InvariantError
from rain.base.ids import ObjectId
from rain.base.wire.update import Update
from rain.local.log import logger
from rain.rpc.handlers import FencedError, GovernorHello
from rain.scheduler.rain import RainScheduler
from rain.server.core.inbox import Inbox
from rain.server.core.messages import Effect, ServerReturned, ServerStoodStill
from rain.server.core.reactor import Reactor
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from rain.server.journal.journal import open_journal
from rain.server.journal.keeping import JournalKeeper
from rain.server.journal.writer import JournalEnded, Writer
from rain.server.leading import Candidate, FollowedJournal, read_to_end
from rain.server.lease.lease import Lease, LeaseLostError
from rain.server.lease.rules import BEATS, LeaseHolder, LeaseWatch
from rain.server.lease.store import LeaseStoreError
from rain.server.links import Links
from rain.server.registration import Registration
from rain.stream.holder import Held
from tests.simulation.agenda import Agenda, Daemon
from tests.simulation.disk import Disk, SimulatedWriter
from tests.simulation.lease import Clock, Store
from tests.simulation.links import SimulatedLink, ToGovernor
from tests.simulation.network import Connection

if TYPE_CHECKING:
    from tests.simulation.client import Client
    from tests.simulation.governor import Governor

SETTINGS = ReactorSettings(
    returns=True,
    debug=True,
    governor_grace=20.0,
    client_grace=60.0,
    grown_at_once=8,
    let_go_at_once=8,
)
"""Nobody is away for as long as that. Large is what has more than eight nodes."""

LEASE_SECONDS = 5.0

LOOKS_EVERY = 0.1, 0.3
"""Seconds between two looks of a standby."""

COMPACTS = 0.02
"""How probable it is, after each sync, that a snapshot is begun."""


class Server(Daemon):
    """All lives of one server, one after the other: each begins as a standby."""

    def __init__(self, agenda: Agenda, host: str, disk: Disk, store: Store) -> None:
        super().__init__(agenda)
        self.host = host
        self.disk = disk
        self.store = store
        self.leads = False
        self.connections: list[Connection] = []
        self.reactor: Reactor
        self.registration: Registration
        self._clock = Clock.of(agenda)
        self._holder: LeaseHolder
        self._following: FollowedJournal
        self._lease: Lease
        self._inbox: Inbox
        self._links: Links
        self._keeper: JournalKeeper
        self._writer: SimulatedWriter | None = None
        self._syncs = False
        self._stands_still = False
        self._freezes_for: float | None = None  # as soon as it has something to say
        self._delayed: list[Callable[[], object]] = []  # while it stands still

    @property
    def state(self) -> State:
        return self.reactor.state

    @property
    def is_there(self) -> bool:
        """Whether it is alive and leads, as far as it knows itself."""
        return self.is_alive and self.leads

    @property
    def stands_still(self) -> bool:
        return self._stands_still

    # Its life.

    def start(self) -> None:
        """A new process, which waits for the lease."""
        self.live()
        self.leads = self._stands_still = self._syncs = False
        self._freezes_for, self._delayed = None, []
        name = f"{self.host}, life {self.lives}"
        self.store.place.living.add(name)
        self._holder = LeaseHolder(name, f"{self.host}:7210", self.host)
        candidate = Candidate(
            self.disk.folder, self.store, self._holder, LEASE_SECONDS, logger(), self._clock
        )
        self._following = FollowedJournal(self.disk.folder, SETTINGS, logger())
        self._stand_by(candidate, LeaseWatch())

    def _stand_by(self, candidate: Candidate, watching: LeaseWatch) -> None:
        """Looks whether it may lead by now."""
        try:
            found, has_ended = candidate.look(watching)
            if watching.may_take(has_ended=has_ended):
                lease = candidate.take(found)
                if lease is not None:
                    self._lead(lease)
                    return
        except LeaseStoreError:
            pass
        self._following.follow()
        self.later(*LOOKS_EVERY, partial(self._stand_by, candidate, watching))

    def _lead(self, lease: Lease) -> None:
        """Begins where the last one has ended."""
        self._lease = lease
        folder = self.disk.folder
        recovered = read_to_end(folder, SETTINGS, self._following.recovery)
        journal = open_journal(folder, recovered, lease.generation, logger())
        self.disk.read_by_a_leader()
        try:
            self._writer = SimulatedWriter(self.disk, journal)
        except JournalEnded:
            self.end_by_itself()
            return
        state = journal.state
        state.status.name = "rain"
        self.reactor = Reactor(RainScheduler, state, notes_plans=True)
        self._inbox = Inbox(self.ring, lambda: self.ring_at(self.agenda.now + 0.5))
        self._links = Links(self._inbox, logger(), journal.uploads, state)
        self._keeper = JournalKeeper(cast("Writer", self._writer), self._carry, lease=lease)
        self.registration = Registration(state, self._links, journal.uploads, self.turn, logger())
        self.leads = True
        if journal.goes_on:
            self._inbox.from_governor(ServerReturned())
        self._beat()

    def _beat(self) -> None:
        """What the threads of a lease do."""
        self._lease.renew()
        try:
            self._lease.check()
        except LeaseLostError:
            self.end_by_itself()
            return
        seconds = LEASE_SECONDS / BEATS
        self.later(seconds * 0.9, seconds * 1.1, self._beat)

    def end_by_itself(self) -> None:
        """It cannot go on, and lets the lease go."""
        self._lease.let_go()
        self.die()

    def die(self, *, machine: bool = False) -> None:
        """Is killed; if its machine stops, what was not synced is lost."""
        self.is_alive = self.leads = False
        self.store.place.living.discard(self._holder.name)
        if self._writer is not None and machine:
            self._writer.lose_what_is_not_synced(self.agenda.random)
        self.close()
        for connection in self.connections:
            connection.lost_at_server = _nothing
            connection.cut("the server is gone")
        self.connections.clear()
        self.agenda.within(0.05, 3.0, self._come_back)

    def close(self) -> None:
        """No file stays open."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._following.recovery is not None:
            self._following.recovery.close()

    def _come_back(self) -> None:
        if not self.is_alive:
            self.disk.is_full = False
            self.start()

    # It stands still: nothing happens in its process, and what comes waits.

    def stand_still(self, seconds: float, *, before_it_speaks: bool) -> None:
        """At once, or between its next look at the lease and what it does then."""
        if before_it_speaks and self.leads:
            self._freezes_for = seconds
        else:
            self._stop(seconds)

    def _stop(self, seconds: float) -> None:
        if not self._stands_still:
            self._stands_still, self._freezes_for = True, None
            life = self.lives
            self.agenda.after(seconds, partial(self._go_on, life, seconds))

    def _go_on(self, life: int, seconds: float) -> None:
        if self.is_alive and self.lives == life:
            self._stands_still = False
            if self.leads:
                self._inbox.from_governor(ServerStoodStill(seconds))
            delayed, self._delayed = self._delayed, []
            for do in delayed:
                do()

    def in_this_life(self, do: Callable[[], object]) -> Callable[[], object]:
        life = self.lives

        def unless_dead() -> None:
            if self.is_alive and self.lives == life:
                if self._stands_still:
                    self._delayed.append(unless_dead)
                else:
                    do()

        return unless_dead

    def _carry(self, effect: Effect) -> None:
        """Does what follows from a turn; it may have stood still since it has looked at its
        lease."""
        if self._freezes_for is not None:
            self._stop(self._freezes_for)
        if self._stands_still:
            self._delayed.append(self.in_this_life(partial(self._links.carry, effect)))
        else:
            self._links.carry(effect)

    # Turns.

    def turn(self) -> None:
        quiet = self._inbox.quiet
        given = self._inbox.take(self.agenda.now, 0.0)
        try:
            self._keeper.turn(self.reactor, given, quiet=quiet)
        except (JournalEnded, LeaseLostError):
            self.end_by_itself()
            return
        self.reactor.settle()
        self.ring_at(max(self.reactor.next_time(), self.agenda.now))
        if not self._syncs:
            self._sync()

    def _sync(self) -> None:
        assert self._writer is not None
        self._syncs = True
        synced = partial(self._synced, self._writer.turns, self._writer.begin_sync())
        self.later(0.001, 0.05, synced)

    def _synced(self, until: int, end: Callable[[], None]) -> None:
        writer = self._writer
        assert writer is not None
        try:
            end()
            self._keeper.keep_promises(until)
        except (JournalEnded, LeaseLostError):
            self.end_by_itself()
            return
        self._syncs = False
        if self.agenda.random.random() < COMPACTS:
            writer.begin_next(self.state)
            self.later(1.0, 2.0, partial(self._compact, writer))
        if writer.is_in_a_new_file or writer.turns > until:
            self._sync()

    def _compact(self, writer: SimulatedWriter) -> None:
        if not writer.is_in_a_new_file:
            writer.compact()

    # Governors.

    def greet_governor(
        self, connection: Connection, hello: GovernorHello, governor: Governor
    ) -> None:
        link = ToGovernor(connection, governor)
        generation = self.registration.generation
        try:
            handler = self.registration.join_governor(hello, link)
        except FencedError as error:
            reason = str(error)
            connection.down.say(lambda: governor.fenced(connection, reason, generation))
            connection.close_by_server(reason)
            return
        link.handler = handler
        connection.lost_at_server = self._told(partial(handler.left, at_fault=False))
        returns, applied = handler.returns, handler.applied
        connection.down.say(
            lambda: governor.registered(connection, link, returns, applied, generation)
        )

    def updated(self, link: ToGovernor, update: Update) -> None:
        """News of a governor."""
        handler = link.handler
        if handler is None:
            raise InvariantError("news of a governor that is not registered")
        handler.update(update)
        applied = handler.applied
        link.connection.down.say(lambda: link.governor.confirmed(link.connection, applied))

    def _told(self, tell: Callable[[str], object]) -> Callable[[str], object]:
        """In this life, when it does not stand still."""
        life = self.lives

        def told(cause: str) -> None:
            if self.lives == life:
                self.in_this_life(partial(tell, cause))()

        return told

    # Clients.

    def greet_client(self, connection: Connection, client: Client) -> SimulatedLink:
        self.accept(connection)
        hear = partial(client.hear, connection)
        link = SimulatedLink(connection, self.registration, hear)
        connection.lost_at_server = self._told(link.lost)
        return link

    def accept(self, connection: Connection) -> None:
        """From now on it breaks when this server dies."""
        self.connections = [one for one in self.connections if one.up.is_open]
        self.connections.append(connection)

    # Data.

    def find(self, object_id: ObjectId) -> Held | None:
        return self.registration.find(object_id)


def _nothing(*_: object) -> None:
    """Nobody is told."""
