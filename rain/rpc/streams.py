"""Where streams meet the host loop: the port of a governor, and the guests of the server's port."""

from __future__ import annotations

import asyncio

from rain.base.admission import Secret
from rain.base.errors import RefusedError
from rain.base.ids import GovernorId, ObjectId
from rain.rpc.handlers import ServerHandler, StreamSource
from rain.rpc.host import in_host
from rain.rpc.port import Port
from rain.rpc.threads import HostCalls
from rain.stream.holder import Draft, Held
from rain.stream.protocol import NOBODY
from rain.stream.reading import StreamReader
from rain.stream.serving import StreamServer


class GovernorHolder:
    """Objects of a governor: found in the host, read in the threads of streams."""

    def __init__(self, source: StreamSource, incarnation: GovernorId) -> None:
        self._source = source
        self._incarnation = incarnation
        self._in_host = HostCalls()

    def find(self, object_id: ObjectId, incarnation: int) -> Held | None:
        if incarnation not in {0, self._incarnation}:
            return None  # another program listened here before, or listens elsewhere
        return self._in_host(self._source.find, object_id)

    def begin_upload(self, key: bytes, object_id: ObjectId, length: int) -> Draft:
        raise RefusedError("governors take no uploads")


class ServerHolder:
    """What only the server has, and the way to all that governors have."""

    def __init__(self, handler: ServerHandler) -> None:
        self._handler = handler
        self._in_host = HostCalls()

    def find(self, object_id: ObjectId, incarnation: int) -> Held | None:
        return self._in_host(self._handler.find, object_id)

    def begin_upload(self, key: bytes, object_id: ObjectId, length: int) -> Draft:
        return self._handler.uploads.begin_upload(key, object_id, length)


class GovernorStreams:
    """The port where a governor's data is read."""

    def __init__(
        self,
        host: str,
        port: int,
        source: StreamSource,
        incarnation: GovernorId,
        machine: bytes = NOBODY,
        secret: Secret | None = None,
    ) -> None:
        holder = GovernorHolder(source, incarnation)
        self._streams = StreamServer(holder, machine=machine, secret=secret)
        self._port = Port(host, port, self._streams.take)
        self.address = self._port.address

    async def close(self) -> None:
        """From trio: ends the port and all of its streams."""
        self._port.close()
        await end_streams(self._streams)


def server_streams(
    handler: ServerHandler, machine: bytes = NOBODY, secret: Secret | None = None
) -> StreamServer:
    """The streams of the server; what governors hold is passed on."""
    return StreamServer(ServerHolder(handler), StreamReader(secret=secret), machine=machine)


async def end_streams(streams: StreamServer) -> None:
    """From trio: ends streams and waits for their threads, which may still ask the host."""
    streams.close()
    await in_host(asyncio.to_thread, streams.join)
