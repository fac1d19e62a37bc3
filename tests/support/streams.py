"""Reading over streams in tests: holders that say what they have, and a taker that keeps it."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import trio
from attrs import Factory, define

from rain.base.ids import GovernorId, ObjectId
from rain.rpc.handlers import StreamSource
from rain.rpc.streams import GovernorStreams
from rain.stream.admission import admit
from rain.stream.archive import Archive
from rain.stream.holder import Held, InFile, InFolder, InMemory
from rain.stream.protocol import (
    HELLO,
    NOBODY,
    REQUEST_SIZE,
    Say,
    SharedPlace,
    StreamAnswer,
    StreamRequest,
)
from rain.stream.sockets import BrokenError, Incoming, hang_up, receive_into
from rain.stream.stamps import Stamp

MADE_AT = 1_700_000_000_123_456_789
"""When all that `breaking` sends was made, in nanoseconds."""


@define(eq=False)
class Holding:
    """Holds objects in memory, in files, or in folders."""

    contents: dict[int, bytes | Path]
    asked: list[int] = Factory(list)

    def find(self, object_id: ObjectId) -> Held | None:
        self.asked.append(object_id)
        content = self.contents.get(object_id)
        if content is None or isinstance(content, bytes):
            return None if content is None else InMemory(content)
        return InFolder(content) if content.is_dir() else InFile.open(content)


@asynccontextmanager
async def listening_streams(
    source: StreamSource, machine: bytes = NOBODY
) -> AsyncGenerator[GovernorStreams, None]:
    """A data port in the program of the test."""
    async with trio.open_nursery() as nursery:
        streams = GovernorStreams(nursery, ("127.0.0.1", 0), source, GovernorId(77), machine)
        yield streams
        await streams.close()
        nursery.cancel_scope.cancel()


@define(eq=False)
class Pausing:
    """A holder that sends half of an object, and nothing more until its reader has left."""

    port: socket.socket
    length: int
    pauses: threading.Event = Factory(threading.Event)
    is_left: threading.Event = Factory(threading.Event)

    @property
    def address(self) -> str:
        host, port = self.port.getsockname()
        return f"{host}:{port}"

    def serve(self) -> None:
        try:
            connected, _ = self.port.accept()
        except OSError:
            return  # closed
        with connected:
            admit(connected, None)
            connected.recv(len(HELLO) + REQUEST_SIZE, socket.MSG_WAITALL)
            connected.sendall(
                StreamAnswer(Say.BYTES, self.length).encode() + bytes(self.length // 2)
            )
            self.pauses.set()
            assert connected.recv(1) == b""
            self.is_left.set()


@contextmanager
def pausing_holder(length: int) -> Generator[Pausing]:
    """Such a holder in a thread, for one reader."""
    with socket.create_server(("127.0.0.1", 0)) as port:
        pausing = Pausing(port, length)
        thread = threading.Thread(target=pausing.serve)
        thread.start()
        try:
            yield pausing
        finally:
            hang_up(port)
            thread.join()


@define(eq=False)
class Breaking:
    """A holder that sends a part of a file and then breaks off, or says nothing any more."""

    port: socket.socket
    data: bytes
    stamp: Stamp
    sends: int
    hangs: bool
    asked: list[StreamRequest] = Factory(list)
    over: threading.Event = Factory(threading.Event)

    @property
    def address(self) -> str:
        host, port = self.port.getsockname()
        return f"{host}:{port}"

    def serve(self) -> None:
        while True:
            try:
                connected, _ = self.port.accept()
            except OSError:
                return  # closed
            with connected:
                admit(connected, None)
                asked = connected.recv(len(HELLO) + REQUEST_SIZE, socket.MSG_WAITALL)
                self.asked.append(StreamRequest.decode(asked[len(HELLO) :]))
                answer = StreamAnswer(Say.BYTES, len(self.data), self.stamp.spell())
                connected.sendall(answer.encode() + self.data[: self.sends])
                if self.hangs:
                    self.over.wait(60)


@contextmanager
def breaking(data: bytes, sends: int, *, hangs: bool = False) -> Generator[Breaking]:
    with socket.create_server(("127.0.0.1", 0)) as port:
        holder = Breaking(port, data, Stamp(MADE_AT, len(data)), sends, hangs)
        thread = threading.Thread(target=holder.serve)
        thread.start()
        try:
            yield holder
        finally:
            holder.over.set()
            hang_up(port)
            thread.join()


@define(eq=False)
class Collected:
    """Takes an object into memory."""

    data: bytes = b""
    places: list[SharedPlace] = Factory(list)
    shares: bool = False  # as if the reader had taken it from there

    def take_shared(self, place: SharedPlace, length: int) -> bool:
        self.places.append(place)
        return self.shares

    def take(self, connected: Incoming, length: int) -> None:
        data = bytearray(length)
        if receive_into(connected, memoryview(data)) < length:
            raise BrokenError("the stream was cut off")
        self.data = bytes(data)


def bytes_of(held: Held | None) -> bytes:
    """What a reader would get."""
    match held:
        case InMemory(data):
            return data
        case InFile():
            held.close()
            return held.path.read_bytes()
        case InFolder(path):
            return _archived(path)
        case _:
            raise AssertionError(f"not here: {held}")


def _archived(folder: Path) -> bytes:
    """The archive of a folder, as it comes out of a socket."""
    archive = Archive.of(folder)
    here, there = socket.socketpair()
    with here, there:
        sender = threading.Thread(target=archive.body().send, args=(there, 0, archive.length))
        sender.start()
        taken = Collected()
        taken.take(here, archive.length)
        sender.join()
    return taken.data
