"""A client of the simulation: the real calls and the real peer, and a program that makes them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, cast

from attrs import frozen

from rain.base.errors import InvariantError, StartError
from rain.base.wire import CLIENT_VERSION
from rain.base.wire.requests import Cancel, HandlesGone, Request, Submit
from rain.rpc import schema
from rain.rpc.caller import Caller
from rain.rpc.client_calls import ClientCalls
from rain.rpc.client_submit import SubmissionCalls
from rain.rpc.codec.client_methods import method_of
from rain.rpc.interface import Fields, Interface
from rain.rpc.offered import RemoteCapability
from rain.rpc.peer import Peer
from rain.rpc.questions import CallError
from rain.stream.reading import StreamReader
from tests.simulation.agenda import Agenda, Mortal
from tests.simulation.links import SimulatedLink
from tests.simulation.network import Connection
from tests.simulation.server import Server
from tests.simulation.servers import Servers

_REGISTER = Interface.of(schema.server.ServerBootstrap).methods["registerClient"]

BEAT = 2.0


@frozen
class Pause:
    """A program does nothing for some seconds."""

    seconds: float


Step = Request[Any] | Cancel | HandlesGone | Pause
Program = Generator[Step, Any, None]
"""Gets the answer to each request, or its exception; None after what has no answer."""


class SimulatedCaller:
    """What `ClientCalls` needs of `rain.rpc.caller.Caller`: a peer whose words are sent here."""

    is_interrupted_here = False
    is_usable = True
    cause = verdict = fault = ""
    silence = 0.0

    def __init__(self, flush: Callable[[], object]) -> None:
        self.said: deque[bytes] = deque()
        self.peer = Peer(self.said.append, None, flush=flush)
        self.say_alive: Callable[[], object] | None = None


class Client(Mortal):
    """A program and its connection."""

    def __init__(self, agenda: Agenda, name: str, servers: Servers, program: Program) -> None:
        super().__init__(agenda)
        self.name = name
        self.has_ended = False
        self.has_vanished = False
        self._servers = servers
        self._way = servers.addresses()
        self._server: Server | None = None  # to which it is connected
        self._program = program
        self._connection: Connection | None = None  # over which it is registered
        self._link: SimulatedLink | None = None
        self._caller = SimulatedCaller(self._flush)  # another one until it is registered
        self._registering: Peer | None = None  # over a new connection
        self._service: RemoteCapability | None = None
        self._cluster = self._token = b""
        self._calls: ClientCalls

    def start(self) -> None:
        self.live()
        self._dial()

    def vanish(self) -> None:
        """Its machine stops."""
        self.is_alive, self.has_ended, self.has_vanished = False, True, True
        if self._connection is not None:
            self._connection.lost_at_peer = _nothing
            self._connection.cut("the client is gone")

    def cut(self) -> None:
        if self._connection is not None:
            self._connection.cut("the network was cut")

    # Its connection.

    def _dial(self) -> None:
        server = self._server = self._servers.found(self._way)
        if server is None:
            self._way.try_next()
            self.later(0.1, 1.0, self._dial)
            return
        connection = self._connection = Connection(self.agenda)
        connection.lost_at_peer = partial(self._lost, connection)
        self._link = server.greet_client(connection, self)
        if self._service is None:
            self._caller = SimulatedCaller(self._flush)
            peer, then = self._caller.peer, self._registered
        else:
            peer, then = Peer(self._say), self._registered_again
            self._registering = peer
        params = {"version": CLIENT_VERSION, "token": self._token}
        peer.call(peer.bootstrap(), _REGISTER, params, then)

    def _say(self, content: bytes) -> None:
        connection, link, server = self._connection, self._link, self._server
        if connection is not None and link is not None and server is not None:
            life = server.lives

            def hear(chunk: bytes) -> None:
                if server.lives == life:
                    server.in_this_life(partial(link.hear, chunk))()

            connection.up.say_bytes(content, hear)

    def _lost(self, connection: Connection, cause: str) -> None:
        del cause
        if self._connection is connection and self.is_alive:
            self._connection = self._link = self._registering = self._server = None
            self._way.try_next()
            self.later(0.1, 2.0, self._dial)

    def hear(self, connection: Connection, chunk: bytes) -> None:
        if self._connection is not connection or not self.is_alive:
            return
        peer = self._caller.peer if self._registering is None else self._registering
        peer.receive(chunk)
        if peer.farewell is not None:
            raise InvariantError(f"the server closes a client: {peer.farewell}")

    def _registered(self, outcome: Fields | CallError) -> None:
        """For the first time."""
        if isinstance(outcome, CallError):
            return  # the connection was lost
        self._way.accept(outcome["generation"])
        self._service, self._token = outcome["service"], outcome["token"]
        self._cluster = outcome["cluster"]
        caller = cast("Caller", self._caller)
        self._caller.peer.questions.keep()
        self._calls = ClientCalls(caller, outcome["service"], "simulation", None)
        self._submissions = SubmissionCalls(self._calls, cast("StreamReader", None))
        self.later(0.0, BEAT, self._beat)
        self.later(0.0, 0.0, partial(self._advance, None))

    def _registered_again(self, outcome: Fields | CallError) -> None:
        if isinstance(outcome, CallError):
            return  # the connection was lost
        try:
            self._way.accept(outcome["generation"])
        except StartError:
            self._leave_replaced()
            return
        if outcome["fenced"]:
            raise InvariantError(f"the client {self.name} was fenced: {outcome['fenced']}")
        assert self._service is not None
        assert outcome["cluster"] == self._cluster, "it is another server"
        assert outcome["service"].target == self._service.target
        self._registering = None
        self._caller.peer.begin_anew(self._caller.said)
        self._flush()

    def _leave_replaced(self) -> None:
        """The server was replaced by another one, and does not know it."""
        if self._connection is not None:
            self._connection.cut("the server has been replaced", 0.1)

    def _flush(self) -> None:
        said = self._caller.said
        if self._registering is None and self._connection is not None:
            while said:
                self._say(said.popleft())

    def _beat(self) -> None:
        if not self.has_ended and self._caller.say_alive is not None:
            if self._connection is not None and self._registering is None:
                self._caller.say_alive()
            self.later(BEAT, BEAT, self._beat)

    # Its program.

    def _advance(self, answer: object) -> None:
        """The program has got an answer: it goes on to its next step."""
        if self.has_ended:
            return
        try:
            if isinstance(answer, Exception):
                step = self._program.throw(answer)
            else:
                step = self._program.send(answer)
        except StopIteration:
            self._leave()
            return
        match step:
            case Pause(seconds):
                self.later(seconds, seconds, partial(self._advance, None))
            case Cancel() | HandlesGone():
                method = method_of(step)
                self._calls.tell(method.name, method.params.write(step))
                self.later(0.0, 0.01, partial(self._advance, None))
            case _:
                self._ask(step)

    def _ask(self, request: Request[Any]) -> None:
        if isinstance(request, Submit):
            asked: Any = self._submissions.prepare(request)
        else:
            method = method_of(request)
            params = [method.params.write(request)]
            asked = self._calls.prepare(method.name, params, method.reader(request))
        asked.leave_to(self._answered)
        self._calls.make_now(asked)

    def _answered(self, answer: object) -> None:
        self.later(0.0, 0.01, partial(self._advance, answer))

    def _leave(self) -> None:
        """It ends in order: it says farewell as soon as the server is there to hear it."""
        self.has_ended = True
        self._say_farewell()

    def _say_farewell(self) -> None:
        if self._connection is None or self._registering is not None:
            self.later(0.1, 0.2, self._say_farewell)
            return
        self._caller.peer.abort("the client has left")
        connection = self._connection
        connection.lost_at_peer = _nothing
        connection.close_by_peer("the client has left")
        self.is_alive = False


def _nothing(_: str) -> None:
    """It notices nothing any more."""
