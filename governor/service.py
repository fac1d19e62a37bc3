"""The I/O side of the governor: turns inputs into events, runs turns, and carries out effects.

All events that arrive before a turn form one batch (`rain.daemon.turns`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, Protocol

import trio
from attrs import evolve, frozen
from structlog.typing import FilteringBoundLogger

from rain.base.errors import InvariantError, ProtocolError
from rain.base.ids import ObjectId, TaskId
from rain.base.transfers import Transfers
from rain.base.wire.answers import DataLink, GovernorReport, RunningTask, TaskMemory
from rain.base.wire.orders import Orders
from rain.base.wire.printed import PrintedLines, Watch
from rain.base.wire.update import Update
from rain.daemon.turns import TurnLoop
from rain.governor.core.account import files_read, memory_of
from rain.governor.core.effects import (
    CallExecutor,
    CopyToDisk,
    DeleteFar,
    DeleteFiles,
    DropCopy,
    EndStrays,
    FetchObject,
    KeepOutputs,
    LeaveMemory,
    LookUp,
    RareEffect,
    RunBuiltin,
    SendFar,
    SendUpdate,
    StopBuiltin,
    StopFetch,
)
from rain.governor.core.events import Drain, Event, OrdersReceived, Tick
from rain.governor.core.nodes import Task
from rain.governor.core.objects import is_far
from rain.governor.core.reactor import Reactor
from rain.governor.executors.links import Executors
from rain.governor.parting import Parting
from rain.governor.programs.builtin import Builtins
from rain.governor.storage.fetch import Fetcher
from rain.governor.storage.file_work import Deleter
from rain.governor.storage.store import Store
from rain.rpc.background import Background
from rain.rpc.handlers import Resumes
from rain.stream.holder import Held, InFile, InFolder, InMemory
from rain.stream.room import memory_left

if TYPE_CHECKING:
    from rain.governor.storage.cache_work import CacheWork
    from rain.governor.storage.far_store import FarStore
    from rain.governor.storage.moving import Mover
    from rain.governor.watcher import Watcher


LOOK_AT_MEMORY_EVERY = 0.5
"""Seconds between two reads of the machine's free memory."""


class Upward(Protocol):
    """How the service sends messages to the server."""

    address: str
    returns: bool  # the server, when it has died

    def update(self, update: Update) -> None: ...

    def printed(self, watch: int, lines: Sequence[PrintedLines]) -> None: ...

    def reject(self, reason: str) -> None:
        """Ends the connection, because a message of the server was invalid."""
        ...


@frozen
class Carriers:
    """The objects that carry out the effects of turns."""

    executors: Executors
    builtins: Builtins
    fetcher: Fetcher
    upstream: Upward


