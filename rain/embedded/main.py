"""The program of an embedded cluster: a server and its governor in one process.

Both are the real ones, in one trio loop. Only the link between them is different (`inside.py`): it
sends no messages through sockets.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from math import inf
from pathlib import Path

import trio
from attrs import evolve
from structlog.typing import FilteringBoundLogger

from rain.base.errors import InvariantError
from rain.base.leading import Servers
from rain.embedded.inside import register
from rain.governor.executors.config import Commands, read_executors
from rain.governor.life import Ties, live
from rain.governor.service import Service as GovernorService
from rain.governor.settings import GovernorSettings
from rain.governor.uplink import Stopped, Uplink
from rain.server.main import run_server
from rain.server.service import Service
from rain.server.settings import ServerSettings


def run_embedded(server: ServerSettings, governor: GovernorSettings) -> int:
    """Runs both until they are told to end; the exit status."""
    commands = read_executors(governor.config)
    if governor.descriptors is not None:
        governor.descriptors.raise_own()

    reactor = evolve(server.reactor, governor_silence=inf)  # it lives as long as the server
    return run_server(evolve(server, reactor=reactor), partial(governed, governor, commands))


@asynccontextmanager
async def governed(
    governor: GovernorSettings,
    commands: Commands,
    service: Service,
    address: str,
    logs_in: Path,
    log: FilteringBoundLogger,
) -> AsyncGenerator[None]:
    """The governor of this server runs meanwhile. It ends when the server stops it."""
    host, _, port = address.rpartition(":")
    settings = evolve(governor, servers=((host, int(port)),))
    async with trio.open_nursery() as nursery:
        await nursery.start(_govern, settings, commands, service, logs_in, log)
        yield


async def _govern(
    settings: GovernorSettings,
    commands: Commands,
    service: Service,
    logs_in: Path,
    log: FilteringBoundLogger,
    task_status: trio.TaskStatus[None],
) -> None:
    """The life of the governor; it has started when it can run tasks."""

    async def until_the_end(_: GovernorService, uplink: Uplink) -> int:
        task_status.started()
        await uplink.ended()
        end = uplink.end
        assert end is not None
        if not isinstance(end, Stopped):
            raise InvariantError(f"the governor ends: {end.reason}")
        log.info("governor stops", cause=end.reason)
        return 0

    joins = partial(register, service.registration)
    async with trio.open_nursery() as nursery:
        ties = Ties(Servers(settings.servers), joins, until_the_end)
        await live(settings, ties, commands, logs_in, nursery, log)
        nursery.cancel_scope.cancel()
    service.links.end_asked.set()  # nobody else can run tasks here
