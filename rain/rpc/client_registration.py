"""How a client gets to the calls of a server, or is told in one line why it does not."""

from __future__ import annotations

import threading
from collections.abc import Callable

from attrs import frozen

from rain.base.address import spell_address
from rain.base.admission import Role, Secret
from rain.base.errors import StartError
from rain.rpc import schema
from rain.rpc.caller import Caller
from rain.rpc.client_calls import ClientCalls
from rain.rpc.dialing import dial_in_thread, reaching
from rain.rpc.interface import Fields, Interface
from rain.rpc.peer import CallError, Remote

_REGISTER = Interface.of(schema.server.ServerBootstrap).methods["registerClient"]


@frozen
class Registered:
    """What a client has been told."""

    service: Remote
    key: bytes  # for uploads
    cluster: bytes  # which start of which server this is


def connect_client(
    host: str,
    port: int,
    version: int,
    timeout: float,
    secret: Secret | None = None,
    silence_limit: float | None = None,
    why_lost: Callable[[], str] | None = None,
) -> tuple[ClientCalls, Registered]:
    """The calls of a client that has registered, and what it was told.

    `StartError` says why it cannot.
    """
    where = spell_address(host, port)
    with reaching(where, "client"):
        connected = dial_in_thread(host, port, timeout, Role.CLIENT, secret)
    caller = Caller(connected, silence_limit)
    try:
        registered = _register(caller, version, timeout, where)
    except BaseException:
        caller.close("the client was not registered")
        raise
    return ClientCalls(caller, registered.service, where, why_lost), registered


def _register(caller: Caller, version: int, timeout: float, where: str) -> Registered:
    returned: list[Fields | CallError] = []
    has_returned = threading.Event()

    def take(outcome: Fields | CallError) -> None:
        returned.append(outcome)
        has_returned.set()

    caller.peer.call(caller.peer.bootstrap(), _REGISTER, {"version": version}, take)
    if not has_returned.wait(timeout):
        reason = f"it does not answer within {timeout:g} seconds"
        raise StartError(f"cannot reach the server at {where}: {reason}")
    (outcome,) = returned
    if isinstance(outcome, CallError):
        if outcome.kind == "failed":
            raise StartError(f"the server at {where} refuses this client: {outcome.reason}")
        reason = caller.fault or outcome.reason
        raise StartError(f"what listens at {where} is not a Rain server: {reason}")
    if outcome["service"] is None:
        raise StartError(f"what listens at {where} is not a Rain server: it offers nothing")
    return Registered(outcome["service"], outcome["key"], outcome["cluster"])
