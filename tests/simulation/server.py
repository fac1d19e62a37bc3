"""The server of the simulation: real turns, a real journal on a disk of its own, and its deaths."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from attrs import Factory, define

from rain.base.errors import InvariantError, ProtocolError
from rain.base.ids import ObjectId, TaskId
from rain.base.wire import CLIENT_VERSION
from rain.base.wire.answers import GovernorReport
from rain.base.wire.orders import Orders
from rain.base.wire.printed import Watch
from rain.base.wire.update import Update
from rain.local.log import logger
from rain.rpc import schema
from rain.rpc.codec import through_the_wire
from rain.rpc.handlers import FencedError, GovernorHandler, GovernorHello, Reply
from rain.rpc.interface import Fields
from rain.rpc.link import Link
from rain.rpc.offered import IncomingCall, Served, offer
from rain.rpc.peer import Peer
from rain.rpc.server_client import ServedClient
from rain.scheduler.rain import RainScheduler
from rain.server.inbox import Inbox
from rain.server.journal.keeping import JournalKeeper
from rain.server.journal.records import Decoder, Header, encode_header, make_again
from rain.server.journal.recovery import begin_anew
from rain.server.journal.writer import JournalEnded, Writer
from rain.server.links import Links
from rain.server.messages import ServerReturned
from rain.server.reactor import Reactor
from rain.server.registration import Registration
from rain.server.snapshot.saving import load, save
from rain.server.spool import Spool
from rain.server.state import ReactorSettings, State
from rain.stream.holder import Held
from tests.simulation.agenda import Agenda, Daemon
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


@define
class Disk:
    """What is left of a server: a snapshot, and the turns after it, of which the last may be lost.

    It implements `rain.server.journal.writer.Writer`, as far as turns go.
    """

    base: bytes = b""
    headers: dict[int, bytes] = Factory(dict)  # of its files, by the number of their first turns
    records: list[bytes] = Factory(list)
    first: int = 1  # the number of the first of them
    synced: int = 0  # how many of them a stop of the machine does not lose
    is_full: bool = False
    number: int = 1
    size: int = 0

    @property
    def turns(self) -> int:
        """The number of the last turn."""
        return self.first - 1 + len(self.records)

    def write(self, record: bytes) -> None:
        if self.is_full:
            raise JournalEnded("no space is left on the disk of the simulation")
        self.records.append(record)

    def lose_what_is_not_synced(self) -> None:
        del self.records[self.synced :]

    def remember(self) -> State:
        """The state after all turns that are written."""
        state = load(self.base).state if self.base else State(SETTINGS)
        reactor = Reactor(RainScheduler, state)
        decoder: Decoder | None = None
        for number, record in enumerate(self.records, self.first):
            if decoder is None or number in self.headers:
                decoder = Decoder.of(self.headers[number])
                state.cluster = decoder.header.cluster
                last = decoder.header.last_session
                state.graph.last_session = max(state.graph.last_session, last)
            make_again(reactor, decoder.turn(record))
        return state

    def begin_file(self, state: State) -> None:
        """A server begins, with what is durable."""
        self.synced = len(self.records)
        self.headers[self.turns + 1] = encode_header(Header.of(self.turns + 1, state))

    def compact(self, state: State) -> None:
        """A snapshot takes the place of all turns so far."""
        self.base = b"".join(save(state, self.turns))
        self.first, self.records = self.turns + 1, []


class SimulatedLink:
    """What a served client needs of `rain.rpc.link.Link`, and where it registers."""

    def __init__(
        self, connection: Connection, registration: Registration, hear: Callable[[bytes], object]
    ) -> None:
        self.on_end: Callable[[str], object] = _nothing
        self.connection = connection
        self._registration = registration
        methods: dict[str, Served[Any]] = {
            "registerClient": Served(_read_token, self._register),
            "registerGovernor": Served(_nobody, _nobody),
        }
        bootstrap = offer(schema.server.ServerBootstrap, methods)
        self.peer = Peer(lambda content: connection.down.say_bytes(content, hear), bootstrap)
        connection.lost_at_server = self.lost

    def _register(self, token: bytes, call: IncomingCall) -> None:
        try:
            served = ServedClient(cast("Link", self), self._registration, token=token)
        except FencedError as error:
            call.answer({"fenced": str(error)})
            return
        served.welcome(call, self._registration.cluster)

    @property
    def is_over_for_good(self) -> bool:
        return self.peer.farewell is not None

    def hear(self, chunk: bytes) -> None:
        try:
            self.peer.receive(chunk)
        except ProtocolError as error:
            raise InvariantError(f"a client makes no sense: {error}") from error
        if self.peer.farewell is not None:
            self.connection.close_by_server("the client has left")
            self.lost(self.peer.farewell)

    def end_with_reason(self, cause: str) -> None:
        self.connection.close_by_server(cause)
        self.lost(cause)

    def lost(self, cause: str) -> None:
        self.peer.end(cause)
        on_end, self.on_end = self.on_end, _nothing
        on_end(cause)


class ToGovernor:
    """Implements `rain.rpc.handlers.GovernorLink`."""

    def __init__(self, connection: Connection, governor: Governor) -> None:
        self.connection = connection
        self.governor = governor
        self.handler: GovernorHandler | None = None  # until it is registered

    def order(self, orders: Orders) -> None:
        arrived = through_the_wire(orders)
        self.connection.down.say(lambda: self.governor.ordered(self.connection, arrived))

    def stop(self, reason: str) -> None:
        self.connection.down.say(lambda: self.governor.told_to_stop(self.connection, reason))
        self.connection.close_by_server(reason)

    def close(self, reason: str) -> None:
        self.connection.cut(reason)

    def report(self, reply: Reply[GovernorReport]) -> None:
        reply.refuse("nobody asks for it here")

    def printed(self, task: TaskId, reply: Reply[str]) -> None:
        reply.refuse(f"nobody asks for it here: {task}")

    def watch(self, number: int, watch: Watch | None) -> None:
        raise InvariantError(f"nobody watches here: {number} {watch}")


class Server(Daemon):
    """All lives of the server, one after the other."""

    def __init__(self, agenda: Agenda, folder: Path) -> None:
        super().__init__(agenda)
        self.disk = Disk()
        self.uploads = Spool(folder)
        self.connections: list[Connection] = []
        self.reactor: Reactor
        self.registration: Registration
        self._inbox: Inbox
        self._keeper: JournalKeeper
        self._syncs = False

    @property
    def state(self) -> State:
        return self.reactor.state

    # Its life.

    def start(self) -> None:
        """Begins where the last one has ended, and sometimes with a snapshot of that."""
        self.live()
        returns = self.disk.turns > 0
        state = self.disk.remember()
        if returns:
            if self.agenda.random.random() < 0.5:
                self.disk.compact(state)
                state = self.disk.remember()
            begin_anew(state, SETTINGS)
        state.status.name = "rain"
        self.reactor = Reactor(RainScheduler, state, notes_plans=True)
        self._inbox = Inbox(self.ring, lambda: self.ring_at(self.agenda.now + 0.5))
        links = Links(self._inbox, logger(), self.uploads, state)
        self._keeper = JournalKeeper(cast("Writer", self.disk), links.carry)
        self.registration = Registration(state, links, self.uploads, self.turn, logger())
        self.disk.begin_file(state)
        self._syncs = False
        if returns:
            self._inbox.from_governor(ServerReturned())

    def die(self, *, machine: bool = False) -> None:
        """Is killed; if its machine stops, what was not synced is lost."""
        if machine:
            self.disk.lose_what_is_not_synced()
        self.is_alive = False
        for connection in self.connections:
            connection.lost_at_server = _nothing
            connection.cut("the server is gone")
        self.connections.clear()
        self.agenda.within(0.05, 3.0, self._come_back)

    def _come_back(self) -> None:
        if not self.is_alive:
            self.disk.is_full = False
            self.start()

    def _accept(self, connection: Connection) -> None:
        self.connections = [one for one in self.connections if one.up.is_open]
        self.connections.append(connection)

    # Turns.

    def turn(self) -> None:
        quiet = self._inbox.quiet
        given = self._inbox.take(self.agenda.now, 0.0)
        try:
            self._keeper.turn(self.reactor, given, quiet=quiet)
        except JournalEnded:
            self.die()
            return
        self.reactor.settle()
        self.ring_at(max(self.reactor.next_time(), self.agenda.now))
        if not self._syncs:
            self._syncs = True
            self.later(0.001, 0.05, partial(self._synced, self.disk.turns))

    def _synced(self, until: int) -> None:
        disk = self.disk
        disk.synced = until - disk.first + 1
        self._keeper.keep_promises(until)
        self._syncs = disk.synced < len(disk.records)
        if self._syncs:
            self.later(0.001, 0.05, partial(self._synced, disk.turns))

    # Governors.

    def greet_governor(
        self, connection: Connection, hello: GovernorHello, governor: Governor
    ) -> None:
        self._accept(connection)
        link = ToGovernor(connection, governor)
        try:
            handler = self.registration.join_governor(hello, link)
        except FencedError as error:
            reason = str(error)
            connection.down.say(lambda: governor.fenced(connection, reason))
            connection.close_by_server(reason)
            return
        link.handler = handler
        connection.lost_at_server = partial(handler.left, at_fault=False)
        returns, applied = handler.returns, handler.applied
        connection.down.say(lambda: governor.registered(connection, link, returns, applied))

    def updated(self, link: ToGovernor, update: Update) -> None:
        """News of a governor."""
        handler = link.handler
        if handler is None:
            raise InvariantError("news of a governor that is not registered")
        handler.update(update)
        applied = handler.applied
        link.connection.down.say(lambda: link.governor.confirmed(link.connection, applied))

    # Clients.

    def greet_client(self, connection: Connection, client: Client) -> SimulatedLink:
        self._accept(connection)
        hear = partial(client.hear, connection)
        return SimulatedLink(connection, self.registration, hear)

    # Data.

    def find(self, object_id: ObjectId) -> Held | None:
        return self.registration.find(object_id)


def _read_token(params: Fields) -> bytes:
    if params["version"] != CLIENT_VERSION:
        raise InvariantError("a client of another version")
    token: bytes = params["token"]
    return token


def _nobody(*_: object) -> None:
    raise InvariantError("governors of the simulation do not register in this way")


def _nothing(*_: object, **__: object) -> None:
    """Nobody is told."""
