"""The governor of a local cluster: the real reactor, and executors and files of this process.

Nothing runs by itself: `next` says what can run, and the thread that waits for it runs it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path

from attrs import define

from rain.base.errors import InvariantError
from rain.base.ids import ObjectId, TaskId
from rain.base.kinds import DataType
from rain.base.wire.answers import GovernorReport, RunningTask
from rain.base.wire.orders import SERVER, Orders
from rain.base.wire.printed import Watch
from rain.client.nested import TaskClient
from rain.governor.core.effects import (
    CallExecutor,
    CopyToDisk,
    DeleteFar,
    DeleteFiles,
    DropCached,
    DropCopy,
    Effect,
    EndStrays,
    ExecutorEffect,
    FetchObject,
    InterruptExecutor,
    KeepOutputs,
    KillExecutor,
    LeaveMemory,
    LookUp,
    RefuseWait,
    RunBuiltin,
    SendFar,
    SendUpdate,
    StartExecutor,
    StopBuiltin,
    StopFetch,
    TakeBackCalls,
)
from rain.governor.core.events import (
    BuiltinDone,
    CallsTakenBack,
    Event,
    ExecutorDied,
    ExecutorReady,
    FetchFailed,
    ObjectFetched,
    OrdersReceived,
    Tick,
)
from rain.governor.core.nodes import Rank
from rain.governor.core.reactor import Reactor
from rain.governor.core.reactor_settings import DataLimits, Offer, PoolSettings
from rain.governor.core.results import STOPPED, Stored
from rain.governor.storage.cache_work import CacheWork
from rain.governor.storage.errors import StoreError
from rain.governor.storage.store import Store
from rain.local.at_once import AtOnce
from rain.local.builtins import Builtins
from rain.local.clock import Steps
from rain.local.executor import Executor
from rain.local.log import logger
from rain.local.server import Server
from rain.rpc.handlers import Reply
from rain.stream.errors import NotHereError
from rain.stream.holder import Held, InFile, InFolder, InMemory

ADDRESS = "127.0.0.1:0"
"""What users see in the place of its address: nobody listens there."""


LINGER_SECONDS = 1.0
"""How long data stays here that nobody needs; a task may want it again."""


Runner = Executor | RunBuiltin
"""What can run: the next call of an executor, or a built-in task."""


@define(eq=False)
class Governor:
    """Implements `rain.rpc.handlers.GovernorLink` for the server."""

    offer: Offer
    clock: Steps
    server: Server
    new_client: Callable[[], TaskClient]
    store: Store
    builtins: Builtins
    _folder: Path
    _reactor: Reactor
    _events: list[Event]
    _executors: dict[int, Executor]
    _runs: dict[int, RunBuiltin]  # those that have not begun
    _caches: CacheWork | None = None  # until a task has a cache

    @staticmethod
    def make(
        offer: Offer,
        folder: Path,
        clock: Steps,
        server: Server,
        new_client: Callable[[], TaskClient],
    ) -> Governor:
        """A governor with its folders."""
        data = folder / "data"
        data.mkdir()
        store = Store(data)
        reactor = Reactor(
            offer,
            PoolSettings(),
            DataLimits(LINGER_SECONDS),
            now=clock.now,
            checking=os.environ.get("RAIN_DEBUG_MODE") == "1",
        )
        return Governor(
            offer,
            clock,
            server,
            new_client,
            store,
            Builtins(folder / "tasks", store),
            folder / "executors",
            reactor,
            [],
            {},
            {},
        )

    # From the server.

    def order(self, orders: Orders) -> None:
        self.tell(OrdersReceived(orders))

    def report(self, reply: Reply[GovernorReport]) -> None:
        if self._events:
            self.turn()  # so that it reports the effects of all earlier orders
        reply.answer(self._reactor.report(ADDRESS))

    def running(self, task: TaskId, reply: Reply[RunningTask]) -> None:
        texts = [executor.printed_by(task) for executor in self._executors.values()]
        reply.answer(RunningTask("".join(texts)))

    def watch(self, number: int, watch: Watch | None) -> None:
        raise InvariantError(f"a local cluster shows what tasks print: {number} {watch}")

    def call_back(self, ticket: bytes) -> None:
        raise InvariantError(f"data of a local cluster was asked for over a network: {ticket!r}")

    def stop(self, reason: str) -> None:
        raise InvariantError(f"the governor of a local cluster was dismissed: {reason}")

    def close(self, reason: str) -> None:
        raise InvariantError(f"the governor of a local cluster was dismissed: {reason}")

    # Turns.

    def tell(self, event: Event) -> None:
        """Something for the next turn."""
        self._events.append(event)

    @property
    def next_time(self) -> float:
        """When the next turn is due."""
        return self.clock.now if self._events else self._reactor.next_time()

    def turn(self) -> None:
        """One turn, and all that it wants done."""
        events, self._events = self._events or [Tick()], []
        for effect in self._reactor.turn(self.clock.now, events):
            self._carry(effect)

    def _carry(self, effect: Effect) -> None:
        match effect:
            case CallExecutor():
                self._executors[effect.executor].take(effect)
            case SendUpdate(update):
                self.server.update(update)
            case RunBuiltin():
                self._runs[effect.run] = effect
            case StopBuiltin(run):
                self._stop(run)
            case FetchObject():
                self._fetch(effect)
            case StopFetch():
                pass  # a fetch has ended before the next effect
            case DeleteFiles(files):
                self.store.delete(files)
            case EndStrays(sessions):
                self.builtins.forget(sessions)
            case LookUp():
                self._get_caches().look_up(effect)
            case KeepOutputs():
                self._get_caches().keep(effect)
            case CopyToDisk() | LeaveMemory() | DropCopy() | SendFar() | DeleteFar():
                raise InvariantError("local mode has neither shared memory nor a far store")
            case _:
                self._carry_for_executor(effect)

    def _get_caches(self) -> CacheWork:
        if self._caches is None:
            self._caches = CacheWork(self.store, AtOnce(), self.tell, logger(), None)
        return self._caches

    def _carry_for_executor(self, effect: ExecutorEffect) -> None:
        if isinstance(effect, StartExecutor):
            self._start(effect.executor)
            return
        executor = self._executors[effect.executor]
        match effect:
            case DropCached():
                executor.drop(effect)
            case TakeBackCalls():
                self.tell(CallsTakenBack(executor.number, executor.take_back()))
            case InterruptExecutor(_, call):
                executor.interrupts.stop(call)
            case RefuseWait(_, call, most):
                executor.interrupts.refuse(call, _too_deep(most))
            case KillExecutor():
                self._kill(executor)

    # What runs.

    def next(self) -> Runner | None:
        """What shall run next: of all that could run, what the governor ranks first."""
        state = self._reactor.state
        nodes, tasks = state.pool.executors, state.dispatch.runs
        ranked: list[tuple[Rank, Runner]] = [
            (nodes[executor.number].calls[0].rank, executor)
            for executor in self._executors.values()
            if executor.can_run()
        ]
        ranked += [(tasks[number].rank, run) for number, run in self._runs.items()]
        return min(ranked, key=itemgetter(0))[1] if ranked else None

    def limit(self, runner: Runner) -> float:
        """How many seconds it may run; 0 for ever."""
        if isinstance(runner, Executor):
            kind = self._reactor.state.pool.executors[runner.number].calls[0].kind.kind
        else:
            kind = runner.kind
        return kind.attempts.timeout

    def begin(self, runner: Runner) -> None:
        """It runs now, in this thread."""
        if isinstance(runner, Executor):
            runner.begin()
        else:
            del self._runs[runner.run]

    def ended(self, executor: Executor) -> None:
        """The call of an executor has ended, and was answered."""
        executor.ended()
        if executor.is_doomed:
            self._bury(executor)

    def _start(self, number: int) -> None:
        self._folder.mkdir(exist_ok=True)
        folder = self._folder / str(number)
        self._executors[number] = Executor(
            number, folder, self.store, self.tell, self.new_client, self.clock, self.find
        )
        self.tell(ExecutorReady(number))

    def _kill(self, executor: Executor) -> None:
        if executor.is_running:
            executor.is_doomed = True
        else:
            self._bury(executor)

    def _bury(self, executor: Executor) -> None:
        del self._executors[executor.number]
        self.tell(ExecutorDied(executor.number, "it was stopped", executor.take_back()))
        executor.end()

    def _stop(self, number: int) -> None:
        if self._runs.pop(number, None) is not None:
            self.tell(BuiltinDone(number, 0.0, STOPPED))
        else:
            self.builtins.stop(number)

    # Data.

    def find(self, object_id: ObjectId) -> Held | None:
        """Where an object is, if it is here."""
        found = self._reactor.find(object_id)
        if found is None or found.content is None:
            return None
        if isinstance(found.content, bytes):
            return InMemory(found.content)
        path = self.store.path(found.content)
        return InFolder(path) if path.is_dir() else InFile.open(path)

    def _fetch(self, fetch: FetchObject) -> None:
        """Takes a large constant from the server's folder."""
        try:
            self.tell(ObjectFetched(fetch.fetch, self._fetched(fetch)))
        except NotHereError as error:
            self.tell(FetchFailed(fetch.fetch, str(error)))
        except StoreError as error:
            self.tell(FetchFailed(fetch.fetch, str(error), here=True))

    def _fetched(self, fetch: FetchObject) -> bytes | Stored:
        found = self.server.uploads.find(fetch.object) if fetch.source == SERVER else None
        if found is None:
            raise NotHereError(f"{fetch.source} does not have it")
        try:
            length, place = found.place()
            if fetch.kind.data_type is DataType.DIRECTORY:
                return self.store.unpack(found.path)
            shared = self.store.link_in(place, length, is_folder=False)
            return self.store.copy_in(found.path) if shared is None else shared
        finally:
            found.close()

    def end(self) -> None:
        """The cluster has ended."""
        for executor in self._executors.values():
            executor.end()
        self.builtins.close()


def _too_deep(most: int) -> str:
    return (
        f"{most} tasks wait for tasks of their own already, each inside of the one before: local"
        " mode runs them all on one stack, and has room for no more"
    )
