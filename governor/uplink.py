"""The governor's link to its server, which reconnects when a connection breaks, until its end.

A server with a journal can be restarted after it has died. Until then the governor goes on with its
work and keeps its data. Its updates are queued (`numbers.py`), and sent when the server is back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

import trio
from attrs import frozen
from structlog.typing import FilteringBoundLogger

from rain.base.errors import ProtocolError, StartError
from rain.base.wire.printed import PrintedLines
from rain.base.wire.update import Update
from rain.rpc.dialing import NotLeadingError
from rain.rpc.governor_endpoint import (
    CONNECT_TIMEOUT,
    NotTakenBackError,
    RefusedHereError,
)
from rain.rpc.handlers import ControlHandler, Resumes, ServerLink
from rain.rpc.looking import seconds_until_next_look

SECONDS_TO_HEAR = 5.0
"""How long a governor that leaves waits until its server has heard of that."""

Connect = Callable[[ControlHandler, Resumes | None], Awaitable[ServerLink]]
"""Registers with the server, anew or to resume; raises `StartError`."""


class ResumingHandler(ControlHandler, Protocol):
    """A governor whose server may come back."""

    def resumes(self) -> Resumes:
        """The message with which this governor resumes at a server that has come back."""
        ...

    def missed(self, applied: int) -> list[Update]:
        """The updates to be sent again to a server that has applied those up to this number."""
        ...


@frozen
class Stopped:
    """The server has told the governor to stop."""

    reason: str


@frozen
class Lost:
    """The server is lost for good."""

    reason: str


@frozen
class Fenced:
    """The server is reachable, and does not take this governor back."""

    reason: str


async def reach(
    connect: Callable[[Resumes | None], Awaitable[ServerLink]],
    seconds: float,
    log: FilteringBoundLogger,
) -> ServerLink:
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
    """Messages other than updates are dropped while the server is away."""

    def __init__(self, connect: Connect, log: FilteringBoundLogger) -> None:
        self.end: Stopped | Lost | Fenced | None = None  # the first one counts
        self._ended = trio.Event()
        self._cut = trio.Event()
        self._cause = ""  # of the cut
        self._upstream: ServerLink | None = None  # until it has registered
        self._connect = connect
        self._log = log

    async def register(self, handler: ControlHandler, seconds: float) -> None:
        """Registers for the first time; waits up to `seconds` for a server that is missing."""
        self._upstream = await reach(partial(self._connect, handler), seconds, self._log)

    # What is known of the server.

    @property
    def is_registered(self) -> bool:
        return self._upstream is not None

    @property
    def address(self) -> str:
        """How the server names this governor; "" until it has registered."""
        return "" if self._upstream is None else self._upstream.address

    @property
    def returns(self) -> bool:
        """Whether the server comes back when it has died: then a cut is not the end."""
        return self._upstream is not None and self._upstream.returns

    @property
    def is_connected(self) -> bool:
        """Whether the server is there, as far as is known. Without it nothing can be handed on."""
        return self._upstream is not None and self._upstream.is_open

    # What the server is told.

    def update(self, update: Update) -> None:
        self._registered().update(update)

    def printed(self, watch: int, lines: Sequence[PrintedLines]) -> None:
        self._registered().printed(watch, lines)

    def reject(self, reason: str) -> None:
        """Ends the link, because a message of the server was invalid: nothing can be resumed."""
        self._registered().reject(reason)
        self._finish(Lost(reason))

    async def drained(self) -> None:
        """Tells the server that this governor leaves on purpose; returns when the server knows.

        A server that stands still is not waited for: it sees the end of the connection.
        """
        with trio.move_on_after(SECONDS_TO_HEAR):
            await self._registered().drained()

    def close(self) -> None:
        if self._upstream is not None:
            self._upstream.close()

    def _registered(self) -> ServerLink:
        assert self._upstream is not None  # only then is there any work to tell of
        return self._upstream

    # How it ends.

    async def ended(self) -> None:
        """Waits until the server is lost or has told this governor to stop."""
        await self._ended.wait()

    def stop(self, reason: str) -> None:
        """The server has told the governor to stop."""
        self._finish(Stopped(reason or "the server gave no reason"))

    def left(self, cause: str, *, at_fault: bool = False) -> None:
        """A connection has ended."""
        cause = cause or "the connection ended"
        if self.returns and not at_fault and self.end is None:
            self._cause = cause
            self._cut.set()
        else:
            self._finish(Lost(cause))

    def _finish(self, end: Stopped | Lost | Fenced) -> None:
        self.end = self.end or end
        self._ended.set()

    # How it goes on.

    async def keep_up(self, service: ResumingHandler, limit: float) -> None:
        """Resumes whenever the connection is cut, until the governor ends.

        A server that is away for longer than `limit` seconds is lost.
        """
        while True:
            await self._cut.wait()
            self._cut = trio.Event()
            cause = self._cause
            self._log.warning("the server is away, tasks go on", cause=cause, waits_seconds=limit)
            began = trio.current_time()
            if not await self._redial(service, cause, began, limit):
                return
            seconds = round(trio.current_time() - began, 3)
            self._log.info("the server is back", away_seconds=seconds)

    async def _redial(
        self, service: ResumingHandler, cause: str, began: float, limit: float
    ) -> bool:
        """Whether the governor has resumed; else it ends, and knows why."""
        last = "nobody was asked"
        while True:
            away = trio.current_time() - began
            pause = seconds_until_next_look(away)
            if away + pause > limit:
                break
            await trio.sleep(pause)
            try:
                upstream = await self._connect(service, service.resumes())
            except NotTakenBackError as error:
                self._finish(Fenced(str(error)))
                return False
            except RefusedHereError as error:
                self._finish(Lost(str(error)))
                return False
            except StartError as error:
                last = str(error)
                continue
            return self._resume(service, upstream)
        self._finish(Lost(f"{cause}; it has not come back within {limit:g} seconds: {last}"))
        return False

    def _resume(self, service: ResumingHandler, upstream: ServerLink) -> bool:
        try:
            missed = service.missed(upstream.applied)
        except ProtocolError as error:
            upstream.close(str(error))
            self._finish(Lost(str(error)))
            return False
        self._upstream = upstream
        for update in missed:
            upstream.update(update)
        return True
