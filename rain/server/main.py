"""The server program: from settings to exit status."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import trio
from attrs import frozen
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
from rain.server.core.scheduling import make_in_time
from rain.server.core.state import State
from rain.server.guard import guard_meanwhile
from rain.server.history.keeper import HistorySettings, open_history
from rain.server.history.reader import EventReader
from rain.server.journal.journal import Journal
from rain.server.journal.keeping import JournalKeeper
from rain.server.leading import Led, lead
from rain.server.plugins import maker_of
from rain.server.recording import Header, Recorder
from rain.server.service import Service
from rain.server.serving_http import DashboardOnDemand, Shown, serve_site
from rain.server.settings import ServerSettings
from rain.server.spool import Spool
from rain.server.users_file import Rules, keep_reading, read_users
from rain.stream.machine import machine_id
from rain.stream.spare_uploads import SpareUploads
from rain.tls.keys import Keys

SPARE_SECONDS = 5.0
"""Files of uploads that have gone are deleted after this time without another one, or twice it."""

Company = Callable[[Service, str, Path, FilteringBoundLogger], AbstractAsyncContextManager[None]]
"""A context around a running server, for code in the same process (see `rain.embedded`). It gets
the server, its address, the log folder and the logger. It is entered before the server is announced
as ready, and left before the server ends.
"""


@asynccontextmanager
async def alone(*_: object) -> AsyncGenerator[None]:
    """Nothing else runs in the process."""
    yield


def check_server(settings: ServerSettings) -> int:
    """Reads what a server reads before it runs, and makes its scheduler; the exit status."""
    make_scheduler, _ = _read(settings)
    limit = settings.reactor.scheduler_limit
    with guard_meanwhile(limit) as guard:
        make_in_time(make_scheduler, guard, settings.scheduler, limit)
    return 0


def _read(settings: ServerSettings) -> tuple[Callable[[], Scheduler], Rules]:
    """The scheduler and the rules for users that the user has written for this server."""
    rules = () if settings.users is None else read_users(settings.users)
    return maker_of(settings.scheduler), rules


def run_server(settings: ServerSettings, company: Company = alone) -> int:
    """Runs a server until it is told to end; the exit status."""
    make_scheduler, rules = _read(settings)
    if company is alone:  # no program of a user runs here
        os.umask(0o077)  # for the event log and the data of clients
    folder = make_folder(settings.log_folder or default_log_folder("server"), "log folder")
    log = logs.configure("server", folder, settings.log_level)
    garbage.seldom()
    memory.keep_one_heap()
    memory.give_back_large_blocks()
    sampling.start_if_asked("server")
    known = _Known(settings, make_scheduler, rules, folder, log, company)
    try:
        return program.run(partial(_lead_and_serve, known))
    finally:
        logs.close()


@frozen
class _Known:
    """The settings, read before the loop runs, so that mistakes are reported at once."""

    settings: ServerSettings
    make_scheduler: Callable[[], Scheduler]
    rules: Rules
    logs_in: Path
    log: FilteringBoundLogger
    company: Company


async def _lead_and_serve(known: _Known) -> int:
    """A server with a journal leads its cluster first, which a standby may never do."""
    settings = known.settings
    if settings.journal is None:
        await _serve(known, None)
        return 0
    async with lead(settings.journal, settings, known.log) as led:
        if led is not None:
            await _serve(known, led)
    return 0


async def _serve(known: _Known, led: Led | None) -> None:
    settings, log = known.settings, known.log
    journal = None if led is None else led.journal
    state = State(settings.reactor) if journal is None else journal.state
    state.status.name = settings.scheduler
    clock = Clock(state.now)
    async with AsyncExitStack() as stack:
        at_once, on_demand = _histories(settings, known.logs_in)
        reader = await stack.enter_async_context(open_history(at_once, state, clock.now, log))
        service = _make_service(stack, known, state, clock, led)
        nursery = await stack.enter_async_context(trio.open_nursery())
        if led is not None:
            _go_on(nursery, led.journal, service)
        _hear_of_users(nursery, known, service)
        listener = _listen(nursery, settings, led, service)
        stack.callback(listener.close)
        nursery.start_soon(service.turns.run)
        _keep_house(nursery, known, service)
        shown = Shown(state, service.links.live, clock.now, log)
        http = None
        if on_demand is None:
            http = await _serve_http(stack, settings, shown, reader, listener, service)
        else:
            _offer_dashboard(settings, on_demand, shown, listener, nursery, service)
        async with known.company(service, listener.address, known.logs_in, log):
            _announce(settings, listener.address, http, journal, log)
            await _until_the_end(settings, service, journal, listener)
        if led is not None and service.links.end_asked.is_set():
            led.lease.let_go(over=True)
        nursery.cancel_scope.cancel()


def _histories(
    settings: ServerSettings, folder: Path
) -> tuple[HistorySettings | None, HistorySettings | None]:
    """The event log that begins at once, and the one that begins with the dashboard."""
    if not settings.event_log:
        return None, None
    history = HistorySettings(folder, settings.event_log_objects, settings.event_log_keep)
    return (None, history) if settings.on_demand else (history, None)


def _go_on(nursery: trio.Nursery, journal: Journal, service: Service) -> None:
    """Keeps the journal from now on, and goes on where an earlier server has ended."""
    keeper = service.journal
    assert keeper is not None  # a server that leads has one
    nursery.start_soon(keeper.run)
    if keeper.compaction is not None:
        nursery.start_soon(keeper.compaction.run)
    if journal.goes_on:
        service.returns()


def _hear_of_users(nursery: trio.Nursery, known: _Known, service: Service) -> None:
    """Applies the rules for users before any user can connect, and whenever their file changes."""
    if known.rules or service.reactor.state.graph.users:
        service.hear_of_users(known.rules)
    path = known.settings.users
    if path is not None:
        nursery.start_soon(keep_reading, path, known.rules, service.hear_of_users, known.log)


def _listen(
    nursery: trio.Nursery, settings: ServerSettings, led: Led | None, service: Service
) -> Listener:
    return listen(
        nursery,
        (led and led.port) or (settings.host, settings.port),
        service.registration,
        keys=Keys(settings.secret, settings.identity),
        limits=PeerLimits(client_silence=settings.client_silence),
        machine=machine_id(),
    )


async def _until_the_end(
    settings: ServerSettings, service: Service, journal: Journal | None, listener: Listener
) -> None:
    """The server works until something ends it, and its peers know what they have to."""
    cause = await lifetime.end(settings.parent_fd, _asked_by_a_client(service))
    service.log.info("server stops", cause=cause)
    if service.journal is not None and cause == lifetime.by_signal(signal.SIGHUP):
        service.turns.stop()  # and say nothing, so that peers wait for the next server
        await service.journal.sync()
    else:
        await _end(service, journal, listener, f"the server stops: {cause}")


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
    """Ends in order: the journal has the end before all peers are told."""
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
    service.links.serves_http(settings.http.reached_at(address))
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


def _keep_house(nursery: trio.Nursery, known: _Known, service: Service) -> None:
    """Starts what has nothing to do with tasks."""
    settings, log = known.settings, known.log
    nursery.start_soon(service.look_at_the_time)
    nursery.start_soon(_give_back, service.registration.uploads)
    nursery.start_soon(in_a_thread, partial(remove_abandoned, log))
    if settings.identity is not None:
        nursery.start_soon(keep_looking, settings.identity, log)


async def _give_back(uploads: Spool) -> None:
    """Deletes files of uploads that nobody writes over."""
    while uploads.spares is not None:
        await trio.sleep(SPARE_SECONDS)
        if uploads.spares.is_awake:
            await in_a_thread(uploads.spares.give_back)


def _make_service(
    stack: AsyncExitStack, known: _Known, state: State, clock: Clock, led: Led | None
) -> Service:
    """The service with its files. Call it after the event log says where sessions go on."""
    settings = known.settings
    recorder = None
    if settings.record is not None:
        if led is not None and led.journal.goes_on:
            raise StartError(
                f"a recording begins with an empty server, and the journal {settings.journal} is"
                " not empty; leave out --record"
            )
        header = Header(settings.scheduler, settings.reactor, state.graph.last_session)
        recorder = stack.enter_context(Recorder.create(settings.record, header))
    keep_journal = None
    if led is None:
        work = WorkFolder.make(settings.work_folder, "server")
        stack.callback(work.remove)  # its content goes with the uploads
        uploads = Spool(work.path, spares=SpareUploads.make(work.path))
    else:  # and no spare files: to make a large file durable takes longer than to write it
        uploads, writer = led.journal.uploads, led.journal.begin()
        stack.callback(writer.close)
        compaction = led.journal.compaction(known.log)
        keep_journal = partial(JournalKeeper, writer, compaction=compaction, lease=led.lease)
    stack.callback(uploads.close)
    return Service(known.make_scheduler, state, clock, known.log, uploads, recorder, keep_journal)


def _http_secret(settings: ServerSettings) -> Secret | None:
    """The secret from which the password of HTTP is made."""
    if settings.secret is None and settings.identity is not None:
        return settings.identity.secret
    return settings.secret


async def _asked_by_a_client(service: Service) -> str:
    await service.links.end_asked.wait()
    return "a client has asked for it"
