"""A dashboard that starts when a client asks for it, as in an embedded cluster.

Until then there is no event log, no process that writes one and no HTTP. Most programs never use
the dashboard, and their tasks do not pay for it. The log begins with the present state.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

import trio
from attrs import Factory, define, frozen
from structlog.typing import FilteringBoundLogger

from rain.base.admission import Secret
from rain.base.errors import StartError
from rain.rpc.handlers import Reply
from rain.rpc.listener import Listener
from rain.server.core.state import State
from rain.server.history.keeper import HistorySettings, open_history
from rain.server.settings import HttpSettings

if TYPE_CHECKING:
    from rain.server.live_logs import LiveLogs

_HEAVY = ("rain.server.http.listener", "rain.server.http.site")
"""They bring numpy along, which takes a while to load."""

_NOT_YET = "there is no dashboard yet: it begins when the program looks at client.dashboard_url"


@frozen
class DashboardSettings:
    """Where a dashboard is served, and what it shows."""

    http: HttpSettings
    history: HistorySettings
    secret: Secret | None
    names: frozenset[str]  # of this machine


@define(eq=False)
class DashboardOnDemand:
    """It begins once, and goes on until the server ends. Until then HTTP is told how it begins."""

    place: DashboardSettings
    listener: Listener
    nursery: trio.Nursery
    state: State
    live: LiveLogs
    now: Callable[[], float]
    log: FilteringBoundLogger
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
            self.log.error("the dashboard does not begin", reason=str(error))
            self._begins = False
            waiting, self._waiting = self._waiting, []
            for reply in waiting:
                reply.refuse(f"the dashboard does not begin: {error}")

    async def _serve(self) -> None:
        for module in _HEAVY:
            await trio.to_thread.run_sync(import_module, module)
        from rain.server.http.listener import serve_http  # noqa: PLC0415 # see above
        from rain.server.http.site import HttpSite  # noqa: PLC0415 # see above

        place, state = self.place, self.state
        async with open_history(place.history, state, self.now, self.log) as reader:
            site = HttpSite.of(state, reader, self.now, self.log, place.secret, self.live)
            site.names = place.names
            async with serve_http(place.http, self.listener, site.answer, self.log) as address:
                told = place.http.told(address)
                self.began(told)
                waiting, self._waiting = self._waiting, []
                for reply in waiting:
                    reply.answer(told)
                await trio.sleep_forever()
