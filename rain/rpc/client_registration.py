"""How a client gets to the calls of a server, or is told in one line why it does not.

It comes here again when a server that comes back was away.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from attrs import frozen

from rain.base.address import spell_address
from rain.base.admission import Role, Secret
from rain.base.errors import ConnectionLostError, ProtocolError, StartError
from rain.rpc import schema
from rain.rpc.caller import FIRST_PAUSE, LONGEST_PAUSE, READ_SIZE, Caller
from rain.rpc.client_calls import ClientCalls
from rain.rpc.dialing import NotLetInError, dial_in_thread, reaching
from rain.rpc.interface import Fields, Interface
from rain.rpc.peer import CallError, Peer, Remote
from rain.stream.errors import UnreachableError
from rain.stream.sockets import Connected

if TYPE_CHECKING:
    from rain.tls.identity import Identity

_REGISTER = Interface.of(schema.server.ServerBootstrap).methods["registerClient"]


@frozen
class Way:
    """How to reach a server, and how long to try."""

    host: str
    port: int
    secret: Secret | None
    version: int  # of the protocol
    timeout: float  # seconds for one try
    away_limit: float  # seconds for a server that comes back
    identity: Identity | None = None
    is_patient: bool = False  # the server is known to be there, or to come back

    @property
    def where(self) -> str:
        return spell_address(self.host, self.port)

    def dial(self) -> Connected:
        """A socket that is let in; it does not block."""
        return dial_in_thread(
            self.host, self.port, self.timeout, Role.CLIENT, self.secret, self.identity
        )

    def dial_first(self) -> Connected:
        """The same, after several tries if it is patient."""
        due = time.monotonic() + self.away_limit
        pause = FIRST_PAUSE
        while True:
            try:
                return self.dial()
            except NotLetInError:
                raise
            except UnreachableError:
                if not self.is_patient or time.monotonic() + pause > due:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)


@frozen
class Registered:
    """What a client has been told."""

    service: Remote
    key: bytes  # for uploads
    cluster: bytes  # which start of which server this is
    token: bytes  # with this the client may come back; empty if the server does not


def connect_client(
    way: Way, silence_limit: float | None, why_lost: Callable[[], str] | None
) -> tuple[ClientCalls, bytes, bool]:
    """The calls of a client that has registered, the name of the cluster, and whether its server
    comes back when it has died.

    `StartError` says why it cannot.
    """
    with reaching(way.where, "client"):
        connected = way.dial_first()
    caller = Caller(connected, silence_limit)
    try:
        registered = _register(caller, way)
    except BaseException:
        caller.close("the client was not registered")
        raise
    calls = ClientCalls(caller, registered.service, way.where, why_lost)
    calls.key = registered.key
    if registered.token:
        caller.peer.keep_calls()
        caller.away_limit = way.away_limit
        caller.where = way.where
        caller.redial = partial(_redial, way, registered, calls.take_key)
    return calls, registered.cluster, bool(registered.token)


def _register(caller: Caller, way: Way) -> Registered:
    returned: list[Fields | CallError] = []
    has_returned = threading.Event()

    def take(outcome: Fields | CallError) -> None:
        returned.append(outcome)
        has_returned.set()

    caller.peer.call(caller.peer.bootstrap(), _REGISTER, {"version": way.version}, take)
    where = way.where
    if not has_returned.wait(way.timeout):
        reason = f"it does not answer within {way.timeout:g} seconds"
        raise StartError(f"cannot reach the server at {where}: {reason}")
    (outcome,) = returned
    if isinstance(outcome, CallError):
        if outcome.kind == "failed":
            raise StartError(f"the server at {where} refuses this client: {outcome.reason}")
        reason = caller.fault or outcome.reason
        raise StartError(f"what listens at {where} is not a Rain server: {reason}")
    if outcome["service"] is None:
        raise StartError(f"what listens at {where} is not a Rain server: it offers nothing")
    return _read(outcome)


def _read(outcome: Fields) -> Registered:
    return Registered(outcome["service"], outcome["key"], outcome["cluster"], outcome["token"])


def _redial(way: Way, before: Registered, take_key: Callable[[bytes], object]) -> Connected | None:
    """Tries once to go on with a server that was away (`rain.rpc.caller.Redial`)."""
    try:
        connected = way.dial()
    except NotLetInError as error:
        raise ConnectionLostError(f"the server at {way.where} is back, but {error}") from None
    except (UnreachableError, ProtocolError):
        return None
    try:
        outcome = _register_again(connected, way, before.token)
    except (OSError, ProtocolError):  # it is not ready yet, or has gone again
        connected.close()
        return None
    except BaseException:
        connected.close()
        raise
    why_not = _why_not(outcome, before)
    if why_not:
        connected.close()
        raise ConnectionLostError(f"the server at {way.where} is back: {why_not}")
    assert not isinstance(outcome, CallError)
    take_key(outcome["key"])
    return connected


def _why_not(outcome: Fields | CallError, before: Registered) -> str:
    """Why the client cannot go on, or nothing."""
    if isinstance(outcome, CallError):
        return outcome.reason
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
    connected.settimeout(way.timeout)
    while not returned:
        connected.sendall(b"".join(said))
        said.clear()
        chunk = connected.recv(READ_SIZE)
        if not chunk:
            raise ConnectionResetError("it has gone again")
        peer.receive(chunk)
    connected.sendall(b"".join(said))
    connected.setblocking(False)
    return returned[0]
