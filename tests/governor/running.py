"""A governor's border around its reactor in the test's own process: real executors, real files.

The server is played: orders are given to the service, and updates are collected.
"""

import json
import pickle
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import msgpack
import structlog
import trio

from rain.base.attempts import Attempts
from rain.base.ids import KindId, ObjectId, TaskId, pack
from rain.base.kinds import DataType, ObjectKind, TaskKind
from rain.base.leading import Servers
from rain.base.resources import ONE_CPU, Resources
from rain.base.wire.answers import DataLink
from rain.base.wire.orders import Orders
from rain.base.wire.printed import PrintedLines
from rain.base.wire.update import TaskFailure, Update
from rain.daemon import program
from rain.daemon.work_folder import WorkFolder
from rain.governor.core.cancelling import GRACE
from rain.governor.core.events import Tell
from rain.governor.core.reactor import Reactor
from rain.governor.core.reactor_settings import DataLimits, Offer, PoolSettings
from rain.governor.core.tiers import Tiers
from rain.governor.environments.lazy import LazyEnvironments
from rain.governor.executors.links import Executors
from rain.governor.executors.process import Places
from rain.governor.life import wind_down
from rain.governor.machine.memory_files import KernelKills
from rain.governor.machine.warden import Warden
from rain.governor.programs.builtin import Builtins
from rain.governor.service import Carriers, Service
from rain.governor.storage.fetch import Fetcher
from rain.governor.storage.held import HeldObjects
from rain.governor.storage.storage import Storage
from rain.governor.storage.store import Store
from rain.governor.uplink import Uplink
from rain.governor.work_folder import FolderPaths
from rain.governor.workplace import Bounds, Workplace
from rain.rpc.background import Background
from rain.rpc.codec import through_the_wire
from rain.rpc.handlers import ControlHandler, Resumes, ServerLink
from rain.stream.protocol import NOBODY
from rain.stream.reading import StreamReader
from tests.governor.words import add_task, object_id, task_id
from tests.support.bell import Bell
from tests.support.streams import bytes_of

# Functions of tasks, as lambdas with no types get them: Any, whatever their number of arguments.
Function: TypeAlias = (
    Callable[[Any], Any] | Callable[[Any, Any], Any] | Callable[[Any, Any, Any], Any]
)

cloudpickle: Any = import_module("cloudpickle")  # it is not annotated

PATIENCE = 30.0
BLOB, FOLDER, PICKLED = 1, 2, 3


class PlayedServer:
    """What the governor tells its server."""

    address = "me:1"
    returns = False
    applied = 0
    is_open = True

    def __init__(self) -> None:
        self.finished: dict[TaskId, list[tuple[int, bytes]]] = {}
        self.failed: dict[TaskId, TaskFailure] = {}
        self.logs: dict[TaskId, str] = {}
        self.located: list[ObjectId] = []
        self.unfetched: list[ObjectId] = []
        self.started: list[TaskId] = []
        self.printed_lines: list[tuple[int, PrintedLines]] = []  # by watch
        self.rejected: list[str] = []
        self.news = Bell()

    def printed(self, watch: int, lines: Sequence[PrintedLines]) -> None:
        self.printed_lines += [(watch, one) for one in lines]
        self.news.ring()

    def reject(self, reason: str) -> None:
        self.rejected.append(reason)
        self.news.ring()

    async def drained(self) -> None:
        """Hears that the governor leaves."""

    def close(self, reason: str = "") -> None:
        """Nothing is open."""

    def uplink(self) -> Uplink:
        """A link to this server."""

        async def connect(handler: ControlHandler, resumes: Resumes | None) -> ServerLink:
            del handler, resumes
            return self

        return Uplink(connect, structlog.get_logger())

    def update(self, update: Update) -> None:
        update = through_the_wire(update)
        self.started += update.started_ids
        self.located += update.located
        self.unfetched += update.unfetched
        outputs = iter(zip(update.finished.sizes, update.finished.data, strict=True))
        for task, count in zip(update.finished.ids, update.finished.output_counts, strict=True):
            self.finished[task] = [next(outputs) for _ in range(count)]
        for failure in update.failed:
            self.failed[failure.task] = failure
        self.logs.update({note.task: note.logs for note in update.task_notes if note.logs})
        self.news.ring()


