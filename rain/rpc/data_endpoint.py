"""Offering the bytes of data objects: the data port of a governor, and the server's own data."""

from rain.base.errors import ProtocolError
from rain.base.ids import ObjectId
from rain.base.wire import PIECE
from rain.rpc import schema
from rain.rpc.codec.border import CallContext, OfferedServer
from rain.rpc.connection import Connection
from rain.rpc.handlers import DataSource
from rain.rpc.listener import Listener
from rain.rpc.offer import offer


def listen_data(host: str, port: int, source: DataSource) -> Listener:
    """Listens for readers, at any free port if it is 0; `StartError` if it cannot."""

    def greet(connection: Connection, peer_host: str) -> None:  # anybody may read
        connection.serve(offered_data(connection, source))

    return Listener(host, port, greet)


def offered_data(connection: Connection, source: DataSource) -> OfferedServer:
    """The service that reads from a source."""

    async def read(context: CallContext) -> None:
        params = context.params
        offset, size = params.offset, params.size
        if offset < 0 or size < 0:
            raise ProtocolError(f"read: {size} bytes from {offset} cannot be read")
        found = source.read(ObjectId(params.object), offset, min(size, PIECE))
        results = context.results
        if found is None:
            results.status = "notHere"
        else:
            results.total, results.data = found

    return offer(schema.data.DataService, connection, {"read": read})
