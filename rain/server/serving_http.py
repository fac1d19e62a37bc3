"""Serves HTTP from the start of a server, or from when a client asks for the dashboard.

In an embedded cluster, HTTP begins when the client asks for it. Until then there is no event log,
no process that writes one, and no HTTP: most programs never use the dashboard, and should not pay
for it. The log then begins with the present state.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

import trio
from attrs import Factory, define, frozen
from structlog.typing import FilteringBoundLogger

from rain.base.admission import Secret
from rain.base.errors import StartError
from rain.rpc.background import in_a_thread
from rain.rpc.handlers import Reply
from rain.rpc.listener import Listener
from rain.server.core.state import State
from rain.server.history.keeper import HistorySettings, open_history
from rain.server.history.reader import EventReader
from rain.server.settings import HttpSettings

if TYPE_CHECKING:
    from rain.server.live import Live

_HEAVY = ("rain.server.http.listener", "rain.server.http.site")
"""They bring numpy along, which takes a while to load."""

_NOT_YET = "there is no dashboard yet: it begins when the program looks at client.dashboard_url"


@frozen
class Shown:
    """The parts of a server that its pages show."""

    state: State
    live: Live
    now: Callable[[], float]
    log: FilteringBoundLogger


@asynccontextmanager
async def serve_site(
    http: HttpSettings,
    secret: Secret | None,
    shown: Shown,
    reader: EventReader | None,
    listener: Listener,
) -> AsyncGenerator[str]:
    """Serves HTTP during the block, with a password that is made from the secret; yields where.

    Without a reader, /events says that there is no event log.
    """
    # Not for the server of an embedded cluster whose program does not ask: see `_HEAVY`.
    from rain.server.http.listener import serve_http  # noqa: PLC0415
    from rain.server.http.site import HttpSite  # noqa: PLC0415

    site = HttpSite.of(shown.state, reader, shown.now, shown.log, secret, shown.live)
    site.names = _own_names(http)
    async with serve_http(http, listener, site.answer, shown.log) as address:
        yield address


def _own_names(http: HttpSettings) -> frozenset[str]:
    """The names by which browsers may reach this machine."""
    name = socket.gethostname()
    certified = () if http.identity is None else http.identity.who.hosts
    own = (name, name.partition(".")[0], *http.names, *certified)
    return frozenset(known.lower() for known in own)


@define(eq=False)
class DashboardOnDemand:
    """It begins once, and goes on until the server ends. Until then HTTP is told how it begins."""

    http: HttpSettings
    secret: Secret | None
    history: HistorySettings
    shown: Shown
    listener: Listener
    nursery: trio.Nursery
    began: Callable[[str], object]  # is told the address
    _waiting: list[Reply[str]] = Factory(list)  # while it begins
    _begins: bool = False

    def __attrs_post_init__(self) -> None:
        self.listener.no_http = _NOT_YET

    def ask(self, reply: Reply[str]) -> None:
        """Answered with the address as soon as it is there."""
        self._waiting.append(reply)
        if not self._begins:
            self._begins = True
            self.nursery.start_soon(self._run)

    async def _run(self) -> None:
        try:
            await self._serve()
        except StartError as error:  # a full disk, for instance: another try may help
            self.shown.log.error("the dashboard does not begin", reason=str(error))
            self._begins = False
            waiting, self._waiting = self._waiting, []
            for reply in waiting:
                reply.refuse(f"the dashboard does not begin: {error}")

    async def _serve(self) -> None:
        for module in _HEAVY:
            await in_a_thread(partial(import_module, module), abandon=False)
        shown = self.shown
        async with (
            open_history(self.history, shown.state, shown.now, shown.log) as reader,
            serve_site(self.http, self.secret, shown, reader, self.listener) as address,
        ):
            reached_at = self.http.reached_at(address)
            self.began(reached_at)
            waiting, self._waiting = self._waiting, []
            for reply in waiting:
                reply.answer(reached_at)
            await trio.sleep_forever()
