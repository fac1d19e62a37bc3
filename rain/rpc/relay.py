"""The bytes that a client asks the server for: the server's own, or passed on from a governor.

A client never speaks to governors. It is told the length of an object by `fetch` and then reads it
from the server piece by piece, several at once; the server asks whoever held it at the fetch. When
that holder has gone meanwhile, the reactor is asked again who has it.
"""

from collections import OrderedDict

from rain.base.ids import ObjectId, spell
from rain.base.wire import PIECE, SERVER, Fetched
from rain.rpc.connection import UnreachableError
from rain.rpc.data_pool import DataPool, NotHereError
from rain.rpc.handlers import ClientHandler, DataSource
from rain.rpc.replies import CallReply, Refused

REMEMBERED = 1024
"""Objects of one client whose holder is remembered from one piece to the next."""

ATTEMPTS = 3


class Relay:
    """Reads objects for one client."""

    def __init__(self, source: DataSource, handler: ClientHandler, pool: DataPool) -> None:
        self._source = source
        self._handler = handler
        self._pool = pool
        self._holders: OrderedDict[ObjectId, str] = OrderedDict()

    def remember(self, fetched: Fetched) -> None:
        """Keeps who holds an object for the pieces that will be read of it."""
        if fetched.data is None and fetched.holder not in {"", SERVER}:
            self._holders[fetched.report.id] = fetched.holder
            if len(self._holders) > REMEMBERED:
                self._holders.popitem(last=False)

    async def read(self, object_id: ObjectId, offset: int, size: int) -> tuple[int, bytes]:
        """The length of an object and one piece of it; raises `Refused`."""
        size = min(size, PIECE)
        trouble = ""
        for _ in range(ATTEMPTS):
            here = self._source.read(object_id, offset, size)
            if here is not None:
                return here
            holder = self._holders.get(object_id)
            if holder is None:
                fetched = await self._fetch(object_id)
                if fetched.data is not None:
                    return len(fetched.data), fetched.data[offset : offset + size]
                holder = fetched.holder
            if holder in {"", SERVER}:
                trouble = f"nobody holds {spell(object_id)}"
                continue
            try:
                return await self._pool.piece(holder, object_id, offset, size)
            except (NotHereError, UnreachableError) as error:
                trouble = str(error)
                self._holders.pop(object_id, None)
        raise Refused(f"the data of {spell(object_id)} cannot be read: {trouble}")

    async def _fetch(self, object_id: ObjectId) -> Fetched:
        reply: CallReply[Fetched] = CallReply()
        self._handler.fetch(object_id, reply)
        fetched = await reply.value()
        self.remember(fetched)
        return fetched
