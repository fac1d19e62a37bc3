"""Reading the bytes of objects from whoever holds them, over connections that are kept for a while.

All readers of one address share one connection. It is made by whoever needs it first, and closed
when nobody has used it for `IDLE` seconds. These are coroutines of the host loop; `DataReader` is
the form for trio and for plain functions.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

import capnp

from rain.base.errors import ProtocolError, RainError
from rain.base.ids import ObjectId, spell
from rain.base.wire import SERVER
from rain.rpc import schema
from rain.rpc.address import split_address
from rain.rpc.codec.border import Capability, reading
from rain.rpc.connection import Connection, UnreachableError, dial, reason_of
from rain.rpc.pieces import ChangedError, Piece, Sink, read_pieces

IDLE = 10.0
CONNECT_TIMEOUT = 10.0
PIECE_TIMEOUT = 30.0
"""Seconds after which a holder that does not send a piece counts as unreachable."""


class NotHereError(RainError):
    """The holder does not have the object (any more); the server knows where it is."""


class _Line:
    """The connection to one address, and who uses it."""

    def __init__(self, dialled: Coroutine[None, None, tuple[Connection, Capability]]) -> None:
        self.connecting = asyncio.create_task(dialled)
        self.connecting.add_done_callback(self._connected)
        self.connection: Connection | None = None
        self.users = 0
        self.idle: asyncio.TimerHandle | None = None

    @property
    def is_good(self) -> bool:
        return self.connection is not None and self.connection.is_open

    def hang_up(self) -> None:
        if self.idle is not None:
            self.idle.cancel()
        self.connecting.cancel()
        if self.connection is not None:
            self.connection.end("nobody reads from it any more")

    def _connected(self, task: asyncio.Task[tuple[Connection, Capability]]) -> None:
        if not task.cancelled() and task.exception() is None:
            self.connection = task.result()[0]


class DataPool:
    """Connections to the holders of data, by address. `SERVER` stands for the server's address."""

    def __init__(self, server_address: str = "", idle: float = IDLE) -> None:
        self._server_address = server_address
        self._idle = idle
        self._lines: dict[str, _Line] = {}

    async def piece(self, address: str, object_id: ObjectId, offset: int, size: int) -> Piece:
        """The length of the whole and one piece; `NotHereError` or `UnreachableError`."""
        line = self._enter(address)
        try:
            service = await self._service(address, line)
            return await self._piece(address, service, object_id, offset, size)
        finally:
            self._leave(address, line)

    async def whole(self, address: str, object_id: ObjectId, sink: Sink) -> int:
        """Reads everything, a few pieces in flight; gives the length."""
        line = self._enter(address)
        try:
            service = await self._service(address, line)
            return await self._whole(address, service, object_id, sink)
        finally:
            self._leave(address, line)

    def close(self) -> None:
        """Closes all connections; what is being read from them fails."""
        for address in list(self._lines):
            self._hang_up(address, self._lines[address])

    async def _whole(
        self, address: str, service: Capability, object_id: ObjectId, sink: Sink
    ) -> int:
        def ask(offset: int, size: int) -> Coroutine[Any, Any, Piece]:
            return self._piece(address, service, object_id, offset, size)

        try:
            return await read_pieces(ask, sink)
        except ChangedError as error:
            raise UnreachableError(f"{address}: {spell(object_id)}: {error}") from None

    async def _piece(
        self, address: str, service: Capability, object_id: ObjectId, offset: int, size: int
    ) -> Piece:
        try:
            async with asyncio.timeout(PIECE_TIMEOUT):
                answer = await service.read(object=object_id, offset=offset, size=size)
            with reading("a piece of data"):
                if answer.status == "notHere":
                    raise NotHereError(f"{address} does not have {spell(object_id)}")
                return answer.total, answer.data
        except TimeoutError:
            reason = f"no answer within {PIECE_TIMEOUT:g} seconds"
            raise UnreachableError(f"{address}: {reason}") from None
        except capnp.KjException as error:
            raise UnreachableError(f"{address}: {reason_of(error)}") from None
        except ProtocolError as error:
            raise UnreachableError(f"{address}: {error}") from None

    def _enter(self, address: str) -> _Line:
        line = self._lines.get(address)
        if line is None or (line.connecting.done() and not line.is_good):
            line = self._lines[address] = _Line(self._connect(address))
        line.users += 1
        if line.idle is not None:
            line.idle.cancel()
            line.idle = None
        return line

    def _leave(self, address: str, line: _Line) -> None:
        line.users -= 1
        if line.users:
            return
        if line.is_good and self._lines.get(address) is line:
            loop = asyncio.get_running_loop()
            line.idle = loop.call_later(self._idle, self._hang_up, address, line)
        else:
            self._hang_up(address, line)

    def _hang_up(self, address: str, line: _Line) -> None:
        if self._lines.get(address) is line:
            del self._lines[address]
        line.hang_up()

    async def _service(self, address: str, line: _Line) -> Capability:
        try:
            # Shielded: who waits for the connection may give up, the others still want it.
            _, service = await asyncio.shield(line.connecting)
        except asyncio.CancelledError:
            reader = asyncio.current_task()
            if reader is not None and not reader.cancelling():
                raise UnreachableError(f"{address}: the reader was closed") from None
            raise
        return service

    async def _connect(self, address: str) -> tuple[Connection, Capability]:
        if address != SERVER:
            connection = await self._dial(address)
            return connection, connection.call(schema.data.DataService)
        connection = await self._dial(self._server_address)
        bootstrap = connection.call(schema.server.ServerBootstrap)
        return connection, bootstrap.data().service

    async def _dial(self, address: str) -> Connection:
        try:
            host, port = split_address(address)
        except ProtocolError as error:
            raise UnreachableError(str(error)) from None
        return await dial(host, port, CONNECT_TIMEOUT)
