"""The server program: from settings to exit status."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import trio
from structlog.typing import FilteringBoundLogger

from rain.base.admission import Secret, http_url
from rain.base.errors import StartError
from rain.daemon import garbage, lifetime, logs, memory, program, sampling
from rain.daemon.certificates import keep_looking
from rain.daemon.folders import default_log_folder, make_folder
from rain.daemon.work_folder import WorkFolder, remove_abandoned
from rain.rpc.background import in_a_thread
from rain.rpc.listener import Listener
from rain.rpc.server_endpoint import PeerLimits, listen
from rain.scheduler.api import Scheduler
from rain.server.clock import Clock
from rain.server.core.state import State
from rain.server.history.keeper import HistorySettings, open_history
from rain.server.history.reader import EventReader
from rain.server.journal.journal import Journal, open_journal
from rain.server.leading import lead
from rain.server.plugins import maker_of
from rain.server.recording import Header, Recorder
from rain.server.service import Service
from rain.server.serving_http import DashboardOnDemand, Shown, serve_site
from rain.server.settings import ServerSettings
from rain.server.spool import Spool
from rain.server.users_file import Rules, keep_reading, read_users
from rain.stream.machine import machine_id
from rain.tls.keys import Keys

Company = Callable[[Service, str, Path, FilteringBoundLogger], AbstractAsyncContextManager[None]]
"""What runs in the process of a server, too: it is given the server, its address, the folder of the
logs and their logger. It is there when the server is ready, and it is over before the server is."""


@asynccontextmanager
async def alone(*_: object) -> AsyncGenerator[None]:
    """Nothing else runs in the process."""
    yield


def run_server(settings: ServerSettings, company: Company = alone) -> int:
    """Runs a server until it is told to end; the exit status."""
    make_scheduler = maker_of(settings.scheduler)
    rules = () if settings.users is None else read_users(settings.users)
    if company is alone:  # no program of a user runs here
        os.umask(0o077)  # for the event log and the data of clients
    folder = make_folder(settings.log_folder or default_log_folder("server"), "log folder")
    log = logs.configure("server", folder, settings.log_level)

    async def serve() -> int:
        return await _serve(settings, make_scheduler, rules, folder, log, company)

    garbage.seldom()
    memory.keep_one_heap()
    memory.give_back_large_blocks()
    sampling.start_if_asked("server")
    try:
        return program.run(serve)
    finally:
        logs.close()


async def _serve(
    settings: ServerSettings,
    make_scheduler: Callable[[], Scheduler],
    rules: Rules,
    folder: Path,
    log: FilteringBoundLogger,
    company: Company,
) -> int:
    async with AsyncExitStack() as stack:
        journal = led = None
        if settings.journal is not None:
            led = await stack.enter_async_context(lead(settings.journal, settings, log))
            if led is None:
                return 0
            journal = open_journal(led.folder, led.recovered, led.lease.generation, log)
        state = State(settings.reactor) if journal is None else journal.state
        state.status.name = settings.scheduler
        clock = Clock(state.now)
        history = (
            HistorySettings(folder, settings.event_log_objects, settings.event_log_keep)
            if settings.event_log
            else None
        )
        at_once, later = (None, history) if settings.on_demand else (history, None)
        reader = await stack.enter_async_context(open_history(at_once, state, clock.now, log))
        service = _make_service(stack, settings, make_scheduler, state, clock, log, journal)
        nursery = await stack.enter_async_context(trio.open_nursery())
        if led is not None and journal is not None and service.journal is not None:
            compaction = service.journal.compaction = journal.compaction(log)
            service.journal.lease = led.lease
            nursery.start_soon(service.journal.run)
            nursery.start_soon(compaction.run)
        if journal is not None and journal.goes_on:
            service.returns()
        if rules or state.graph.users:
            service.hear_of_users(rules)
        if settings.users is not None:
            hear = service.hear_of_users
            nursery.start_soon(keep_reading, settings.users, rules, hear, log)
        listener = listen(
            nursery,
            (led and led.port) or (settings.host, settings.port),
            service.registration,
            keys=Keys(settings.secret, settings.identity),
            limits=PeerLimits(client_silence=settings.client_silence),
            machine=machine_id(),
        )
        stack.callback(listener.close)
        nursery.start_soon(service.turns.run)
        _keep_house(nursery, settings, service, log)
        shown = Shown(state, service.links.live, clock.now, log)
        http = None
        if later is None:
            http = await _serve_http(stack, settings, shown, reader, listener, service)
        else:
            _offer_dashboard(settings, later, shown, listener, nursery, service)
        async with company(service, listener.address, folder, log):
            _announce(settings, listener.address, http, journal, log)
            cause = await lifetime.end(
                settings.parent_fd,
                _asked_by_a_client(service),
                more=() if journal is None else (signal.SIGHUP,),
            )
            log.info("server stops", cause=cause)
            if service.journal is not None and cause == lifetime.by_signal(signal.SIGHUP):
                service.turns.stop()  # and say nothing, so that peers wait for the next server
                await service.journal.sync()
            else:
                await _end(service, journal, listener, f"the server stops: {cause}")
        if led is not None and service.links.end_asked.is_set():
            led.lease.let_go(over=True)
        nursery.cancel_scope.cancel()
    return 0


def _announce(
    settings: ServerSettings,
    address: str,
    http: str | None,
    journal: Journal | None,
    log: FilteringBoundLogger,
) -> None:
    """The server is ready. A standby is so before it leads."""
    if not settings.standby:
        settings.readiness.announce(
            f"{address} {http}" if http else address,
            "" if journal is None else journal.what_goes_on(),
        )
    log.info("server ready", address=address, scheduler=settings.scheduler)
    if http is not None:
        # With TLS, 'rain token' tells the password.
        encrypted = settings.identity is not None
        url = f"https://{http}/" if encrypted else http_url(settings.secret, http)
        log.info("the dashboard can be opened", url=url)


async def _end(service: Service, journal: Journal | None, listener: Listener, reason: str) -> None:
    """Ends in order: all peers hear of it, and the journal knows it before."""
    keeper = service.journal
    if keeper is not None:
        service.leave_nobody(reason)
        await keeper.sync()
    service.stop(reason)
    await listener.drain(reason)
    if journal is not None and keeper is not None:
        journal.leave_short(keeper.writer, service.log)


async def _serve_http(
    stack: AsyncExitStack,
    settings: ServerSettings,
    shown: Shown,
    reader: EventReader | None,
    listener: Listener,
    service: Service,
) -> str | None:
    """Serves HTTP until the server ends; its address, or None if none is wanted."""
    if settings.http is None:
        return None
    site = serve_site(settings.http, _http_secret(settings), shown, reader, listener)
    address = await stack.enter_async_context(site)
    service.links.serves_http(settings.http.told(address))
    return address


def _offer_dashboard(
    settings: ServerSettings,
    history: HistorySettings,
    shown: Shown,
    listener: Listener,
    nursery: trio.Nursery,
    service: Service,
) -> None:
    """A client of an embedded cluster may ask for it."""
    if settings.http is not None:
        secret, began = _http_secret(settings), service.links.serves_http
        service.links.on_demand = DashboardOnDemand(
            settings.http, secret, history, shown, listener, nursery, began
        )


def _keep_house(
    nursery: trio.Nursery, settings: ServerSettings, service: Service, log: FilteringBoundLogger
) -> None:
    """Starts what has nothing to do with tasks."""
    nursery.start_soon(service.look_at_the_time)
    if settings.work_folder is None:
        nursery.start_soon(in_a_thread, partial(remove_abandoned, log))
    if settings.identity is not None:
        nursery.start_soon(keep_looking, settings.identity, log)


def _make_service(
    stack: AsyncExitStack,
    settings: ServerSettings,
    make_scheduler: Callable[[], Scheduler],
    state: State,
    clock: Clock,
    log: FilteringBoundLogger,
    journal: Journal | None,
) -> Service:
    """The service with its files. Call it after the event log says where sessions go on."""
    recorder = None
    if settings.record is not None:
        if journal is not None and journal.goes_on:
            raise StartError(
                f"a recording begins with an empty server, and the journal {settings.journal} is"
                " not empty; leave out --record"
            )
        header = Header(settings.scheduler, settings.reactor, state.graph.last_session)
        recorder = stack.enter_context(Recorder.create(settings.record, header))
    if journal is None:
        work = WorkFolder.make(settings.work_folder, "server")
        stack.callback(work.let_go)
        uploads, writer = Spool(work.path), None
    else:
        uploads, writer = journal.uploads, journal.begin()
        stack.callback(writer.close)
    stack.callback(uploads.close)
    return Service(make_scheduler, state, clock, log, uploads, recorder, writer)


def _http_secret(settings: ServerSettings) -> Secret | None:
    """The secret from which the password of HTTP is made."""
    if settings.secret is None and settings.identity is not None:
        return settings.identity.secret
    return settings.secret


async def _asked_by_a_client(service: Service) -> str:
    await service.links.end_asked.wait()
    return "a client has asked for it"
