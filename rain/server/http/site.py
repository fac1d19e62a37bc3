"""The paths of the HTTP side and their methods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus

import trio
from attrs import define, evolve, frozen
from structlog.typing import FilteringBoundLogger

from rain.base.admission import Secret, who_reads_http
from rain.server.core import rights
from rain.server.core.state import State
from rain.server.history.reader import EventReader
from rain.server.http import messages
from rain.server.http.api import Api
from rain.server.http.events import EventsPage
from rain.server.http.lite import lite_page
from rain.server.http.messages import HttpRequest, Response
from rain.server.http.metrics import metrics
from rain.server.http.origin import objection
from rain.server.http.pages import dashboard_files
from rain.server.http.status import gather_status
from rain.server.http.viewing import Viewer
from rain.server.live import Live

_LOOK = ("GET", "HEAD")


@frozen
class _Path:
    """One path."""

    methods: tuple[str, ...]
    serve: Callable[[HttpRequest], Awaitable[Response]]


@define(eq=False)
class HttpSite:
    """Answers requests; runs in the thread of the turns and reads the state between turns."""

    places: dict[str, _Path]
    secret: Secret | None = None
    names: frozenset[str] = frozenset()  # of this machine, in lower case
    refuses: Callable[[str], str] | None = None  # why a user is not answered; "" if so

    @staticmethod
    def of(
        state: State,
        events: EventReader | None,
        now: Callable[[], float],
        log: FilteringBoundLogger,
        secret: Secret | None = None,
        live: Live | None = None,
    ) -> HttpSite:
        """Makes the site of one server; without an event log, /events says that there is none."""

        async def status(request: HttpRequest) -> Response:
            await trio.lowlevel.checkpoint()
            return messages.json_value(
                Viewer(state, request.user).shown(gather_status(state, now()))
            )

        async def lite(request: HttpRequest) -> Response:
            await trio.lowlevel.checkpoint()
            shown = Viewer(state, request.user).shown(gather_status(state, now()))
            return messages.page(lite_page(shown))

        async def numbers(request: HttpRequest) -> Response:
            await trio.lowlevel.checkpoint()
            return metrics(state, now(), Viewer(state, request.user).only)

        api = Api.of(state, events, now, live)
        asked = _Path(("POST",), EventsPage(events, log, state, api.library).serve)
        look = _Path(_LOOK, lite)
        return HttpSite(
            {
                "/": _Path(_LOOK, _to_the_dashboard),
                "/dashboard": _Path(_LOOK, _to_the_dashboard),
                **{path: _Path(_LOOK, _always(file)) for path, file in dashboard_files().items()},
                "/lite": look,
                "/lite/": look,
                "/status": _Path(_LOOK, status),
                "/metrics": _Path(_LOOK, numbers),
                "/events": asked,
                **{path: _Path(_LOOK, serve) for path, serve in api.places().items()},
            },
            secret,
            refuses=partial(rights.why_not, state),
        )

    async def answer(self, request: HttpRequest) -> Response:
        """Answers one request."""
        reason = objection(request.host, request.origin, self.names)
        if reason:
            return messages.text(HTTPStatus.FORBIDDEN, reason)
        place = self.places.get(request.path)
        if place is None:
            return messages.text(
                HTTPStatus.NOT_FOUND,
                f"there is nothing at this path; there are {self._known_paths()}",
            )
        user = request.certified
        if user is None:
            user = who_reads_http(self.secret, request.authorization, request.port)
        if user is None:
            return messages.text(
                HTTPStatus.UNAUTHORIZED,
                "a password is needed here: 'rain token' prints it, and 'rain token --url' what to"
                " open in a browser; any user name will do",
                (("www-authenticate", 'Basic realm="Rain", charset="UTF-8"'),),
            )
        refusal = self.refuses(user) if self.refuses is not None else ""
        if refusal:
            return messages.text(HTTPStatus.FORBIDDEN, refusal)
        if request.method not in place.methods:
            return messages.text(
                HTTPStatus.METHOD_NOT_ALLOWED,
                f"{request.path} takes {' or '.join(place.methods)}, not {request.method}",
                (("allow", ", ".join(place.methods)),),
            )
        return await place.serve(evolve(request, user=user))

    def _known_paths(self) -> str:
        data = ", ".join(sorted(path for path in self.places if path.startswith("/api/")))
        return f"/, /dashboard/, /lite/, /status, /metrics, /events and, as JSON, {data}"


async def _to_the_dashboard(request: HttpRequest) -> Response:
    await trio.lowlevel.checkpoint()
    # With the host, to drop the password of `http://rain:TOKEN@HOST/` from the page's address:
    # scripts cannot fetch relative URLs of an address with a password.
    host = f"//{request.host}" if request.host else ""
    place = f"{host}/dashboard/"
    return messages.text(HTTPStatus.FOUND, "see /dashboard/", (("location", place),))


def _always(response: Response) -> Callable[[HttpRequest], Awaitable[Response]]:
    async def serve(_: HttpRequest) -> Response:
        await trio.lowlevel.checkpoint()
        return response

    return serve