class Service(Parting):
    """Implements `ControlHandler` and `StreamSource` around one reactor.

    `open` sets what carries out effects, because it needs the service for its events.
    """

    def __init__(
        self,
        reactor: Reactor,
        store: Store,
        background: Background,
        log: FilteringBoundLogger,
        cache_limit: int | None = None,
    ) -> None:
        super().__init__()
        self._reactor = reactor
        self._store = store
        self._deleter = Deleter(store, background)
        self.links: Callable[[], tuple[DataLink, ...]] | None = None  # over which data was sent,
        self.transfers: Callable[[], Transfers] = Transfers  # and how much; nothing at first
        self.far_store: FarStore | None = None  # set at the start if data may be spilled
        self._mover: Mover | None = None  # until something leaves shared memory
        self._look_at_memory = 0.0
        self._memory_left = inf
        self._told_room = 0  # for a new file in shared memory
        self._cache_limit = cache_limit
        self._caches: CacheWork | None = None  # until a task has a cache
        self._log = log
        self._events: list[Event] = []
        self._background = background
        self._turns = TurnLoop(self._turn, self._settle, time.monotonic)
        self._next_time = inf  # when a turn is due without events
        self._begins: trio.Event | None = None  # set when a task runs, if anything waits for that
        self._carriers: Carriers | None = None
        self._watcher: Watcher | None = None  # until the first watch
        self._drains = False
        self._early_watches: list[tuple[int, Watch | None]] = []  # came before it was opened

    def open(self, carriers: Carriers) -> None:
        """Starts running turns, first with all events that have arrived so far."""
        self._carriers = carriers
        self._reactor.numbers.counts = self.server_returns = carriers.upstream.returns
        for number, watch in self._early_watches:
            self.watch(number, watch)
        self._background.start(self._turns.run)
        self._turns.ring()

    def close(self) -> None:
        """Stops running turns."""
        self._turns.stop()
        if self._caches is not None:
            self._caches.close()
        if self._mover is not None:
            self._mover.close()
        self._deleter.close()

    def join(self) -> None:
        """Blocks until no thread works on files; call it after `close`."""
        if self._caches is not None:
            self._caches.join()
        if self._mover is not None:
            self._mover.join()
        self._deleter.join()

    def drain(self) -> bool:
        if self._drains:
            return False
        self._drains = True
        self.tell(Drain())
        return True

    def tell(self, event: Event) -> None:
        """Adds an event."""
        if self._watcher is not None and self._watcher.is_on:
            self._watcher.heard(event)
        self._events.append(event)
        self._turns.ring()

    # Messages of the server.

    def order(self, orders: Orders) -> None:
        self.tell(OrdersReceived(orders))

    def report(self) -> GovernorReport:
        if self._events and self._carriers is not None:
            self._turns.turn_now()  # so that it reports the effects of all earlier orders
        carriers = self._carriers
        if carriers is None:
            return self._reactor.report("")
        report = self._reactor.report(carriers.upstream.address)
        links = () if self.links is None else self.links()
        return evolve(report, out_of_reach=carriers.fetcher.out_of_reach(), links=links)

    def running(self, task: TaskId) -> RunningTask:
        found = self._reactor.state.running(task)
        if found is None or self._carriers is None:
            return RunningTask()
        executors, builtins = self._carriers.executors, self._carriers.builtins
        if found.executor is not None:
            pid = executors.pids().get(found.executor.id)
            printed = executors.printed(found.executor.id)
        else:
            pid = builtins.pids().get(found.run)
            printed = builtins.printed(found.run)
        return RunningTask(printed, self._memory_of(found, pid))

    def _memory_of(self, task: Task, pid: int | None) -> TaskMemory:
        if pid is None:  # it runs in the governor itself
            return TaskMemory()
        from rain.governor.storage.mapped_inputs import mapped_bytes  # noqa: PLC0415 # people ask for it

        return evolve(
            memory_of(self._reactor.state, task),
            mapped=mapped_bytes(pid, self._store.folders, files_read(task)),
        )

    def watch(self, number: int, watch: Watch | None) -> None:
        carriers = self._carriers
        if carriers is None:
            self._early_watches.append((number, watch))
            return
        if self._watcher is None:
            from rain.governor.watcher import Watcher  # noqa: PLC0415 # rarely used

            self._watcher = Watcher(
                self._reactor,
                carriers.executors,
                carriers.builtins,
                self._background,
                carriers.upstream.printed,
            )
        self._watcher.watch(number, watch)

    # How it goes on when the server was away.

    def applied(self, number: int) -> None:
        self._reactor.numbers.confirm(number)

    def resumes(self) -> Resumes:
        """The message with which this governor resumes at a server that has come back."""
        if self._events:
            self._turns.turn_now()  # for orders that have come before the end of the connection
        if self._watcher is not None:
            self._watcher.end_all()  # clients renew their watches
        numbers = self._reactor.numbers
        return Resumes(numbers.heard, numbers.applied, numbers.sent)

    def missed(self, applied: int) -> list[Update]:
        """The updates to be sent again to a server that has applied those up to this number."""
        return self._reactor.numbers.missed(applied)

    # Requests of data readers.

    def find(self, object_id: ObjectId) -> Held | None:
        found = self._reactor.find(object_id)
        if found is None or found.content is None:
            far = self._reactor.far(object_id)
            return self.far_store.find(far) if far and self.far_store is not None else None
        if isinstance(found.content, bytes):
            return InMemory(found.content)
        path = self._store.path(found.content)
        return InFolder(path) if path.is_dir() else InFile.open(path)

    # Turns.

    def _turn(self) -> None:
        carriers = self._carriers
        if carriers is None:
            raise InvariantError("a turn before the governor was opened")
        executors, upstream = carriers.executors, carriers.upstream
        if time.monotonic() >= self._next_time:
            executors.look()  # answers that are already there are applied before the time
            self.tell(Tick())
        events, self._events = self._events, []
        if self._watcher is not None:
            self._watcher.flush()
        free = self._store.free() if self._reactor.stores_much else inf
        try:
            now = time.monotonic()
            effects = self._reactor.turn(now, events, free, self._available_memory(now))
        except ProtocolError as error:  # orders were applied in part: no turn may follow
            reason = f"the orders are invalid: {error}"
            self._turns.stop()
            upstream.reject(reason)
            self.give_up(reason)  # there is nothing to resume
            return
        if self._reactor.tiers.budget:
            self._tell_room()
            spares = self._reactor.spares
            if spares.is_awake and self._store.allow_spares(*spares.look(now)):
                self._deleter.trim_spares()
        for effect in effects:
            # These two occur for every task.
            if isinstance(effect, CallExecutor):
                executors.call(effect)
            elif isinstance(effect, SendUpdate):
                upstream.update(effect.update)
            else:
                self._carry(effect, carriers)

    def _available_memory(self, now: float) -> float:
        """The free memory of the machine, which matters while files are in shared memory."""
        if self._reactor.tiers.used and now >= self._look_at_memory:
            self._look_at_memory = now + LOOK_AT_MEMORY_EVERY
            self._memory_left = memory_left()
        return self._memory_left

    def _tell_room(self) -> None:
        room = self._reactor.room_for_each()
        if room != self._told_room:
            self._told_room = room
            self._store.tell_room(room, self._reactor.tiers.memory)

    def _settle(self) -> float:
        if self._begins is not None and self._reactor.is_busy:
            self._begins.set()
            self._begins = None
        self._next_time = self._reactor.next_time()
        return self._next_time

    async def busy(self) -> None:
        """Waits until any task runs."""
        if not self._reactor.is_busy:
            if self._begins is None:
                self._begins = trio.Event()
            await self._begins.wait()

    def _carry(self, effect: RareEffect, carriers: Carriers) -> None:
        match effect:
            case RunBuiltin():
                carriers.builtins.start(effect)
            case StopBuiltin(run, grace, timed_out):
                carriers.builtins.stop(run, grace, timed_out=timed_out)
            case SendFar() | DeleteFar():
                self._carry_far(effect)
            case FetchObject():
                if is_far(effect.source):
                    self._carry_far(effect)
                else:
                    carriers.fetcher.start(effect)
            case StopFetch(fetch):
                carriers.fetcher.stop(fetch)
            case DeleteFiles(files, tell):
                self._deleter.delete(files, self.tell if tell else None)
            case LookUp():
                self._get_caches().look_up(effect)
            case KeepOutputs():
                self._get_caches().keep(effect)
            case CopyToDisk() | LeaveMemory() | DropCopy():
                self._get_mover().carry(effect)
            case EndStrays(sessions):
                carriers.executors.forget(sessions)
            case _:
                carriers.executors.carry(effect)

    def _carry_far(self, effect: SendFar | DeleteFar | FetchObject) -> None:
        if self.far_store is None:
            raise InvariantError("an object is far, and there is no far store")
        match effect:
            case SendFar():
                self.far_store.send(effect)
            case DeleteFar():
                self.far_store.delete(effect)
            case FetchObject():
                self.far_store.fetch(effect)

    def _get_mover(self) -> Mover:
        if self._mover is None:
            from rain.governor.storage.moving import Mover  # noqa: PLC0415 # mostly all has room in memory

            self._mover = Mover(self._store, self._background, self.tell)
        return self._mover

    def _get_caches(self) -> CacheWork:
        if self._caches is None:
            from rain.governor.storage.cache_work import CacheWork  # noqa: PLC0415 # few governors need it

            limit = self._cache_limit
            self._caches = CacheWork(self._store, self._background, self.tell, self._log, limit)
        return self._caches
