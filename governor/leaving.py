"""Waits for the end of a governor, and decides the exit status of its program."""

from __future__ import annotations

import time

import trio
from structlog.typing import FilteringBoundLogger

from rain.base.leading import Servers
from rain.daemon import lifetime
from rain.governor.service import Service
from rain.governor.settings import GovernorSettings
from rain.governor.time_limit import drain_in_time
from rain.governor.uplink import Fenced, Lost, Stopped, Uplink
from rain.governor.zero import ZeroService


async def until_the_end(
    settings: GovernorSettings,
    service: Service | ZeroService,
    uplink: Uplink,
    log: FilteringBoundLogger,
) -> int | None:
    """Waits for a signal, an order of the server to stop, or the loss of the server.

    Gives the exit status, or None if another incarnation is to take the place of this one.
    """
    causes: list[str] = []
    async with trio.open_nursery() as nursery:

        def leave() -> bool:
            seconds = settings.drain_seconds
            if not seconds or not uplink.is_connected or not service.drain():
                return False
            log.info("governor drains", seconds=seconds)
            nursery.start_soon(late, seconds)
            return True

        async def late(seconds: float) -> None:
            await trio.sleep(seconds)
            causes.append(f"it has drained for {seconds:g} seconds, which is the limit")
            nursery.cancel_scope.cancel()

        async def told() -> None:
            causes.append(await lifetime.end(settings.parent_fd, leave=leave))
            nursery.cancel_scope.cancel()

        async def limited(leaves_at: float) -> None:
            left = leaves_at - time.time()
            log.info("governor has a time limit", seconds=round(left))
            await drain_in_time(left, settings.drain_seconds, leave)
            causes.append("its time limit")
            nursery.cancel_scope.cancel()

        nursery.start_soon(told)
        if settings.leaves_at is not None:
            nursery.start_soon(limited, settings.leaves_at)
        await uplink.ended()
        nursery.cancel_scope.cancel()
    match uplink.end:
        case Fenced(reason):
            log.warning(
                "the server is back and does not take this governor back; its work is void, and it"
                " joins anew",
                reason=reason,
            )
            return None
        case Lost(reason):
            where = Servers(settings.servers).all
            log.error("lost the server, the governor stops", server=where, cause=reason)
            return 1
        case Stopped(reason):
            causes.append(reason)
        case None:
            pass  # one of the causes is known
    log.info("governor stops", cause=causes[0])
    await uplink.drained()
    return 0
