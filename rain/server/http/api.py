"""GET /api/...: the data of the dashboard as JSON. Every answer is bounded."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

import trio
from attrs import asdict, define, frozen

from rain.base.errors import RefusedError
from rain.base.ids import NUMBER_MASK, TaskId, pack
from rain.server.core.state import State
from rain.server.dashboard import present, progress, reading, rows
from rain.server.dashboard.digest import TASK_MARKS, Digest
from rain.server.dashboard.library import Library
from rain.server.dashboard.machines import machines
from rain.server.dashboard.newest import newest
from rain.server.dashboard.reading import UnreadableLogError
from rain.server.dashboard.shape import shape
from rain.server.dashboard.timeline import timeline
from rain.server.history.query import Condition, Query
from rain.server.history.reader import EventReader
from rain.server.http import messages
from rain.server.http.messages import HttpRequest, Response
from rain.server.http.status import gather_status
from rain.server.http.viewing import Viewer
from rain.server.live import Live

_LARGEST = 2**31 - 1
_LARGEST_ID = 2**63 - 1
_MOST_TYPES = 100
_LARGEST_TIME = 1e11

Json: TypeAlias = dict[str, Any]


class _UnknownError(RefusedError):
    """The requested item does not exist."""


@frozen
class QueryString:
    """The query string of a request; each part may be given once."""

    parts: dict[str, str]
    viewer: Viewer

    @staticmethod
    def of(query: str, known: tuple[str, ...], viewer: Viewer) -> QueryString:
        """Parses a query string; raises RefusedError for an unknown part."""
        parts = dict(parse_qsl(query, keep_blank_values=True))
        for name in parts:
            if name not in known:
                raise RefusedError(f"unknown part {name!r}; known: {', '.join(known)}")
        return QueryString(parts, viewer)

    def number(self, name: str, default: int | None = None, largest: int = _LARGEST) -> int:
        """A whole number; it is required if there is no default."""
        text = self.parts.get(name)
        if text is None and default is not None:
            return default
        if not text or len(text) > 19 or not (text.isascii() and text.isdigit()):
            raise RefusedError(f"{name}: this must be a whole number")
        if int(text) > largest:
            raise RefusedError(f"{name}: this must be a whole number")
        return int(text)

    def moment(self, name: str) -> float | None:
        """A number of seconds, or None if it is not given."""
        text = self.parts.get(name)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not 0 <= value <= _LARGEST_TIME:
            raise RefusedError(f"{name}: this must be a number of seconds")
        return value

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of several words; the first one if it is not given."""
        word = self.parts.get(name, choices[0])
        if word not in choices:
            raise RefusedError(f"{name}: this must be one of {', '.join(filter(None, choices))}")
        return word


