"""Registers a client with a server, and registers it again when the server has come back.

If that fails, it raises `StartError` with one line.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from attrs import Factory, define, frozen

from rain.base.admission import Role
from rain.base.errors import ConnectionLostError, ProtocolError, StartError
from rain.base.leading import Servers
from rain.base.silence import ClientLimits
from rain.base.wire import CLIENT_VERSION
from rain.rpc import schema
from rain.rpc.caller import READ_SIZE, Caller, WayBack
from rain.rpc.client_calls import ClientCalls
from rain.rpc.dialing import (
    NotLetInError,
    StandsByHereError,
    dial_in_thread,
    dial_in_turn,
    reaching,
)
from rain.rpc.ended import How
from rain.rpc.interface import Fields, Interface
from rain.rpc.looking import seconds_until_next_look
from rain.rpc.offered import RemoteCapability
from rain.rpc.peer import Peer
from rain.rpc.questions import CallError
from rain.stream.errors import UnreachableError
from rain.stream.sockets import Connected
from rain.tls.keys import Keys

_REGISTER = Interface.of(schema.server.ServerBootstrap).methods["registerClient"]


@frozen
class Way:
    """How to reach a server, and how long to try."""

    servers: Servers
    keys: Keys
    limits: ClientLimits
    version: int = CLIENT_VERSION  # of the protocol

    @property
    def where(self) -> str:
        return self.servers.where

    @property
    def try_limit(self) -> float:
        return self.servers.limit(self.limits.connect)

    def dial(self) -> Connected:
        """A socket that is let in at the first address that leads; it does not block."""
        return dial_in_turn(self.servers, self.dial_one)

    def dial_one(self) -> Connected:
        return dial_in_thread(*self.servers.current, self.try_limit, Role.CLIENT, self.keys)

    def is_replaced(self) -> bool:
        """Whether a server at one of the other addresses admits clients now."""
        for host, port in self.servers.others:
            with suppress(UnreachableError, ProtocolError):
                limit = self.try_limit
                dial_in_thread(host, port, limit, Role.CLIENT, self.keys).close()
                return True
        return False

    def dial_first(self) -> Connected:
        """Dials like `dial`, but several times if it may wait, or if a standby is about to lead."""
        began = time.monotonic()
        while True:
            try:
                return self.dial()
            except NotLetInError:
                raise
            except UnreachableError as error:
                limit = self.limits.wait_for_server
                if self.servers.has_several and isinstance(error, StandsByHereError):
                    limit = max(limit, self.limits.connect)
                away = time.monotonic() - began
                pause = seconds_until_next_look(away)
                if away + pause > limit:
                    raise
            time.sleep(pause)


@frozen
class Registered:
    """The answer of the server to the registration of a client."""

    service: RemoteCapability
    key: bytes  # for uploads
    cluster: bytes  # which start of which server this is
    token: bytes  # with this the client may come back; empty if the server does not
    generation: int = 0  # of the server
    uploads: str = ""  # where clients of its machine may write them


def connect_client(way: Way, why_lost: Callable[[], str] | None) -> tuple[ClientCalls, bytes, bool]:
    """The calls of a client that has registered, the name of the cluster, and whether its server
    comes back when it has died.

    `StartError` says why it cannot. A client that may wait tries again with a server that dies, or
    is cut off, while it registers.
    """
    began = time.monotonic()
    while True:
        with reaching(way.servers.all, "client"):
            connected = way.dial_first()
        entry = Entry(way, Caller(connected, way.limits.server_timeout), why_lost)
        try:
            calls, registered = entry.register()
        except BaseException as error:
            entry.caller.close(How.CLOSED, "the client was not registered")
            away = time.monotonic() - began
            if not isinstance(error, GoneMeanwhileError) or away >= way.limits.wait_for_server:
                raise
        else:
            return calls, registered.cluster, bool(registered.token)
        time.sleep(seconds_until_next_look(away))


class GoneMeanwhileError(StartError):
    """A server that has let the client in does not answer its registration."""


@define(eq=False)
class Entry:
    """The first registration of a client.

    The thread of the connection takes the answer, and makes it a connection that goes on over
    another socket. So no loss comes between the two.
    """

    way: Way
    caller: Caller
    why_lost: Callable[[], str] | None
    _result: tuple[ClientCalls, Registered] | StartError | None = None
    _has_returned: threading.Event = Factory(threading.Event)

    def register(self) -> tuple[ClientCalls, Registered]:
        peer, limit = self.caller.peer, self.way.limits.connect
        peer.call(peer.bootstrap(), _REGISTER, {"version": self.way.version}, self._take)
        if not self._has_returned.wait(limit) or self._result is None:
            reason = f"it does not answer within {limit:g} seconds"
            raise GoneMeanwhileError(f"cannot reach the server at {self.way.where}: {reason}")
        if isinstance(self._result, StartError):
            raise self._result
        return self._result

    def _take(self, outcome: Fields | CallError) -> None:
        try:
            registered = self._let_in(outcome)
            self.way.servers.accept(registered.generation)
            self._result = self._go_on(registered), registered
        except StartError as error:
            self._result = error
        finally:
            self._has_returned.set()

    def _let_in(self, outcome: Fields | CallError) -> Registered:
        where = self.way.where
        if isinstance(outcome, CallError):
            if outcome.kind == "failed":
                raise StartError(f"the server at {where} refuses this client: {outcome.reason}")
            ended = self.caller.ended
            if ended is not None and ended.how is How.INVALID:
                raise StartError(f"what listens at {where} is not a Rain server: {ended.cause}")
            raise GoneMeanwhileError(
                f"what listens at {where} is not a Rain server, or it has gone: {outcome.reason}"
            )
        if outcome["fenced"]:
            raise StartError(f"the server at {where} refuses this client: {outcome['fenced']}")
        if outcome["service"] is None:
            raise StartError(f"what listens at {where} is not a Rain server: it offers nothing")
        return _read(outcome)

    def _go_on(self, registered: Registered) -> ClientCalls:
        caller, way = self.caller, self.way
        calls = ClientCalls(caller, registered.service, way.where, self.why_lost)
        calls.take_key(registered.key, registered.uploads)
        if registered.token:
            caller.peer.questions.keep()
            again = partial(redial, way, registered, calls.take_key)
            is_replaced = way.is_replaced if way.servers.has_several else None
            limit, where = way.limits.server_away, way.servers.all
            caller.way_back = WayBack(again, limit, where, is_replaced)
        return calls


def _read(outcome: Fields) -> Registered:
    return Registered(
        outcome["service"],
        outcome["key"],
        outcome["cluster"],
        outcome["token"],
        outcome["generation"],
        outcome["uploads"],
    )


def redial(
    way: Way, before: Registered, take_key: Callable[[bytes, str], object]
) -> Connected | None:
    """Tries once to go on with a server that was away (`rain.rpc.caller.Redial`)."""
    for _ in way.servers.addresses:
        way.servers.try_next()  # the one that was lost comes last
        connected = _redial_one(way, before, take_key)
        if connected is not None:
            return connected
    return None


def _redial_one(
    way: Way, before: Registered, take_key: Callable[[bytes, str], object]
) -> Connected | None:
    try:
        connected = way.dial_one()
    except NotLetInError as error:
        raise ConnectionLostError(f"the server at {way.where} is back, but {error}") from None
    except (UnreachableError, ProtocolError):
        return None
    try:
        outcome = _register_again(connected, way, before.token)
    except (OSError, ProtocolError, StartError):  # it is not ready, has gone, or was replaced
        connected.close()
        return None
    except BaseException:
        connected.close()
        raise
    why_not = _why_not(outcome, before)
    if isinstance(outcome, CallError) or why_not:
        connected.close()
        raise ConnectionLostError(f"the server at {way.where} is back: {why_not}")
    take_key(outcome["key"], outcome["uploads"])
    return connected


def _why_not(outcome: Fields | CallError, before: Registered) -> str:
    """Why the client cannot go on, or nothing."""
    if isinstance(outcome, CallError):
        return outcome.reason or "it refuses this client"
    if outcome["fenced"]:
        fenced: str = outcome["fenced"]
        return fenced
    if outcome["service"] is None or outcome["cluster"] != before.cluster:
        return "it is another one"
    if outcome["service"].target != before.service.target:
        return "it offers its calls in another way"
    return ""


def _register_again(connected: Connected, way: Way, token: bytes) -> Fields | CallError:
    """Registers over a new socket, before the calls that were open are made again over it."""
    said: list[bytes] = []
    returned: list[Fields | CallError] = []
    peer = Peer(said.append)
    params = {"version": way.version, "token": token}
    peer.call(peer.bootstrap(), _REGISTER, params, returned.append)
    connected.settimeout(way.try_limit)
    while not returned:
        connected.sendall(b"".join(said))
        said.clear()
        chunk = connected.recv(READ_SIZE)
        if not chunk:
            raise ConnectionResetError("it has gone again")
        peer.receive(chunk)
    connected.sendall(b"".join(said))
    connected.setblocking(False)
    (outcome,) = returned
    if not isinstance(outcome, CallError):
        way.servers.accept(outcome["generation"])
    return outcome
