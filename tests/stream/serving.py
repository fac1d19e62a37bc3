"""Stream servers in threads, without any event loop."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import Factory, define

from rain.base.admission import MemberKind, Secret
from rain.base.errors import RefusedError
from rain.base.ids import ObjectId
from rain.base.leading import Servers
from rain.stream.admission import dial_tls, introduce
from rain.stream.calling_back import CallsBack
from rain.stream.holder import Elsewhere, Held, InFar, UnfinishedAdoption, UnfinishedUpload
from rain.stream.protocol import NOBODY
from rain.stream.reading import StreamReader
from rain.stream.relaying import Relay
from rain.stream.serving import StreamLimits, StreamServer
from rain.stream.sockets import Connected
from rain.tls.identity import Identity
from rain.tls.keys import Keys
from rain.tls.pump import Pump
from tests.support.streams import Holding
from tests.support.tls import keys_of

ME = 77
MACHINE = bytes(range(16))
A, B = ObjectId(1), ObjectId(2)


way = {"encrypted": False}
"""What the tests of this folder set before they begin."""


class Undemanding(Identity):
    """One that dials whatever has a certificate: here one program plays all members."""

    def dialling(self, *expects: MemberKind) -> Pump:
        return super().dialling(*MemberKind)


def certificate(member: MemberKind) -> Identity | None:
    if not way["encrypted"]:
        return None
    return Undemanding.read(keys_of(), member)


@define(eq=False)
class Having:
    """A holder that has what a test says, or what lies far away; `elsewhere` names others."""

    contents: dict[int, bytes | Path] = Factory(dict)
    elsewhere: dict[int, tuple[str, ...]] = Factory(dict)
    far: dict[int, InFar] = Factory(dict)

    def find(self, object_id: ObjectId, incarnation: int) -> Held | None:
        if incarnation not in {0, ME}:
            return None
        if object_id in self.elsewhere:
            return Elsewhere(self.elsewhere[object_id])
        return self.far.get(object_id) or Holding(self.contents).find(object_id)

    def find_each(self, objects: Sequence[ObjectId], incarnation: int) -> list[Held | None]:
        return [self.find(one, incarnation) for one in objects]

    def begin_upload(self, key: bytes, object_id: ObjectId, length: int) -> UnfinishedUpload:
        raise RefusedError("the disk is full")

    def begin_adoption(self, key: bytes, object_id: ObjectId, length: int) -> UnfinishedAdoption:
        raise RefusedError("the disk is full")


@define(eq=False)
class Listening:
    """A port in a thread whose connections a stream server takes."""

    server: StreamServer
    port: socket.socket
    accepted: int = 0

    @property
    def address(self) -> str:
        host, port = self.port.getsockname()
        return f"{host}:{port}"

    def connect(self) -> Connected:
        """A connection that was let in, and says nothing more by itself."""
        return let_in(socket.create_connection(self.port.getsockname()))

    def accept(self) -> None:
        while True:
            try:
                connected, _ = self.port.accept()
            except OSError:
                return  # closed
            self.accepted += 1
            self.server.take(connected)


def let_in(bare: socket.socket) -> Connected:
    """This connection to a stream server, when it was let in."""
    bare.settimeout(20)
    connected = dial_tls(bare, certificate(MemberKind.CLIENT), MemberKind.GOVERNOR, 20)
    introduce(connected, None)
    return connected


@contextmanager
def listening(
    having: Having,
    *,
    machine: bytes = NOBODY,
    first_word: float = 10.0,
    stall_limit: float = 10.0,
    threads_at_once: int = 16,
    secret: Secret | None = None,
    calls_back: CallsBack | None = None,
    host: str = "127.0.0.1",
) -> Generator[Listening]:
    """A stream server; at the end all of its threads have ended."""
    server = StreamServer(
        having,
        Relay(
            StreamReader(keys=Keys(identity=certificate(MemberKind.SERVER)), calls_back=calls_back)
        ),
        machine=machine,
        limits=StreamLimits(stall_limit, first_word, threads_at_once),
        keys=Keys(secret, certificate(MemberKind.GOVERNOR)),
        calls_back=calls_back,
    )
    port = Listening(server, socket.create_server((host, 0)))
    thread = threading.Thread(target=port.accept)
    thread.start()
    try:
        yield port
    finally:
        port.port.shutdown(socket.SHUT_RDWR)
        thread.join()
        port.port.close()
        server.close()
        server.join()
        assert not server.open_streams


@contextmanager
def reading(
    server: str = "",
    machine: bytes = NOBODY,
    stall: float = 10.0,
    secret: Secret | None = None,
) -> Generator[StreamReader]:
    """A reader whose connections are closed at the end."""
    reader = StreamReader(
        Servers.of(server) if server else None,
        machine=machine,
        connect_timeout=5,
        stall_limit=stall,
        keys=Keys(secret, certificate(MemberKind.CLIENT)),
    )
    try:
        yield reader
    finally:
        reader.close()