@define(eq=False)
class Api:
    """Everything below /api. Without an event log only the present state is available."""

    state: State
    now: Callable[[], float]
    library: Library | None
    live: Live

    @staticmethod
    def of(
        state: State,
        events: EventReader | None,
        now: Callable[[], float],
        live: Live | None = None,
    ) -> Api:
        library = Library(events.path) if events else None
        return Api(state, now, library, live or Live(state, {}))

    def places(self) -> dict[str, Callable[[HttpRequest], Awaitable[Response]]]:
        """The handlers by path."""
        return {
            f"/api/{name}": partial(self._answer, serve, known)
            for name, (serve, known) in {
                "machines": (self._machines, ("minutes",)),
                "events": (self._events, ("after", "types", "session")),
                "sessions": (self._sessions, ()),
                "session": (self._session, ("session",)),
                "graph": (self._graph, ("session",)),
                "timeline": (self._timeline, ("session", "since", "until")),
                "tasks": (self._tasks, ("session", "name", "state", "order", "skip")),
                "task": (self._task, ("session", "task")),
                "objects": (self._objects, ("session", "skip")),
            }.items()
        }

    async def _answer(
        self,
        serve: Callable[[Library, QueryString], Awaitable[Json]],
        known: tuple[str, ...],
        request: HttpRequest,
    ) -> Response:
        if self.library is None:
            line = "this server keeps no event log: see --event-log"
            return messages.text(HTTPStatus.NOT_FOUND, line)
        try:
            viewer = Viewer(self.state, request.user)
            asked = QueryString.of(request.query, known, viewer)
            if asked.parts.get("session"):
                refusal = await viewer.why_not(self.library, asked.number("session"))
                if refusal:
                    return messages.text(HTTPStatus.FORBIDDEN, refusal)
            return messages.json_value(await serve(self.library, asked))
        except _UnknownError as error:
            return messages.text(HTTPStatus.NOT_FOUND, str(error))
        except RefusedError as error:
            return messages.text(HTTPStatus.BAD_REQUEST, str(error))
        except UnreadableLogError as error:
            return messages.text(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        except sqlite3.Error as error:
            line = f"the event log cannot be read: {error}"
            return messages.text(HTTPStatus.SERVICE_UNAVAILABLE, line)

    async def _machines(self, library: Library, asked: QueryString) -> Json:
        minutes = asked.number("minutes", 15)
        return await library.read(partial(machines, library.path, self.now(), minutes))

    async def _events(self, library: Library, asked: QueryString) -> Json:
        types = tuple(
            Condition(name, "=") for name in asked.parts.get("types", "").split(",") if name
        )
        query = Query(
            Condition(asked.number("after", 0, _LARGEST_ID), ">"),
            types[:_MOST_TYPES],
            Condition(asked.number("session"), "=") if asked.parts.get("session") else None,
        )
        only = asked.viewer.only if query.session is None else None
        return {"events": await library.read(partial(newest, library.path, query, only))}

    async def _sessions(self, library: Library, asked: QueryString) -> Json:
        only = asked.viewer.only
        shown = () if only is None else asked.viewer.open_sessions()
        found = await library.read(partial(reading.sessions, library.path, only, shown))
        living = {
            each["session"]: each for each in gather_status(self.state, self.now())["sessions"]
        }
        return {"sessions": [each | _progress_of(living.get(each["session"])) for each in found]}

    async def _session(self, library: Library, asked: QueryString) -> Json:
        now = self.now()

        def view(digest: Digest, read: float) -> Json:
            return progress.summary(digest, now, read)

        return await library.ask(asked.number("session"), view)

    async def _graph(self, library: Library, asked: QueryString) -> Json:
        return await library.ask(asked.number("session"), lambda digest, _: shape(digest))

    async def _timeline(self, library: Library, asked: QueryString) -> Json:
        now, since, until = self.now(), asked.moment("since"), asked.moment("until")
        return await library.ask(
            asked.number("session"), lambda digest, _: timeline(digest, now, since, until)
        )

    async def _tasks(self, library: Library, asked: QueryString) -> Json:
        name, skip = asked.parts.get("name", ""), asked.number("skip", 0)
        state = asked.choice("state", ("", *[mark.name.lower() for mark in TASK_MARKS]))
        order = asked.choice("order", rows.ORDERS)
        return await library.ask(
            asked.number("session"),
            lambda digest, _: rows.task_rows(digest, name, state, order, skip),
        )

    async def _task(self, library: Library, asked: QueryString) -> Json:
        session = asked.number("session")
        number = asked.number("task", largest=NUMBER_MASK)  # large ones belong to joined clients
        known = await library.read(partial(reading.task, library.path, session, number))
        if known is None:
            raise _UnknownError(f"the event log knows no task {session}/{number}")
        if not session:
            return {"session": session, "task": number, **known, "now": None}
        running = await self.live.of(TaskId(pack(session, number)))
        now = present.task_now(self.state, session, number)
        if now is not None:
            now["printed"] = running.printed
            now["memory"] = asdict(running.memory) if running.memory else None
        return {"session": session, "task": number, **known, "now": now}

    async def _objects(self, library: Library, asked: QueryString) -> Json:
        session, skip = asked.number("session"), asked.number("skip", 0)
        living = present.objects_now(self.state, session, skip)
        if living is not None:
            await trio.lowlevel.checkpoint()
            return {"living": True, **living}
        read = partial(reading.object_specs, library.path, session, skip, present.MOST_OBJECTS)
        total, specs = await library.read(read)
        return {"living": False, "total": total, "skipped": skip, "objects": specs}


def _progress_of(living: Any) -> Json:
    """The data that the state adds to an open session."""
    if living is None:
        return {"tasks": None, "unfinished": None, "objects": None, "held_up": ""}
    return {name: living[name] for name in ("tasks", "unfinished", "objects", "held_up")}
