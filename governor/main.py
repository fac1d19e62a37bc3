"""The governor program: from settings to exit status."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import trio
from attrs import evolve
from structlog.typing import FilteringBoundLogger

from rain.base.errors import StartError
from rain.base.ids import GovernorId
from rain.base.leading import Servers
from rain.base.resources import MEMORY
from rain.common.secret_file import keep_secret
from rain.daemon import garbage, lifetime, logs, program, sampling
from rain.daemon.folders import default_log_folder, make_folder
from rain.daemon.readiness import Readiness
from rain.daemon.work_folder import SHARED_MEMORY, WorkFolder, remove_abandoned
from rain.governor.bounds import Bounds
from rain.governor.budget import Budget
from rain.governor.builtin import Builtins
from rain.governor.cutting import Printed, keep_cutting
from rain.governor.disk import Disk
from rain.governor.executor_config import Commands, read_executors
from rain.governor.executor_process import Places
from rain.governor.fetch import Fetcher
from rain.governor.lazy_environments import LazyEnvironments
from rain.governor.links import Executors
from rain.governor.machine import Machine
from rain.governor.memory_files import OF_THE_GOVERNOR, KernelKills, prefer_to_kill
from rain.governor.memory_sampler import Watched, keep_watching
from rain.governor.process_groups import ProcessGroups
from rain.governor.reactor import Reactor
from rain.governor.reactor_settings import PYTHON, DataLimits, Offer, PoolSettings
from rain.governor.sampler import keep_sampling
from rain.governor.service import Service
from rain.governor.settings import GovernorSettings
from rain.governor.store import Store
from rain.governor.tiers import Tiers
from rain.governor.time_limit import drain_in_time, time_for_tasks
from rain.governor.uplink import Uplink, reach
from rain.governor.warden import Warden
from rain.governor.work_folder import FolderPaths
from rain.governor.workplace import Workplace
from rain.governor.zero import ZeroService
from rain.rpc.background import Background, in_a_thread
from rain.rpc.governor_endpoint import Upstream, connect_governor, connect_in_turn
from rain.rpc.handlers import GovernorHello, Resumes
from rain.rpc.streams import GovernorStreams
from rain.stream.machine import machine_id
from rain.stream.protocol import NOBODY
from rain.stream.reading import StreamReader

if TYPE_CHECKING:
    from rain.governor.far_store import FarStore
    from rain.governor.tasks_file import TasksFile

LINGER_SECONDS = 5.0

LITTLE = 256 * 1024 * 1024
"""Less shared memory than this is worth a line in the log: a container has 64 MiB unless told."""


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
        if settings.zero:
            status = await _zero(settings, nursery, log)
        else:
            status = await _govern(settings, commands, logs_in, nursery, log)
        nursery.cancel_scope.cancel()
    return status


async def _govern(
    settings: GovernorSettings,
    commands: Commands,
    logs_in: Path,
    nursery: trio.Nursery,
    log: FilteringBoundLogger,
) -> int | None:
    background = Background(nursery)
    executor_logs = make_folder(logs_in / "executors", "log folder")
    work = WorkFolder.make(settings.work_folder, "governor")
    shared = _shared_folder(settings.budget, work, log)
    shared_path = None if shared is None else shared.path
    groups = ProcessGroups.make(settings.task_processes)
    warden = Warden(work.path, background, shared_path, groups)
    far: FarStore | None = None
    try:
        folder = FolderPaths.make(work)
        if settings.work_folder is None:
            background.start(in_a_thread, partial(remove_abandoned, log))
        store = Store(folder.data, shared_path)
        reactor = _reactor(settings, commands, has_shared_memory=shared is not None)
        service = Service(reactor, store, background, log, settings.cache_limit)
        far = service.far_store = _far_store(settings, store, background, service, log)
        servers = Servers(settings.servers)
        secret_file, tasks = _secrets(settings, folder)
        places = Places(
            folder.executors,
            executor_logs,
            folder.data,
            servers.all,
            secret_file,
            None if tasks is None else tasks.path,
            warden.origin,
            shared_path,
        )

        async with (
            _registered(settings, servers, service, nursery, log) as uplink,
            trio.open_nursery() as processes,
        ):
            of_processes = Background(processes)
            workplace = Workplace(
                store,
                folder.runs,
                warden,
                of_processes,
                service.tell,
                settings.cancel_grace,
                KernelKills(),
                Bounds(settings.descriptors, groups),
                LazyEnvironments(store, warden, log, settings.environment_limit, settings.conda),
            )
            executors = Executors(workplace, places, commands, log)
            builtins = Builtins(workplace)
            reader = StreamReader(
                servers,
                machine=_machine(settings),
                keys=settings.keys,
            )
            fetcher = Fetcher(reader, store, background, service.tell, log)
            try:
                service.open(executors, builtins, fetcher, uplink)
                seconds = settings.monitoring_seconds
                processes.start_soon(
                    keep_sampling, seconds, fetcher.out_of_reach, service.tell, log
                )
                memory = settings.resources.amount(MEMORY)
                watched = Watched(
                    executors.pids,
                    builtins.pids,
                    warden.origin,
                    groups,
                    settings.task_processes,
                    service.busy,
                )
                processes.start_soon(keep_watching, memory, watched, workplace.kills, service.tell)
                processes.start_soon(keep_cutting, _printing(executors, builtins), log)
                processes.start_soon(uplink.keep_up, service, settings.server_away)
                if settings.identity is not None and tasks is not None:
                    from rain.daemon.certificates import keep_looking  # noqa: PLC0415 # see above

                    processes.start_soon(keep_looking, settings.identity, log, tasks.write)
                return await _until_the_end(settings, service, uplink, log)
            finally:
                await wind_down(service, fetcher, executors, processes)
    finally:
        if far is not None:
            far.close()
        _remove(work, log)
        if shared is not None:
            _remove(shared, log)
        warden.close()


def _remove(folder: WorkFolder, log: FilteringBoundLogger) -> None:
    try:
        folder.remove()
    except OSError as error:
        log.warning("work folder not removed", folder=str(folder.path), reason=str(error))
    folder.let_go()


def _shared_folder(
    budget: Budget, work: WorkFolder, log: FilteringBoundLogger
) -> WorkFolder | None:
    """The folder in shared memory; None if there shall be none, or cannot be."""
    if not budget.store:
        return None
    try:
        shared = WorkFolder.in_shared_memory("governor")
    except StartError as error:
        log.warning("no data is kept in shared memory", reason=str(error))
        return None
    if shared.path.stat().st_dev == work.path.stat().st_dev:
        log.info("all data is in shared memory, where the work folder is", folder=str(work.path))
        shared.remove()
        return None
    if budget.store < LITTLE:
        log.info(
            "little data can be kept in shared memory; a container has more of it with --shm-size",
            folder=str(SHARED_MEMORY),
            bytes=budget.store,
        )
    return shared


def _secrets(
    settings: GovernorSettings, folder: FolderPaths
) -> tuple[Path | None, TasksFile | None]:
    """The files with which tasks are let in as clients."""
    secret_file, tasks = None, None
    if settings.secret is not None:
        secret_file = folder.root / "secret"
        keep_secret(secret_file, settings.secret)
    if settings.identity is not None:
        # Mostly nothing is encrypted.
        from rain.governor.tasks_file import TasksFile  # noqa: PLC0415 # see above

        tasks = TasksFile(folder.root / "tasks.pem", settings.identity)
    return secret_file, tasks


def _reactor(settings: GovernorSettings, commands: Commands, *, has_shared_memory: bool) -> Reactor:
    return Reactor(
        Offer(settings.resources, settings.gpus),
        PoolSettings(
            frozenset({PYTHON, *commands}),
            frozenset(commands),
            settings.idle_seconds,
            settings.cancel_grace,
            settings.most_blocked,
        ),
        DataLimits(
            _linger_seconds(),
            _tiers(settings) if has_shared_memory else Tiers(),
            Disk(settings.budget.disk, spills=settings.spill_to is not None),
        ),
        now=time.monotonic(),
        checking=os.environ.get("RAIN_DEBUG_MODE") == "1",
    )


def _far_store(
    settings: GovernorSettings,
    store: Store,
    background: Background,
    service: Service,
    log: FilteringBoundLogger,
) -> FarStore | None:
    if settings.spill_to is None:
        return None
    from rain.governor.far_store import FarStore  # noqa: PLC0415 # mostly the disk has room for all

    return FarStore(settings.spill_to, store, background, service.tell, log)


def _tiers(settings: GovernorSettings) -> Tiers:
    return Tiers(settings.budget.store, Machine.this().memory())


def _printing(executors: Executors, builtins: Builtins) -> Callable[[], Iterable[Printed]]:
    return lambda: chain(executors.printing(), builtins.printing())


async def wind_down(
    service: Service, fetcher: Fetcher, executors: Executors, processes: trio.Nursery
) -> None:
    """Stops all work of a governor; the nursery then waits for its processes to end."""
    service.close()
    fetcher.close()
    executors.kill_all()
    with trio.CancelScope(shield=True):
        await trio.to_thread.run_sync(service.join)
    processes.cancel_scope.cancel()


async def _zero(
    settings: GovernorSettings, nursery: trio.Nursery, log: FilteringBoundLogger
) -> int | None:
    service = ZeroService(settings.resources, Background(nursery))
    async with _registered(settings, Servers(settings.servers), service, nursery, log) as uplink:
        service.open(uplink)
        return await _until_the_end(settings, service, uplink, log)


@asynccontextmanager
async def _registered(
    settings: GovernorSettings,
    servers: Servers,
    service: Service | ZeroService,
    nursery: trio.Nursery,
    log: FilteringBoundLogger,
) -> AsyncGenerator[Uplink]:
    """Listens for readers of data while it is registered with the server."""
    incarnation = GovernorId(secrets.randbits(63))
    machine = _machine(settings)
    streams = GovernorStreams(
        nursery,
        (settings.host, settings.port),
        service,
        incarnation,
        machine,
        settings.keys,
        servers,
    )
    service.calls_back = streams.call_back
    if isinstance(service, Service):
        service.links = streams.links

    async def connect(resumes: Resumes | None) -> Upstream:
        if resumes is not None:
            servers.try_next()  # the one that was lost comes last
        return await connect_in_turn(servers, partial(connect_to_one, resumes))

    async def connect_to_one(resumes: Resumes | None) -> Upstream:
        hello = GovernorHello(
            incarnation,
            streams.address,
            settings.resources,
            resumes=resumes,
            time_left=time_for_tasks(settings.leaves_at, time.time()),
        )
        return await connect_governor(
            nursery,
            servers,
            service,
            hello,
            keys=settings.keys,
            silence_limit=settings.server_silence,
        )

    try:
        upstream = await reach(connect, settings.server_wait, log)
        uplink = Uplink(upstream, connect, log)
        try:
            settings.readiness.announce(streams.address, f"incarnation {incarnation}")
            log.info(
                "governor ready",
                address=uplink.address,
                data_address=streams.address,
                resources=settings.resources.as_dict(),
            )
            yield uplink
        finally:
            uplink.close()
    finally:
        with trio.CancelScope(shield=True):
            await streams.close()


def _machine(settings: GovernorSettings) -> bytes:
    """Identifies the machine and the user: governors of both share stored files."""
    return machine_id() if settings.share_store else NOBODY


async def _until_the_end(
    settings: GovernorSettings,
    service: Service | ZeroService,
    uplink: Uplink,
    log: FilteringBoundLogger,
) -> int | None:
    """Waits for a signal, an order of the server to stop, or the loss of the server."""
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
        await service.ended()
        nursery.cancel_scope.cancel()
    if service.fenced:
        log.warning(
            "the server is back and does not take this governor back; its work is void, and it"
            " joins anew",
            reason=service.fenced,
        )
        return None
    if service.lost_server:
        where = Servers(settings.servers).all
        log.error("lost the server, the governor stops", server=where, cause=service.lost_server)
        return 1
    log.info("governor stops", cause=causes[0] if causes else service.told_to_stop)
    await uplink.drained()
    return 0


def _linger_seconds() -> float:
    text = os.environ.get("RAIN_DELETE_LIST_TIMEOUT", str(LINGER_SECONDS))
    try:
        return float(text)
    except ValueError:
        raise StartError(
            f"RAIN_DELETE_LIST_TIMEOUT is {text!r}; it must be a number of seconds"
        ) from None
