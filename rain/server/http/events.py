"""POST /events: the event log over HTTP."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack
from http import HTTPStatus

import trio
from attrs import Factory, define
from structlog.typing import FilteringBoundLogger

from rain.base.errors import RefusedError
from rain.server.core.state import State
from rain.server.dashboard.library import Library
from rain.server.history import query
from rain.server.history.reader import EventReader, Pages
from rain.server.http import messages
from rain.server.http.messages import HttpRequest, Response
from rain.server.http.viewing import Viewer

READERS = 4
"""Threads that read the event log at a time."""


@define(eq=False)
class EventsPage:
    """Answers queries of the event log."""

    reader: EventReader | None
    log: FilteringBoundLogger
    state: State
    library: Library | None  # which knows whose sessions were that have ended
    threads: trio.CapacityLimiter = Factory(lambda: trio.CapacityLimiter(READERS))

    async def serve(self, request: HttpRequest) -> Response:
        """Answers with a JSON list of events, or one line on what is wrong."""
        if self.reader is None:
            return messages.text(
                HTTPStatus.NOT_FOUND, "this server keeps no event log: see --event-log"
            )
        try:
            asked = query.parse(request.body)
        except RefusedError as error:
            return messages.text(HTTPStatus.BAD_REQUEST, str(error))
        viewer = Viewer(self.state, request.user)
        if not viewer.sees_all:
            session = asked.session
            if session is None or session.mode != "=" or not isinstance(session.value, int):
                line = f"{request.user} sees events of single sessions: name one with mode ="
                return messages.text(HTTPStatus.FORBIDDEN, line)
            refusal = await viewer.why_not(self.library, session.value)
            if refusal:
                return messages.text(HTTPStatus.FORBIDDEN, refusal)
        answer = _Answer(self.reader.pages(asked), self.threads, self.log)
        with ExitStack() as opened:
            opened.callback(answer.close)
            try:
                await answer.turn_page()
            except sqlite3.Error as error:
                line = f"the event log cannot be read: {error}"
                return messages.text(HTTPStatus.SERVICE_UNAVAILABLE, line)
            opened.pop_all()
        return Response(HTTPStatus.OK, "application/json", answer)


@define(eq=False)
class _Answer:
    """The JSON list, one page at a time."""

    pages: Pages
    threads: trio.CapacityLimiter
    log: FilteringBoundLogger
    page: str = ""  # the next one, "" after the last
    before: str = "["  # the text before it

    async def next(self) -> bytes | None:
        if not self.before:
            return None
        if not self.page:
            piece, self.before = self.before.rstrip(",") + "]", ""
            return piece.encode()
        piece, self.before = self.before + self.page, ","
        try:
            await self.turn_page()
        except sqlite3.Error as error:
            # A status was sent already, so only closing the connection can signal the error.
            self.log.error("event log cannot be read", error=str(error))
            raise trio.BrokenResourceError from error
        return piece.encode()

    async def turn_page(self) -> None:
        self.page = await trio.to_thread.run_sync(self.pages.next, limiter=self.threads)

    def close(self) -> None:
        self.pages.close()
