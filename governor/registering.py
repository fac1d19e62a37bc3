"""Registers a governor with its server, and opens the port where others read its data."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from functools import partial

import trio
from structlog.typing import FilteringBoundLogger

from rain.base.ids import GovernorId
from rain.base.leading import Servers
from rain.governor.settings import GovernorSettings
from rain.governor.time_limit import time_for_tasks
from rain.governor.uplink import Uplink
from rain.rpc.governor_endpoint import connect_governor, connect_in_turn
from rain.rpc.handlers import (
    ControlHandler,
    GovernorHello,
    Resumes,
    ServerLink,
    StreamSource,
)
from rain.rpc.streams import GovernorStreams
from rain.stream.machine import machine_id
from rain.stream.protocol import NOBODY

Register = Callable[[GovernorHello, ControlHandler], Awaitable[ServerLink]]
"""Tells a server of a governor; raises `StartError`."""


def over_the_network(
    settings: GovernorSettings, servers: Servers, nursery: trio.Nursery
) -> Register:
    """Registers with the current one of the servers; the connection lives in the nursery."""

    async def register(hello: GovernorHello, handler: ControlHandler) -> ServerLink:
        return await connect_governor(
            nursery,
            servers,
            handler,
            hello,
            keys=settings.keys,
            silence_limit=settings.server_silence,
        )

    return register


@asynccontextmanager
async def linked(
    settings: GovernorSettings,
    servers: Servers,
    register: Register,
    source: StreamSource,
    nursery: trio.Nursery,
    log: FilteringBoundLogger,
) -> AsyncGenerator[tuple[GovernorStreams, Uplink]]:
    """The port where others read the data of one incarnation of a governor, and its link to the
    server, which is to be registered.
    """
    streams = GovernorStreams(
        nursery,
        (settings.host, settings.port),
        source,
        GovernorId(secrets.randbits(63)),
        machine_of(settings),
        settings.keys,
        servers,
    )

    async def connect(handler: ControlHandler, resumes: Resumes | None) -> ServerLink:
        if resumes is not None:
            servers.try_next()  # the one that was lost comes last
        return await connect_in_turn(servers, partial(connect_to_one, handler, resumes))

    async def connect_to_one(handler: ControlHandler, resumes: Resumes | None) -> ServerLink:
        hello = GovernorHello(
            streams.incarnation,
            streams.address,
            settings.resources,
            resumes=resumes,
            time_left=time_for_tasks(settings.leaves_at, time.time()),
            disk=settings.budget.disk,
        )
        return await register(hello, handler)

    try:
        with closing(Uplink(connect, log)) as uplink:
            yield streams, uplink
    finally:
        with trio.CancelScope(shield=True):
            await streams.close()


def announce(
    settings: GovernorSettings,
    uplink: Uplink,
    streams: GovernorStreams,
    log: FilteringBoundLogger,
) -> None:
    """Says that the governor is ready: it is registered."""
    settings.readiness.announce(streams.address, f"incarnation {streams.incarnation}")
    log.info(
        "governor ready",
        address=uplink.address,
        data_address=streams.address,
        resources=settings.resources.as_dict(),
    )


def machine_of(settings: GovernorSettings) -> bytes:
    """Identifies the machine and the user: governors of both share stored files."""
    return machine_id() if settings.share_store else NOBODY