class NobodyReads:
    """Stands for the port of a governor."""

    def call_back(self, ticket: bytes) -> None:
        raise AssertionError(ticket)

    def links(self) -> tuple[DataLink, ...]:
        return ()


class Running:
    """The parts of a running governor, and short words for its server."""

    def __init__(
        self,
        folder: FolderPaths,
        service: Service,
        server: PlayedServer,
        uplink: Uplink,
        reactor: Reactor,
        store: Store,
        reader: StreamReader,
    ) -> None:
        self.store = store
        self.reader = reader
        self.folder = folder
        self.service = service
        self.server = server
        self.uplink = uplink
        self.executors = service.carriers.executors
        self.held = HeldObjects(reactor, store, None)
        self.reactor = reactor
        self.count = 1000
        self.functions = 100
        self.register_kinds()

    def register_kinds(self) -> None:
        """Tells the kinds of the objects, which are forgotten with their session."""
        kinds = [
            ObjectKind(KindId(pack(1, BLOB)), "blob"),
            ObjectKind(KindId(pack(1, FOLDER)), "folder", data_type=DataType.DIRECTORY),
            ObjectKind(KindId(pack(1, PICKLED)), "pickled", "pickle"),
        ]
        self.order(Orders(object_kinds=kinds))

    def order(self, orders: Orders) -> None:
        self.service.order(through_the_wire(orders))

    def number(self) -> int:
        self.count += 1
        return self.count

    def give(self, data: bytes, kind: int = BLOB) -> int:
        """An object whose bytes come along."""
        number = self.number()
        self.place(number, kind, data=data)
        return number

    def place(self, number: int, kind: int, source: str = "", data: bytes = b"") -> None:
        orders = Orders()
        placed = orders.objects
        placed.ids.append(object_id(number))
        placed.kinds.append(KindId(pack(1, kind)))
        placed.content_types.append("")
        placed.sizes.append(len(data))
        placed.sources.append(source)
        placed.data.append(data)
        self.order(orders)

    def task(
        self,
        task_type: str,
        config: Any = None,
        inputs: tuple[int, ...] = (),
        outputs: tuple[int, ...] = (BLOB,),
        *,
        resources: Resources = ONE_CPU,
        timeout: float = 0.0,
        environment: str = "",
    ) -> int:
        """Assigns a task, and gives its number; its outputs have the numbers after it."""
        number = self.number()
        kind = TaskKind(
            KindId(pack(1, self.number())),
            task_type,
            resources=resources,
            outputs=tuple(KindId(pack(1, output)) for output in outputs),
            attempts=Attempts(timeout=timeout),
            environment=environment,
        )
        orders = Orders(task_kinds=[kind])
        made = [object_id(self.number()) for _ in outputs]
        add_task(orders.tasks, task_id(number), kind, [object_id(one) for one in inputs], made)
        orders.tasks.configs[0] = config if isinstance(config, bytes) else b""
        self.order(orders)
        return number

    def builtin(
        self,
        method: str,
        config: Any = None,
        inputs: tuple[int, ...] = (),
        outputs: tuple[int, ...] = (BLOB,),
        timeout: float = 0.0,
        environment: str = "",
    ) -> int:
        packed = b"" if config is None else json.dumps(config).encode()
        return self.task(
            f"buildin/{method}", packed, inputs, outputs, timeout=timeout, environment=environment
        )

    def function(self, function: Function) -> int:
        """Gives a function."""
        pickled: bytes = cloudpickle.dumps(function)
        return self.give(pickled)

    def call(self, function: int, *args: Any, outputs: tuple[int, ...] = (PICKLED,)) -> int:
        config = {
            "args": [pickle.dumps(arg) for arg in args],
            "kwargs": {},
            "encode_outputs": ["pickle" if kind == PICKLED else None for kind in outputs],
        }
        return self.task("py/", msgpack.packb(config), (function,), outputs)

    def stop(self, number: int) -> None:
        self.order(Orders(stop_ids=[task_id(number)], stop_runs=[1]))

    # Waiting.

    async def until(self, holds: Callable[[], object]) -> None:
        """Waits for news until something holds."""
        with trio.fail_after(PATIENCE):
            while not holds():
                await self.server.news.wait()

    async def outputs(self, number: int) -> list[tuple[int, bytes]]:
        """Sizes and inline bytes of what a task has made."""
        task = task_id(number)
        await self.until(lambda: task in self.server.finished or task in self.server.failed)
        assert task in self.server.finished, self.server.failed[task].message
        return self.server.finished[task]

    async def value(self, number: int) -> Any:
        ((_, data),) = await self.outputs(number)
        return pickle.loads(data)

    async def failure(self, number: int) -> str:
        task = task_id(number)
        await self.until(lambda: task in self.server.finished or task in self.server.failed)
        assert task in self.server.failed
        return self.server.failed[task].message

    def read(self, number: int) -> bytes:
        """All of an object, as other governors would read it."""
        return bytes_of(self.held.find(object_id(number)))


