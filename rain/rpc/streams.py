"""Serves streams of data: at the port of a governor, and at the server's port."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import trio

from rain.base.errors import RefusedError
from rain.base.ids import GovernorId, ObjectId
from rain.base.leading import Servers
from rain.base.transfers import Transfers
from rain.base.wire.answers import DataLink
from rain.rpc.background import Background, in_a_thread
from rain.rpc.handlers import ServerHandler, StreamSource
from rain.rpc.port import Port
from rain.stream.calling_back import CallsBack
from rain.stream.holder import Held, UnfinishedAdoption, UnfinishedUpload
from rain.stream.protocol import NOBODY
from rain.stream.reading import StreamReader
from rain.stream.relaying import Relay
from rain.stream.serving import StreamServer
from rain.tls.keys import NO_KEYS, Keys


def found_each(
    find: Callable[[ObjectId], Held | None], objects: Sequence[ObjectId]
) -> list[Held | None]:
    """Each of these as it was found, in one visit to the thread of trio."""
    return [find(one) for one in objects]


class GovernorHolder:
    """Objects of a governor: found in the thread of trio, read in the threads of streams."""

    def __init__(
        self, background: Background, source: StreamSource, incarnation: GovernorId
    ) -> None:
        self._background = background
        self._source = source
        self._incarnation = incarnation

    def find(self, object_id: ObjectId, incarnation: int) -> Held | None:
        if incarnation not in {0, self._incarnation}:
            return None  # another program listened here before, or listens elsewhere
        return self._background.from_thread(self._source.find, object_id)

    def find_each(self, objects: Sequence[ObjectId], incarnation: int) -> list[Held | None]:
        if incarnation not in {0, self._incarnation}:
            return [None for _ in objects]
        return self._background.from_thread(found_each, self._source.find, objects)

    def begin_upload(self, key: bytes, object_id: ObjectId, length: int) -> UnfinishedUpload:
        raise RefusedError("governors take no uploads")

    def begin_adoption(self, key: bytes, object_id: ObjectId, length: int) -> UnfinishedAdoption:
        raise RefusedError("governors take no uploads")


class ServerHolder:
    """Serves the objects that only the server has, and relays those of governors."""

    def __init__(self, background: Background, handler: ServerHandler) -> None:
        self._background = background
        self._handler = handler

    def find(self, object_id: ObjectId, incarnation: int) -> Held | None:
        return self._background.from_thread(self._handler.find, object_id)

    def find_each(self, objects: Sequence[ObjectId], incarnation: int) -> list[Held | None]:
        return self._background.from_thread(found_each, self._handler.find, objects)

    def begin_upload(self, key: bytes, object_id: ObjectId, length: int) -> UnfinishedUpload:
        return self._handler.uploads.begin_upload(key, object_id, length)

    def begin_adoption(self, key: bytes, object_id: ObjectId, length: int) -> UnfinishedAdoption:
        return self._handler.uploads.begin_adoption(key, object_id, length)


class GovernorStreams:
    """The port where a governor's data is read."""

    def __init__(
        self,
        nursery: trio.Nursery,
        where: tuple[str, int],
        source: StreamSource,
        incarnation: GovernorId,
        machine: bytes = NOBODY,
        keys: Keys = NO_KEYS,
        servers: Servers | None = None,
    ) -> None:
        holder = GovernorHolder(Background(nursery), source, incarnation)
        self.incarnation = incarnation
        self._caller = StreamReader(servers, keys=keys)
        self._streams = StreamServer(holder, machine=machine, keys=keys)
        self._port = Port(*where, self._streams.take)
        self.address = self._port.address
        nursery.start_soon(self._port.run)

    def call_back(self, ticket: bytes) -> None:
        """The server wants to read here and cannot connect: it is called."""
        self._streams.call_back(
            self._caller.connections.connect_to_server, self.incarnation, ticket
        )

    def links(self) -> tuple[DataLink, ...]:
        """The amounts of data sent over each link to another machine."""
        return self._streams.links.report()

    def transfers(self) -> Transfers:
        """The sums over all links."""
        return self._streams.links.total()

    async def close(self) -> None:
        """Ends the port and all of its streams."""
        self._port.close()
        await end_streams(self._streams)


def server_streams(
    nursery: trio.Nursery,
    handler: ServerHandler,
    machine: bytes = NOBODY,
    keys: Keys = NO_KEYS,
) -> StreamServer:
    """The streams of the server; what governors hold is passed on.

    Governors that it cannot connect to are asked to call back.
    """
    background = Background(nursery)

    def ask(incarnation: int, ticket: bytes) -> bool:
        return background.from_thread(handler.ask_for_call, GovernorId(incarnation), ticket)

    calls_back = CallsBack(ask)
    reader = StreamReader(keys=keys, calls_back=calls_back)
    holder = ServerHolder(background, handler)
    return StreamServer(holder, Relay(reader), machine=machine, calls_back=calls_back)


async def end_streams(streams: StreamServer) -> None:
    """Ends streams and waits for their threads, which may still ask the program."""
    streams.close()
    await in_a_thread(streams.join, abandon=False)
