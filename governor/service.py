"""The I/O side of the governor: turns inputs into events, runs turns, and carries out effects.

All events that arrive before a turn form one batch (`rain.daemon.turns`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Protocol, assert_never

import trio
from attrs import evolve, frozen

from rain.base.errors import ProtocolError
from rain.base.ids import TaskId
from rain.base.wire.answers import DataLink, GovernorReport, RunningTask, TaskMemory
from rain.base.wire.orders import Orders
from rain.base.wire.printed import Watch
from rain.base.wire.update import Update
from rain.daemon.turns import TurnLoop
from rain.governor.core.account import files_read, memory_of
from rain.governor.core.effects import (
    CallExecutor,
    EndStrays,
    ExecutorEffect,
    FetchObject,
    RareEffect,
    RunBuiltin,
    SendUpdate,
    StopBuiltin,
    StopFetch,
    StorageEffect,
)
from rain.governor.core.events import Drain, Event, OrdersReceived, Tell, Tick
from rain.governor.core.nodes import Task
from rain.governor.core.objects import is_far
from rain.governor.core.reactor import Reactor
from rain.governor.executors.links import Executors
from rain.governor.programs.builtin import Builtins
from rain.governor.storage.fetch import Fetcher
from rain.governor.storage.storage import Storage
from rain.governor.uplink import Uplink
from rain.rpc.background import Background
from rain.rpc.handlers import Resumes

if TYPE_CHECKING:
    from rain.governor.watcher import Watcher


class Outward(Protocol):
    """The port where others read data, as the service knows it."""

    def call_back(self, ticket: bytes) -> None: ...

    def links(self) -> tuple[DataLink, ...]:
        """Over which data was sent."""
        ...


@frozen
class Carriers:
    """The objects that carry out the effects of turns."""

    executors: Executors
    builtins: Builtins
    fetcher: Fetcher
    storage: Storage


class Service:
    """Implements `ControlHandler` around one reactor."""

    def __init__(
        self,
        reactor: Reactor,
        carriers: Callable[[Tell], Carriers],
        uplink: Uplink,
        streams: Outward,
        background: Background,
    ) -> None:
        """`carriers` makes them with what they tell events to."""
        self._reactor = reactor
        self._uplink = uplink
        self._streams = streams
        self._background = background
        self._events: list[Event] = []
        self._turns = TurnLoop(self._turn, self._settle, time.monotonic)
        self._next_time = inf  # when a turn is due without events
        self._begins: trio.Event | None = None  # set when a task runs, if anything waits for that
        self._watcher: Watcher | None = None  # until the first watch
        self._drains = False
        self.carriers = carriers(self.tell)

    def start(self) -> None:
        """The governor is registered: starts running turns, first with the events until now."""
        self._reactor.numbers.counts = self._uplink.returns
        self._background.start(self._turns.run)
        self._turns.ring()

    def close(self) -> None:
        """Stops running turns, and all work but that of processes, which are killed."""
        self._turns.stop()
        self.carriers.storage.close()
        self.carriers.fetcher.close()
        self.carriers.executors.kill_all()

    def drain(self) -> bool:
        """Starts to drain; whether this call has started it."""
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
        if self._events and self._uplink.is_registered:
            self._turns.turn_now()  # so that it reports the effects of all earlier orders
        report = self._reactor.report(self._uplink.address)
        out_of_reach = self.carriers.fetcher.out_of_reach()
        return evolve(report, out_of_reach=out_of_reach, links=self._streams.links())

    def running(self, task: TaskId) -> RunningTask:
        found = self._reactor.state.running(task)
        if found is None:
            return RunningTask()
        executors, builtins = self.carriers.executors, self.carriers.builtins
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
            mapped=mapped_bytes(pid, self.carriers.storage.folders, files_read(task)),
        )

    def watch(self, number: int, watch: Watch | None) -> None:
        if self._watcher is None:
            from rain.governor.watcher import Watcher  # noqa: PLC0415 # rarely used

            self._watcher = Watcher(
                self._reactor,
                self.carriers.executors,
                self.carriers.builtins,
                self._background,
                self._uplink.printed,
            )
        self._watcher.watch(number, watch)

    def call_back(self, ticket: bytes) -> None:
        self._streams.call_back(ticket)

    def stop(self, reason: str) -> None:
        self._uplink.stop(reason)

    def left(self, cause: str, *, at_fault: bool = False) -> None:
        self._uplink.left(cause, at_fault=at_fault)

    # How it goes on when the server was away.

    def applied(self, number: int) -> None:
        self._reactor.numbers.confirm(number)

    def resumes(self) -> Resumes:
        if self._events:
            self._turns.turn_now()  # for orders that have come before the end of the connection
        if self._watcher is not None:
            self._watcher.end_all()  # clients renew their watches
        numbers = self._reactor.numbers
        return Resumes(numbers.heard, numbers.applied, numbers.sent)

    def missed(self, applied: int) -> list[Update]:
        return self._reactor.numbers.missed(applied)

    # Turns.

    def _turn(self) -> None:
        reactor, executors, storage = (
            self._reactor,
            self.carriers.executors,
            self.carriers.storage,
        )
        if time.monotonic() >= self._next_time:
            executors.look()  # answers that are already there are applied before the time
            self.tell(Tick())
        events, self._events = self._events, []
        if self._watcher is not None:
            self._watcher.flush()
        now = time.monotonic()
        free = storage.free() if reactor.stores_much else inf
        # That of the machine matters while files are in shared memory.
        memory = storage.memory_left(now) if reactor.tiers.used else inf
        try:
            effects = reactor.turn(now, events, free, memory)
        except ProtocolError as error:  # orders were applied in part: no turn may follow
            self._turns.stop()
            self._uplink.reject(f"the orders are invalid: {error}")
            return
        if reactor.tiers.budget:
            storage.tell_room(reactor.room_for_each(), reactor.tiers.memory)
            if reactor.spares.is_awake:
                storage.allow_spares(*reactor.spares.look(now))
        for effect in effects:
            # These two occur for every task.
            if isinstance(effect, CallExecutor):
                executors.call(effect)
            elif isinstance(effect, SendUpdate):
                self._uplink.update(effect.update)
            else:
                self._carry(effect)

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

    def _carry(self, effect: RareEffect) -> None:
        carriers = self.carriers
        if isinstance(effect, ExecutorEffect):
            carriers.executors.carry(effect)
        elif isinstance(effect, StorageEffect):
            carriers.storage.carry(effect)
        else:
            match effect:
                case RunBuiltin():
                    carriers.builtins.start(effect)
                case StopBuiltin(run, grace, timed_out):
                    carriers.builtins.stop(run, grace, timed_out=timed_out)
                case FetchObject():
                    if is_far(effect.source):
                        carriers.storage.bring_back(effect)
                    else:
                        carriers.fetcher.start(effect)
                case StopFetch(fetch):
                    carriers.fetcher.stop(fetch)
                case EndStrays(sessions):
                    carriers.executors.forget(sessions)
                case _:
                    assert_never(effect)
