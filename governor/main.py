"""The governor program: from settings to exit status."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import trio
from attrs import evolve
from structlog.typing import FilteringBoundLogger

from rain.base.leading import Servers
from rain.daemon import garbage, logs, memory, program, sampling
from rain.daemon.folders import default_log_folder, make_folder
from rain.daemon.readiness import Readiness
from rain.governor.executors.config import Commands, read_executors
from rain.governor.leaving import until_the_end
from rain.governor.life import Ties, live
from rain.governor.machine.memory_files import OF_THE_GOVERNOR, prefer_to_kill
from rain.governor.registering import Register, announce, linked, over_the_network
from rain.governor.settings import GovernorSettings
from rain.governor.zero import HoldsNothing, ZeroService
from rain.rpc.background import Background


def run_governor(settings: GovernorSettings) -> int:
    """Runs a governor until it is told to end or loses its server; returns the exit status."""
    commands = read_executors(settings.config)
    folder = make_folder(settings.log_folder or default_log_folder("governor"), "log folder")
    log = logs.configure("governor", folder, settings.log_level)

    async def govern() -> int:
        life = settings
        while (status := await _live(life, commands, folder, log)) is None:
            life = evolve(settings, readiness=Readiness())  # it was announced before
        return status

    garbage.seldom()
    memory.keep_one_heap()
    memory.give_back_large_blocks()
    prefer_to_kill(os.getpid(), OF_THE_GOVERNOR)
    if settings.descriptors is not None:
        settings.descriptors.raise_own()
    sampling.start_if_asked("governor")
    try:
        return program.run(govern)
    finally:
        logs.close()


async def _live(
    settings: GovernorSettings, commands: Commands, logs_in: Path, log: FilteringBoundLogger
) -> int | None:
    """The life of one incarnation; the exit status, or None if another one is to take its place."""
    async with trio.open_nursery() as nursery:
        servers = Servers(settings.servers)
        register = over_the_network(settings, servers, nursery)
        if settings.zero:
            status = await _live_as_zero(settings, servers, register, nursery, log)
        else:
            ties = Ties(servers, register, partial(until_the_end, settings, log=log))
            status = await live(settings, ties, commands, logs_in, nursery, log)
        nursery.cancel_scope.cancel()
    return status


async def _live_as_zero(
    settings: GovernorSettings,
    servers: Servers,
    register: Register,
    nursery: trio.Nursery,
    log: FilteringBoundLogger,
) -> int | None:
    async with linked(settings, servers, register, HoldsNothing(), nursery, log) as (
        streams,
        uplink,
    ):
        service = ZeroService(settings.resources, Background(nursery), uplink)
        await uplink.register(service, settings.server_wait)
        announce(settings, uplink, streams, log)
        service.start()
        return await until_the_end(settings, service, uplink, log)
