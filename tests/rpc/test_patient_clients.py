"""A client waits for a server that is not there yet, if it is told to, as that of a task is."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from rain.base.errors import ConnectionLostError, StartError
from rain.base.leading import Servers
from rain.base.silence import ClientLimits
from rain.rpc import client_registration, schema
from rain.rpc.client_registration import (
    Entry,
    GoneMeanwhileError,
    Registered,
    Way,
    connect_client,
    redial,
)
from rain.rpc.dialing import NotLetInError
from rain.rpc.interface import Fields, Interface
from rain.rpc.offered import Handler, IncomingCall, Offered, RemoteCapability
from rain.rpc.peer import Peer
from rain.stream.errors import UnreachableError
from rain.tls.keys import NO_KEYS


def way(*, wait: float) -> Way:
    limits = ClientLimits(connect=1.0, server_away=60.0, wait_for_server=wait)
    return Way(Servers([("127.0.0.1", 1)]), NO_KEYS, limits, 1)


def at_once(_away: float) -> float:
    return 0.001


def fail(monkeypatch: pytest.MonkeyPatch, *errors: Exception) -> list[Exception]:
    """The first tries end with these; gives those that are left."""
    left = list(errors)

    def dial(self: Way) -> socket.socket:
        if left:
            raise left.pop(0)
        return socket.socket()

    monkeypatch.setattr(Way, "dial", dial)
    monkeypatch.setattr(client_registration, "seconds_until_next_look", at_once)
    return left


def test_a_patient_client_tries_until_the_server_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    left = fail(monkeypatch, *[UnreachableError("refused")] * 4)
    way(wait=60.0).dial_first().close()
    assert not left


def test_another_client_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    left = fail(monkeypatch, *[UnreachableError("refused")] * 2)
    with pytest.raises(UnreachableError, match="refused"):
        way(wait=0.0).dial_first()
    assert len(left) == 1


def test_a_peer_that_is_not_let_in_does_not_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    left = fail(monkeypatch, *[NotLetInError("another key")] * 2)
    with pytest.raises(NotLetInError):
        way(wait=60.0).dial_first()
    assert len(left) == 1


def test_patience_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    fail(monkeypatch, *[UnreachableError("refused")] * 99)
    with pytest.raises(UnreachableError):
        way(wait=0.001).dial_first()


def register(monkeypatch: pytest.MonkeyPatch, *errors: Exception) -> list[Exception]:
    """The first registrations end with these, and the next one is refused; those that are left."""
    left = [*errors, StartError("refused")]

    def fails(entry: Entry) -> None:
        raise left.pop(0)

    fail(monkeypatch)
    monkeypatch.setattr(Entry, "register", fails)
    return left


def test_a_patient_client_registers_again_when_the_server_dies_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = register(monkeypatch, *[GoneMeanwhileError("gone")] * 3)
    with pytest.raises(StartError, match="refused"):
        connect_client(way(wait=60.0), None)
    assert not left


def test_another_client_is_told_so_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    left = register(monkeypatch, *[GoneMeanwhileError("gone")] * 3)
    with pytest.raises(GoneMeanwhileError, match="gone"):
        connect_client(way(wait=0.0), None)
    assert len(left) == 3


def test_a_server_that_is_back_and_refuses_without_a_reason_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The thread of the connection asks it: an error without a name there would say nothing."""
    ours, theirs = socket.socketpair()

    def refuse_it(_: Fields, call: IncomingCall) -> None:
        call.fail("")

    def take_key(key: bytes, uploads: str) -> None:
        raise AssertionError("the client was not let in")

    def refuse(server: socket.socket) -> None:
        said: list[bytes] = []
        handlers: dict[str, Handler] = {
            "registerClient": refuse_it,
            "registerGovernor": refuse_it,
        }
        peer = Peer(said.append, Offered(Interface.of(schema.server.ServerBootstrap), handlers))
        while len(said) < 2:  # the bootstrap has its answer, too
            peer.receive(server.recv(1 << 16))
        server.sendall(b"".join(said))

    def dial(_: Way) -> socket.socket:
        return ours

    monkeypatch.setattr(Way, "dial_one", dial)
    before = Registered(RemoteCapability({}), b"key", b"cluster", b"token")
    with ours, theirs, ThreadPoolExecutor(1) as server:
        refused = server.submit(refuse, theirs)
        with pytest.raises(ConnectionLostError, match="is back: it refuses this client"):
            redial(way(wait=0.0), before, take_key)
        refused.result()
