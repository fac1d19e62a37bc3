"""One turn of the governor: it applies events, then starts what can run.

`turn(now, events)` is a function of the state, the events and the time. It handles, in this order:
the events, expired and stuck items, the transfers that may start, the tasks that may start, and at
most one update for the server. With `checking` the state is checked after every turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import assert_never

from attrs import evolve

from rain.base.ids import ObjectId, session_of
from rain.base.wire.answers import GovernorReport
from rain.base.wire.update import Monitoring
from rain.governor.core.account import account_of, by_name
from rain.governor.core.check import check
from rain.governor.core.effects import Effect
from rain.governor.core.events import (
    BuiltinDone,
    BuiltinPrepared,
    CallsDone,
    CallsTakenBack,
    CallWaits,
    CopyMade,
    Drain,
    Event,
    ExecutorDied,
    ExecutorEvent,
    ExecutorReady,
    FetchFailed,
    FileEvent,
    FilesDeleted,
    LookedUp,
    MemorySampled,
    ObjectFetched,
    ObjectsCached,
    OrdersReceived,
    OutputsKept,
    ProcessesLeft,
    RareEvent,
    Sampled,
    SentFar,
    Tick,
)
from rain.governor.core.nodes import DataObject, Task
from rain.governor.core.numbers import Numbers
from rain.governor.core.outbox import HEAVY
from rain.governor.core.progress import look_around
from rain.governor.core.reactor_settings import DataLimits, Offer, PoolSettings
from rain.governor.core.spares import Spares
from rain.governor.core.state import State
from rain.governor.core.tiers import Tiers

MUCH = 1024 * 1024
"""With more bytes of objects than this, the free space of the disk is read before each turn."""

HEARTBEAT = 2.0
"""Seconds without news after which the governor sends a heartbeat."""


class Reactor:
    """The governor as a state machine without I/O."""

    def __init__(
        self,
        offer: Offer,
        settings: PoolSettings,
        limits: DataLimits,
        *,
        now: float,
        checking: bool = False,
    ) -> None:
        self.state = State(offer, settings, limits, now)
        self._last_update = now
        self._next_look = inf
        self._after_turn: Callable[[State], None] | None = check if checking else None

    def turn(
        self, now: float, events: Sequence[Event], free: float = inf, memory: float = inf
    ) -> list[Effect]:
        """Applies the events and returns the effects.

        The store's disk has `free` bytes left; it need only be asked while `stores_much`. The
        machine has `memory` bytes left; it need only be asked while `tiers.used`.
        """
        state = self.state
        objects, pool, outbox = state.objects, state.pool, state.outbox
        state.now = objects.now = pool.now = now
        for event in events:
            # These two occur for every task.
            if isinstance(event, OrdersReceived):
                state.on_orders(event.orders)
            elif isinstance(event, CallsDone):
                state.on_calls_done(event)
            else:
                self._apply(event)
        if objects.lingering.expiry <= now:
            objects.expire()
        state.watch_disk(free)
        if objects.files.tiers.used:
            state.spilling.spill(memory, now)
        if objects.fetches.queue.ranks:
            objects.start_fetches()
        if state.dispatch.deadlines:
            state.dispatch.end_late_runs(now)
        state.hand_out()
        self._next_look = look_around(pool, outbox) if pool.busy else inf
        if len(pool.executors) > pool.warm:
            pool.reap()
        if state.stopping.leaving:
            state.stopping.end_strays()
        news = outbox.has_news()
        if news or now - self._last_update >= HEARTBEAT:
            self._last_update = now
            outbox.send_update(now, news=news)
        effects = outbox.take()
        if self._after_turn is not None:
            self._after_turn(state)
        return effects

    def next_time(self) -> float:
        """When the next turn is due even without events."""
        deadlines = self.state.dispatch.deadlines
        return min(
            self._last_update + HEARTBEAT,
            self._next_look,
            self.state.objects.lingering.expiry,
            min(deadlines.values(), default=inf),
        )

    @property
    def is_busy(self) -> bool:
        """Whether any task runs."""
        return bool(self.state.pool.busy or self.state.dispatch.runs)

    @property
    def stores_much(self) -> bool:
        """Whether the stored data could fill a disk."""
        objects = self.state.objects
        much = objects.lingering.bytes >= MUCH or objects.files.disk.used >= MUCH
        return much or bool(self.state.back_pressure.held)

    @property
    def tiers(self) -> Tiers:
        """The files in shared memory."""
        return self.state.objects.files.tiers

    @property
    def spares(self) -> Spares:
        """How many bytes of deleted files may be kept."""
        return self.state.objects.files.spares

    def room_for_each(self) -> int:
        """How large a new file in shared memory may be, if all who may make one do."""
        makers = len(self.state.pool.busy) + len(self.state.objects.fetches.going)
        return self.tiers.room // max(makers, 1)

    @property
    def numbers(self) -> Numbers:
        """How far the orders and the news are; the border asks when it resumes."""
        return self.state.outbox.numbers

    def report(self, address: str) -> GovernorReport:
        """The facts about this governor that `get_server_info` shows."""
        report = self.state.report(address)
        return evolve(report, memory=account_of(self.state), running=by_name(self.state))

    def calls_of(self, executor: int) -> Sequence[Task]:
        """Returns the calls of an executor, in the order in which it works."""
        found = self.state.pool.executors.get(executor)
        return () if found is None else tuple(found.calls)

    def far(self, object_id: ObjectId) -> int:
        """Returns the number of an object in the far store that is only there, else 0."""
        session = self.state.sessions.get(session_of(object_id))
        target = None if session is None else session.objects.get(object_id)
        return 0 if target is None or target.content is not None else target.far

    def find(self, object_id: ObjectId) -> DataObject | None:
        """Returns the object if it is completely here."""
        return self.state.find(object_id)

    def _with_ours(self, machine: Monitoring) -> Monitoring:
        """Adds the shares of tasks and data objects to a sample of the machine's load."""
        files = self.state.objects.files
        shared = files.tiers.used
        return evolve(
            machine,
            task_memory=self.state.pressure.used(),
            memory_bytes=shared,
            disk_bytes=max(files.disk.used - shared, 0),
        )

    def _apply(self, event: RareEvent) -> None:
        state = self.state
        match event:
            case BuiltinDone():
                state.on_builtin_done(event)
            case BuiltinPrepared(run):
                state.dispatch.run_prepared(run)
            case ObjectFetched(fetch, content):
                state.objects.fetched(fetch, content)
            case FetchFailed(fetch, reason, here=True):
                state.on_not_stored(fetch, reason)
            case FetchFailed(fetch):
                state.objects.fetch_failed(fetch)
            case Sampled(monitoring):
                state.outbox.update.monitoring.append(self._with_ours(monitoring))
            case MemorySampled():
                state.pressure.sampled(event)
            case Drain():
                state.drain()
            case Tick():
                pass  # the time was set; every turn checks what is due
            case LookedUp() | OutputsKept() | CopyMade() | FilesDeleted() | SentFar():
                self._apply_of_files(event)
            case _:
                self._apply_of_executor(event)
        if state.outbox.weight > HEAVY:
            state.outbox.send_update(state.now)

    def _apply_of_files(self, event: FileEvent) -> None:
        state = self.state
        match event:
            case LookedUp():
                state.on_looked_up(event)
            case OutputsKept(number):
                state.on_outputs_kept(number)
            case CopyMade():
                state.spilling.copied(event, state.now)
            case FilesDeleted(files):
                state.objects.files.disk.deleted(files)
            case SentFar():
                state.objects.offloading.sent(event, state.now, state.spilling.pinned)

    def _apply_of_executor(self, event: ExecutorEvent) -> None:
        state, pool = self.state, self.state.pool
        match event:
            case ObjectsCached():
                state.on_objects_cached(event)
            case CallsTakenBack(executor, unstarted):
                pool.taken_back(executor, unstarted)
            case CallWaits(executor, waits=True):
                pool.block(executor)
            case CallWaits(executor):
                pool.resume(executor)
            case ProcessesLeft(executor):
                pool.has_left_processes(executor)
            case ExecutorReady(executor):
                pool.executor_ready(executor)
            case ExecutorDied():
                state.deaths.died(event)
            case _:
                assert_never(event)