Scenario = Callable[[Running], Awaitable[None]]


def governed(
    tmp_path: Path,
    scenario: Scenario,
    *,
    cpus: int = 2,
    linger_seconds: float = 0.0,
    commands: Mapping[str, tuple[str, ...]] | None = None,
    idle_seconds: float = 60.0,
    machine: bytes = NOBODY,
    grace: float = GRACE,
    tiers: Tiers | None = None,
) -> None:
    """Runs a scenario with a governor; afterwards nothing of it is left.

    With `tiers` it has shared memory, where every large result goes that has room there.
    """

    async def main() -> int:
        work = WorkFolder.make(tmp_path / "work", "governor")
        folder = FolderPaths.make(work)
        logs = tmp_path / "logs"
        logs.mkdir()
        shared = None if tiers is None else WorkFolder.in_shared_memory("test")
        shared_path = None if shared is None else shared.path
        store = Store(folder.data, shared_path)
        log = structlog.get_logger()
        reactor = Reactor(
            Offer(Resources(cpus)),
            PoolSettings(
                frozenset({"py", *(commands or {})}),
                frozenset(commands or {}),
                idle_seconds,
                grace,
            ),
            DataLimits(linger_seconds, tiers or Tiers()),
            now=time.monotonic(),
            checking=True,
        )
        server = PlayedServer()
        async with trio.open_nursery() as nursery:
            background = Background(nursery)
            warden = Warden(folder.root, background)
            async with trio.open_nursery() as processes:
                of_processes = Background(processes)
                places = Places(
                    folder.executors, logs, folder.data, origin=warden.origin, shared=shared_path
                )

                def carriers(tell: Tell) -> Carriers:
                    workplace = Workplace(
                        store,
                        folder.runs,
                        warden,
                        of_processes,
                        tell,
                        grace,
                        KernelKills(),
                        Bounds(),
                        LazyEnvironments(store, warden, log),
                    )
                    return Carriers(
                        Executors(workplace, places, dict(commands or {}), log),
                        Builtins(workplace),
                        Fetcher(reader, store, background, tell, log),
                        Storage(store, None, background, tell, log),
                    )

                reader = StreamReader(Servers.of("127.0.0.1:1"), machine=machine)
                uplink = server.uplink()
                service = Service(reactor, carriers, uplink, NobodyReads(), background)
                running = Running(folder, service, server, uplink, reactor, store, reader)
                try:
                    await uplink.register(service, 0.0)
                    service.start()
                    await scenario(running)
                finally:
                    await wind_down(service, processes)
            warden.close()
            nursery.cancel_scope.cancel()
        work.remove()
        store.close()
        if shared is not None:
            shared.remove()
        return 0

    before = open_descriptors()
    program.run(main)
    assert open_descriptors() == before


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def is_alive(pid: int) -> bool:
    """Whether a process still runs; the dead that nobody has buried do not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
