"""Reading whole objects from their holders, for the governor's trio tasks and plain functions."""

import asyncio
from collections.abc import Callable
from typing import TypeAlias

import outcome

from rain.base.ids import ObjectId
from rain.rpc.connection import UnreachableError
from rain.rpc.data_pool import IDLE, DataPool, NotHereError
from rain.rpc.host import host, in_host
from rain.rpc.pieces import Sink

__all__ = ["DataReader", "NotHereError", "Reading", "Sink", "UnreachableError"]

Done: TypeAlias = Callable[[outcome.Outcome[int]], object]
"""Takes the length of what was read; or an error: of the reading, or what the sink has raised."""


class Reading:
    """One object on its way, for who started it."""

    def __init__(self, task: asyncio.Task[int]) -> None:
        self._task = task

    def cancel(self) -> None:
        """Gives up; neither the sink nor `done` is called any more."""
        self._task.cancel()


class DataReader:
    """Reads from any address, over connections that are kept while they are used."""

    def __init__(self, server_address: str, idle: float = IDLE) -> None:
        self._pool = DataPool(server_address, idle)

    async def read(self, address: str, object_id: ObjectId, sink: Sink) -> int:
        """From trio: reads everything into the sink and gives the length.

        Raises `NotHereError`, `UnreachableError`, or what the sink raises. The sink is called in
        the host loop.
        """
        return await in_host(self._pool.whole, address, object_id, sink)

    def start(self, address: str, object_id: ObjectId, sink: Sink, done: Done) -> Reading:
        """The same for plain functions: `done` is called once in the host loop, later."""
        program = host()

        def ended(task: asyncio.Task[int]) -> None:
            if not task.cancelled() and program.alive:
                done(outcome.capture(task.result))

        task = program.loop.create_task(self._pool.whole(address, object_id, sink))
        task.add_done_callback(ended)
        return Reading(task)

    def close(self) -> None:
        """Closes the connections; what is being read from them ends as unreachable."""
        self._pool.close()
