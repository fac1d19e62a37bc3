"""Runs one governor: makes its parts, runs it until its end, and cleans up.

The program that it is a part of decides how it reaches its server and when it ends (`Ties`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import trio
from attrs import frozen
from structlog.typing import FilteringBoundLogger

from rain.base.errors import StartError
from rain.base.leading import Servers
from rain.base.resources import MEMORY
from rain.common.secret_file import keep_secret
from rain.daemon.folders import make_folder
from rain.daemon.work_folder import WorkFolder, remove_abandoned
from rain.governor.core.disk import Disk
from rain.governor.core.events import Tell
from rain.governor.core.reactor import Reactor
from rain.governor.core.reactor_settings import PYTHON, DataLimits, Offer, PoolSettings
from rain.governor.core.tiers import Tiers
from rain.governor.environments.lazy import LazyEnvironments
from rain.governor.executors.config import Commands
from rain.governor.executors.links import Executors
from rain.governor.executors.process import Places
from rain.governor.machine.cutting import Printed, keep_cutting
from rain.governor.machine.detecting import Machine
from rain.governor.machine.load_sampler import keep_sampling
from rain.governor.machine.memory_files import KernelKills
from rain.governor.machine.memory_sampler import Watched, keep_watching
from rain.governor.machine.memory_wall import MemoryWall, wall_for
from rain.governor.machine.process_groups import ProcessGroups
from rain.governor.machine.warden import Warden
from rain.governor.programs.builtin import Builtins
from rain.governor.registering import Register, announce, linked, machine_of
from rain.governor.service import Carriers, Service
from rain.governor.settings import GovernorSettings
from rain.governor.storage.fetch import Fetcher
from rain.governor.storage.held import HeldObjects
from rain.governor.storage.storage import Storage
from rain.governor.storage.store import Store
from rain.governor.uplink import Uplink
from rain.governor.work_folder import FolderPaths, remove_folder, shared_folder
from rain.governor.workplace import Bounds, Workplace
from rain.rpc.background import Background, in_a_thread
from rain.rpc.streams import GovernorStreams
from rain.stream.reading import StreamReader

if TYPE_CHECKING:
    from rain.governor.storage.far_store import FarStore
    from rain.governor.tasks_file import TasksFile

LINGER_SECONDS = 5.0


@frozen
class Ties:
    """How a governor is connected to its server and to its process."""

    servers: Servers
    register: Register
    until_the_end: Callable[[Service, Uplink], Awaitable[int | None]]
    """Returns the exit status, or None if another incarnation is to take its place."""


@frozen
class Ground:
    """The folders of a governor, and the guard that ends its processes if it is killed."""

    folder: FolderPaths
    shared: Path | None  # in shared memory
    groups: ProcessGroups | None
    wall: MemoryWall | None
    warden: Warden
    kills: KernelKills


async def live(
    settings: GovernorSettings,
    ties: Ties,
    commands: Commands,
    logs_in: Path,
    nursery: trio.Nursery,
    log: FilteringBoundLogger,
) -> int | None:
    """Runs a governor until its ties say that it ends, and returns what they say."""
    background = Background(nursery)
    executor_logs = make_folder(logs_in / "executors", "log folder")
    with _ground(settings, background, log) as ground, ExitStack() as at_end:
        background.start(in_a_thread, partial(remove_abandoned, log))
        store = Store(ground.folder.data, ground.shared)
        store.make_spares()
        reactor = _reactor(settings, commands, has_shared_memory=ground.shared is not None)
        far = _far_store(settings.spill_to, store, background, at_end, log)
        held = HeldObjects(reactor, store, far)
        secret_file, tasks = _secrets(settings, ground.folder)
        places = Places(
            ground.folder.executors,
            executor_logs,
            ground.folder.data,
            ties.servers.all,
            secret_file,
            None if tasks is None else tasks.path,
            ground.warden.origin,
            ground.shared,
        )
        async with (
            linked(settings, ties.servers, ties.register, held, nursery, log) as (streams, uplink),
            trio.open_nursery() as processes,
        ):

            def carriers(tell: Tell) -> Carriers:
                workplace = _workplace(settings, ground, store, Background(processes), tell, log)
                keys, machine = settings.keys, machine_of(settings)
                reader = StreamReader(ties.servers, machine=machine, keys=keys)
                return Carriers(
                    Executors(workplace, places, commands, log),
                    Builtins(workplace),
                    Fetcher(reader, store, background, tell, log),
                    Storage(store, far, background, tell, log, settings.cache_limit),
                )

            service = Service(reactor, carriers, uplink, streams, background)
            try:
                await uplink.register(service, settings.server_wait)
                announce(settings, uplink, streams, log)
                service.start()
                _keep_watch(processes, settings, service, streams, ground, log)
                processes.start_soon(uplink.keep_up, service, settings.server_away)
                if settings.identity is not None and tasks is not None:
                    from rain.daemon.certificates import keep_looking  # noqa: PLC0415 # mostly nothing is encrypted

                    processes.start_soon(keep_looking, settings.identity, log, tasks.write)
                return await ties.until_the_end(service, uplink)
            finally:
                await wind_down(service, processes)


@contextmanager
def _ground(
    settings: GovernorSettings, background: Background, log: FilteringBoundLogger
) -> Generator[Ground]:
    work = WorkFolder.make(settings.work_folder, "governor")
    shared = shared_folder(settings.budget, work, log)
    shared_path = None if shared is None else shared.path
    groups = ProcessGroups.make(settings.task_processes)
    height = wall_for(settings.budget, Machine.this().memory(), work.path)
    wall = MemoryWall.make(height, groups)
    if height and wall is None:
        log.debug("the memory of tasks is only sampled: no control group can be made")
    warden = Warden(work.path, background, shared_path, groups, wall, work.link)
    try:
        kills = KernelKills(wall)
        yield Ground(FolderPaths.make(work), shared_path, groups, wall, warden, kills)
    finally:
        remove_folder(work, log)
        if shared is not None:
            remove_folder(shared, log)
        warden.close()


def _workplace(
    settings: GovernorSettings,
    ground: Ground,
    store: Store,
    processes: Background,
    tell: Tell,
    log: FilteringBoundLogger,
) -> Workplace:
    warden = ground.warden
    return Workplace(
        store,
        ground.folder.runs,
        warden,
        processes,
        tell,
        settings.cancel_grace,
        ground.kills,
        Bounds(settings.descriptors, ground.groups, ground.wall),
        LazyEnvironments(store, warden, log, settings.environment_limit, settings.conda),
    )


def _keep_watch(
    processes: trio.Nursery,
    settings: GovernorSettings,
    service: Service,
    streams: GovernorStreams,
    ground: Ground,
    log: FilteringBoundLogger,
) -> None:
    """Starts what looks at the machine and at the processes of tasks from time to time."""
    executors, builtins = service.carriers.executors, service.carriers.builtins
    processes.start_soon(
        keep_sampling,
        settings.monitoring_seconds,
        service.carriers.fetcher.out_of_reach,
        streams.transfers,
        service.tell,
        log,
    )
    memory = settings.resources.amount(MEMORY)
    watched = Watched(
        executors.pids,
        builtins.pids,
        ground.warden.origin,
        ground.groups,
        settings.task_processes,
        service.busy,
    )
    processes.start_soon(keep_watching, memory, watched, ground.kills, service.tell)
    processes.start_soon(keep_cutting, _printing(executors, builtins), log)


def _secrets(
    settings: GovernorSettings, folder: FolderPaths
) -> tuple[Path | None, TasksFile | None]:
    """The files with which tasks are let in as clients."""
    secret_file, tasks = None, None
    if settings.secret is not None:
        secret_file = folder.root / "secret"
        keep_secret(secret_file, settings.secret)
    if settings.identity is not None:
        from rain.governor.tasks_file import TasksFile  # noqa: PLC0415 # mostly nothing is encrypted

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
            Tiers(settings.budget.store, Machine.this().memory()) if has_shared_memory else Tiers(),
            Disk(settings.budget.disk, spills=settings.spill_to is not None),
        ),
        now=time.monotonic(),
        checking=os.environ.get("RAIN_DEBUG_MODE") == "1",
    )


def _far_store(
    url: str | None,
    store: Store,
    background: Background,
    at_end: ExitStack,
    log: FilteringBoundLogger,
) -> FarStore | None:
    if url is None:
        return None
    from rain.governor.storage.far_store import FarStore  # noqa: PLC0415 # mostly the disk has room for all

    far = FarStore(url, store, background, log)
    at_end.callback(far.close)
    return far


def _printing(executors: Executors, builtins: Builtins) -> Callable[[], Iterable[Printed]]:
    return lambda: chain(executors.printing(), builtins.printing())


async def wind_down(service: Service, processes: trio.Nursery) -> None:
    """Stops all work of a governor; the nursery then waits for its processes to end."""
    service.close()
    with trio.CancelScope(shield=True):
        await in_a_thread(service.carriers.storage.join, abandon=False)
    processes.cancel_scope.cancel()


def _linger_seconds() -> float:
    text = os.environ.get("RAIN_DELETE_LIST_TIMEOUT", str(LINGER_SECONDS))
    try:
        return float(text)
    except ValueError:
        raise StartError(
            f"RAIN_DELETE_LIST_TIMEOUT is {text!r}; it must be a number of seconds"
        ) from None
