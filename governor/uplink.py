"""The governor's link to its server, which reconnects when a connection breaks.

A server with a journal can be restarted after it has died. Until then the governor goes on with its
work and keeps its data. Its updates are queued (`numbers.py`), and sent when the server is back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import trio
from structlog.typing import FilteringBoundLogger

from rain.base.errors import ProtocolError, StartError
from rain.base.wire.printed import PrintedLines
from rain.base.wire.update import Update
from rain.governor.service import Service
from rain.rpc.dialing import NotLeadingError
from rain.rpc.governor_endpoint import (
    CONNECT_TIMEOUT,
    NotTakenBackError,
    RefusedHereError,
)
from rain.rpc.handlers import Resumes, ServerLink
from rain.rpc.looking import seconds_until_next_look

Connect = Callable[[Resumes | None], Awaitable[ServerLink]]
"""Registers with the server, anew or to resume; raises `StartError`."""


async def reach(connect: Connect, seconds: float, log: FilteringBoundLogger) -> ServerLink:
    """Registers for the first time.

    It waits for a server that is not there yet, and for a standby that may be about to lead.
    """
    began, waits = trio.current_time(), False
    while True:
        try:
            return await connect(None)
        except RefusedHereError:
            raise
        except StartError as error:
            limit = max(seconds, CONNECT_TIMEOUT) if isinstance(error, NotLeadingError) else seconds
            away = trio.current_time() - began
            pause = seconds_until_next_look(away)
            if away + pause > limit:
                raise
            if not waits:
                log.warning("waits for the server", cause=str(error), waits_seconds=limit)
            waits = True
        await trio.sleep(pause)


class Uplink:
    """Implements `rain.governor.service.Upward`. Messages other than updates are dropped while the
    server is away.
    """

    def __init__(self, upstream: ServerLink, connect: Connect, log: FilteringBoundLogger) -> None:
        self.address = upstream.address
        self.returns = upstream.returns
        self._upstream = upstream
        self._connect = connect
        self._log = log

    @property
    def is_connected(self) -> bool:
        """Whether the server is there, as far as is known. Without it nothing can be handed on."""
        return self._upstream.is_open

    def update(self, update: Update) -> None:
        self._upstream.update(update)

    def printed(self, watch: int, lines: Sequence[PrintedLines]) -> None:
        self._upstream.printed(watch, lines)

    def reject(self, reason: str) -> None:
        self._upstream.reject(reason)

    async def drained(self) -> None:
        """Tells the server that this governor leaves on purpose; returns when the server knows."""
        await self._upstream.drained()

    def close(self) -> None:
        self._upstream.close()

    async def keep_up(self, service: Service, limit: float) -> None:
        """Resumes whenever the connection is cut, until the governor ends.

        A server that is away for longer than `limit` seconds is lost.
        """
        while True:
            cause = await service.cut()
            self._log.warning("the server is away, tasks go on", cause=cause, waits_seconds=limit)
            began = trio.current_time()
            if not await self._redial(service, cause, began, limit):
                return
            seconds = round(trio.current_time() - began, 3)
            self._log.info("the server is back", away_seconds=seconds)

    async def _redial(self, service: Service, cause: str, began: float, limit: float) -> bool:
        """Whether the governor has resumed; else it ends, and knows why."""
        last = "nobody was asked"
        while True:
            away = trio.current_time() - began
            pause = seconds_until_next_look(away)
            if away + pause > limit:
                break
            await trio.sleep(pause)
            try:
                upstream = await self._connect(service.resumes())
            except NotTakenBackError as error:
                service.fence(str(error))
                return False
            except RefusedHereError as error:
                service.give_up(str(error))
                return False
            except StartError as error:
                last = str(error)
                continue
            return self._resume(service, upstream)
        service.give_up(f"{cause}; it has not come back within {limit:g} seconds: {last}")
        return False

    def _resume(self, service: Service, upstream: ServerLink) -> bool:
        try:
            missed = service.missed(upstream.applied)
        except ProtocolError as error:
            upstream.close(str(error))
            service.give_up(str(error))
            return False
        self._upstream = upstream
        for update in missed:
            upstream.update(update)
        return True
