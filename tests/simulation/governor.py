"""A governor of the simulation: the real reactor; its files and transfers are played here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from rain.base.address import Source
from rain.base.errors import InvariantError, ProtocolError, StartError
from rain.base.exchange import EXCHANGE, ListedObject
from rain.base.ids import GovernorId, ObjectId, TaskId
from rain.base.resources import Resources
from rain.base.wire.orders import SERVER, Orders
from rain.base.wire.update import Update
from rain.governor.core.effects import (
    CallExecutor,
    DeleteFiles,
    DropCached,
    Effect,
    EndStrays,
    FetchObject,
    InterruptExecutor,
    KillExecutor,
    RunBuiltin,
    SendUpdate,
    StartExecutor,
    StopBuiltin,
    StopFetch,
    TakeBackCalls,
)
from rain.governor.core.events import (
    BuiltinDone,
    Drain,
    Event,
    FetchFailed,
    ObjectFetched,
    OrdersReceived,
    Tick,
)
from rain.governor.core.nodes import Task
from rain.governor.core.reactor import Reactor
from rain.governor.core.reactor_settings import DataLimits, Offer, PoolSettings
from rain.governor.core.results import Content, Outputs, Stored
from rain.governor.programs.builtin import same
from rain.rpc.codec import through_the_wire
from rain.rpc.handlers import GovernorHello, Resumes
from rain.stream.holder import Held, InMemory
from tests.simulation.agenda import Agenda, Daemon
from tests.simulation.client import Client, Program
from tests.simulation.executors import Executors
from tests.simulation.links import ToGovernor
from tests.simulation.network import Connection
from tests.simulation.server import Server
from tests.simulation.servers import Servers
from tests.simulation.work import part_of

DRAIN_SECONDS = 60.0
"""For which it drains at most: its tasks may wait for others that nobody else runs."""


class Places(Protocol):
    """What a governor meets in its cluster, besides the server."""

    def governor_at(self, source: Source, reader: Governor | None) -> Governor | None:
        """The governor that another one, or the server, can read from."""
        ...

    def finished(self, task: TaskId, run: int) -> None:
        """A run of an executor has finished, and the server is told so."""
        ...

    def given_up(self, task: TaskId, run: int) -> None:
        """The server does not want a run any more, which may have finished already."""
        ...

    def read(self, holder: str, target: ObjectId) -> bytes | None:
        """What a client reads from there, if it is there."""
        ...


class Governor(Daemon):
    """A machine, and all governors that run on it, one after the other."""

    def __init__(
        self, agenda: Agenda, number: int, cpus: int, servers: Servers, places: Places
    ) -> None:
        super().__init__(agenda)
        self.number = number
        self.address = f"10.0.0.{number}:7220"
        self.incarnation = GovernorId(0)
        self.reactor: Reactor
        self.files: dict[int, bytes] = {}
        self.executors = Executors(self)
        self._cpus = cpus
        self._servers = servers
        self._way = servers.addresses()
        self._server: Server | None = None  # to which it is connected
        self._places = places
        self._events: list[Event] = []
        self._fetches: set[int] = set()
        self._file_count = 0
        self._opened = False  # it was registered, so that turns are made
        self._connection: Connection | None = None  # over which it is registered
        self._link: ToGovernor | None = None

    # Its life.

    def start(self) -> None:
        """A new process with nothing."""
        self.live()
        self.incarnation = GovernorId(self.number * 1000 + self.lives)
        self.reactor = Reactor(
            Offer(Resources(self._cpus)),
            PoolSettings(),
            DataLimits(1.0),
            now=self.agenda.now,
            checking=True,
        )
        self.files, self.executors = {}, Executors(self)
        self._events, self._fetches = [], set()
        self._opened, self._connection, self._link = False, None, None
        self._dial()

    def die(self) -> None:
        self.is_alive = False
        self.executors.end()
        if self._connection is not None:
            self._connection.lost_at_peer = _nothing
            self._connection.cut("the governor is gone")
        self.agenda.within(0.1, 4.0, self._come_back)

    def _come_back(self) -> None:
        if not self.is_alive:
            self.start()

    def drain(self) -> None:
        if self._opened:
            self.tell(Drain())
            self.later(DRAIN_SECONDS, DRAIN_SECONDS, self.die)

    def cut(self) -> None:
        """Its connection breaks."""
        if self._connection is not None:
            self._connection.cut("the network was cut")

    # Its connection.

    def _dial(self) -> None:
        server = self._servers.found(self._way)
        if server is None:
            self._way.try_next()
            self.later(0.1, 1.0, self._dial)
            return
        connection = Connection(self.agenda)
        connection.lost_at_peer = self.in_this_life_of(partial(self._lost, connection))
        self._connection = connection
        resumes = self._resumes() if self._opened else None
        hello = GovernorHello(
            self.incarnation,
            self.address,
            Resources(self._cpus),
            resumes=resumes,
        )
        self._server = server
        life = server.lives

        def arrive() -> None:
            if not server.is_alive or server.lives != life:
                connection.cut("the server is gone")
            else:
                server.accept(connection)  # its machine does, even while it stands still
                server.in_this_life(partial(server.greet_governor, connection, hello, self))()

        connection.up.say(arrive)

    def in_this_life_of(self, told: Callable[[str], object]) -> Callable[[str], object]:
        life = self.lives

        def unless_dead(cause: str) -> None:
            if self.is_alive and self.lives == life:
                told(cause)

        return unless_dead

    def _resumes(self) -> Resumes:
        if self._events:
            self.turn()
        numbers = self.reactor.numbers
        return Resumes(numbers.heard, numbers.applied, numbers.sent)

    def _lost(self, connection: Connection, cause: str) -> None:
        del cause
        if self._connection is not connection:
            return
        self._connection = self._link = self._server = None
        self._way.try_next()
        if self._opened:
            self.later(0.2, 2.0, self._dial)
        else:
            self.die()  # nobody knows whether it was registered: it begins anew

    def _is_current(self, connection: Connection) -> bool:
        return self.is_alive and self._connection is connection

    def registered(
        self,
        connection: Connection,
        link: ToGovernor,
        returns: bool,
        applied: int,
        generation: int,
    ) -> None:
        if not self._is_current(connection) or self._is_replaced(connection, generation):
            return
        self._link = link
        numbers = self.reactor.numbers
        if not self._opened:
            self._opened = True
            numbers.counts = returns
            self.ring()
            return
        for update in numbers.missed(applied):
            self._send(update)

    def _is_replaced(self, connection: Connection, generation: int) -> bool:
        """Whether the server at the other end was replaced by another one, and does not know it."""
        try:
            self._way.accept(generation)
        except StartError:
            connection.cut("the server has been replaced", 0.1)
            return True
        return False

    def fenced(self, connection: Connection, reason: str, generation: int) -> None:
        del reason
        if self._is_current(connection) and not self._is_replaced(connection, generation):
            self.die()

    def told_to_stop(self, connection: Connection, reason: str) -> None:
        if "no sense" in reason:
            raise InvariantError(f"the governor {self.address} is told that {reason}")
        if self._is_current(connection):
            self.die()

    def confirmed(self, connection: Connection, applied: int) -> None:
        if self._is_current(connection) and applied:
            self.reactor.numbers.confirm(applied)

    def ordered(self, connection: Connection, orders: Orders) -> None:
        if self._is_current(connection):
            stopped, cancelled = (
                zip(orders.stop_ids, orders.stop_runs, strict=True),
                orders.cancelled,
            )
            for task, run in (*stopped, *zip(cancelled.ids, cancelled.runs, strict=True)):
                self._places.given_up(task, run)
            self.tell(OrdersReceived(orders))

    def _send(self, update: Update) -> None:
        link, connection, server = self._link, self._connection, self._server
        if link is None or connection is None or server is None:
            return  # it is kept, if it tells any news
        arrived = through_the_wire(update)
        connection.up.say(server.in_this_life(partial(server.updated, link, arrived)))

    # Turns.

    def tell(self, event: Event) -> None:
        self._events.append(event)
        if self._opened:
            self.ring()

    def turn(self) -> None:
        now = self.agenda.now
        if self.reactor.next_time() <= now:
            self.executors.collect()
        events, self._events = self._events or [Tick()], []
        try:
            effects = self.reactor.turn(now, events)
        except ProtocolError as error:
            raise InvariantError(f"orders for {self.address} make no sense: {error}") from error
        for effect in effects:
            self._carry(effect)
        self.ring_at(max(self.reactor.next_time(), now))

    def _carry(self, effect: Effect) -> None:
        match effect:
            case SendUpdate(update):
                for task, run in zip(update.finished.ids, update.finished.runs, strict=True):
                    if (task, run) in self.executors.begun:  # it does not stand in for another one
                        self._places.finished(task, run)
                returned = set(zip(update.returned_ids, update.returned_runs, strict=True))
                if again := returned & self.executors.begun:
                    raise InvariantError(f"{self.address} returns {again}, which have begun")
                self._send(update)
            case FetchObject(fetch):
                self._fetches.add(fetch)
                self.later(0.001, 0.1, partial(self._fetch, effect))
            case StopFetch(fetch):
                self._fetches.discard(fetch)
            case DeleteFiles(files):
                for file in files:
                    del self.files[file]
            case EndStrays() | StopBuiltin():
                pass
            case RunBuiltin(run, kind=kind, config=config):
                made: Outputs = [config] if kind.task_type == EXCHANGE else same(effect)
                done = BuiltinDone(run, 0.001, made)
                self.later(0.001, 0.002, partial(self.tell, done))
            case _:
                self._carry_for_executor(effect)

    def _carry_for_executor(self, effect: Effect) -> None:
        match effect:
            case StartExecutor(number, runner):
                self.executors.start(number, runner)
            case CallExecutor(number):
                self.executors.call(number, effect)
            case TakeBackCalls(number):
                self.executors.take_back(number)
            case InterruptExecutor(number, call):
                self.executors.interrupt(number, call)
            case DropCached(number, objects, sessions):
                self.executors.drop(number, objects, sessions)
            case KillExecutor(number):
                self.executors.kill(number)
            case _:
                raise InvariantError(f"nobody plays {effect}")

    # What executors meet here.

    def calls_of(self, executor: int) -> Sequence[Task]:
        return self.reactor.calls_of(executor)

    def new_client(self, name: str, program: Program) -> Client:
        """A call that submits tasks, as a client of its own."""
        return Client(self.agenda, f"{name} at {self.address}", self._servers, program)

    def read_elsewhere(self, holder: str, target: ObjectId) -> bytes | None:
        return self._places.read(holder, target)

    def new_file(self, content: bytes) -> int:
        self._file_count += 1
        self.files[self._file_count] = content
        return self._file_count

    def read(self, content: Content) -> bytes:
        return content if isinstance(content, bytes) else self.files[content]

    # Data.

    def find(self, object_id: ObjectId) -> bytes | Stored | None:
        """What another one reads here: the content, and of a large one a file of its own."""
        found = self.reactor.find(object_id)
        if found is None or found.content is None:
            return None
        if isinstance(found.content, bytes):
            return found.content
        return Stored(found.content, found.size)

    def content(self, object_id: ObjectId) -> bytes | None:
        """The bytes of an object that is here."""
        found = self.find(object_id)
        return self.files[found.file] if isinstance(found, Stored) else found

    def _fetch(self, fetch: FetchObject) -> None:
        if fetch.fetch not in self._fetches:
            return
        self._fetches.remove(fetch.fetch)
        found = self._found(fetch)
        if found is None:
            self.tell(FetchFailed(fetch.fetch, f"{fetch.source} does not have it"))
        else:
            self.tell(ObjectFetched(fetch.fetch, found))

    def _found(self, fetch: FetchObject) -> bytes | Stored | None:
        if fetch.source == SERVER:
            held = self._find_at_server(fetch.object)
            return held.data if isinstance(held, InMemory) else None
        other = self._places.governor_at(Source.read(fetch.source), self)
        found = None if other is None else other.find(fetch.object)
        if isinstance(found, Stored) and other is not None:
            return Stored(self.new_file(other.files[found.file]), found.size)
        return found

    def read_part(self, listed: ListedObject, part: int) -> bytes | None:
        """A part of an object that a list names, if it can be read from there."""
        if listed.source == SERVER:
            held = self._find_at_server(listed.object)
            content = held.data if isinstance(held, InMemory) else None
        else:
            source = Source.read(listed.source)
            other = self._places.governor_at(source, self)
            if other is None and self._has_server():  # which passes on what is out of reach
                other = self._places.governor_at(source, None)
            content = None if other is None else other.content(listed.object)
        return None if content is None else part_of(bytes(content), part)

    def _find_at_server(self, object_id: ObjectId) -> Held | None:
        return self._server.find(object_id) if self._server and self._has_server() else None

    def _has_server(self) -> bool:
        return self._server is not None and self._server.is_there


def _nothing(_: str) -> None:
    """It notices nothing any more."""
