"""The server program: from settings to exit status."""

from __future__ import annotations

from structlog.typing import FilteringBoundLogger

from rain.daemon import lifetime, logs
from rain.daemon.folders import default_log_folder, make_folder
from rain.rpc import host
from rain.rpc.server_endpoint import listen
from rain.server.clock import Clock
from rain.server.plugins import make_scheduler
from rain.server.service import Service
from rain.server.settings import ServerSettings
from rain.server.state import State


def run_server(settings: ServerSettings) -> int:
    """Runs a server until it is told to end; the exit status."""
    scheduler = make_scheduler(settings.scheduler)
    folder = make_folder(settings.log_folder or default_log_folder("server"), "log folder")
    log = logs.configure("server", folder, settings.log_level)

    async def serve() -> int:
        service = Service(scheduler, State(settings.reactor), Clock(), log)
        return await _serve(service, settings, log)

    try:
        return host.run(serve)
    finally:
        logs.close()


async def _serve(service: Service, settings: ServerSettings, log: FilteringBoundLogger) -> int:
    listener = listen(settings.host, settings.port, service)
    try:
        settings.readiness.announce(listener.address)
        log.info("server ready", address=listener.address, scheduler=settings.scheduler)
        cause = await lifetime.end(settings.parent_fd)
        log.info("server stops", cause=cause)
        reason = f"the server stops: {cause}"
        service.stop(reason)
        await listener.drain(reason)
    finally:
        listener.close()
    return 0
