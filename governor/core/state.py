"""The governor's state: applies each event in plain functions.

Tasks wait until their inputs are here (`objects`), then for resources (`dispatch`), then they run
in an executor (`pool`) or inside the governor, and end (`endings`), unless they are stopped before
(`stopping`) or their executor dies (`executor_deaths`).
"""

from __future__ import annotations

from math import inf

from rain.base.errors import InvariantError, ProtocolError
from rain.base.ids import NUMBER_BITS, ObjectId, SessionId, TaskId, session_of, spell
from rain.base.memory import MEASURED_FROM
from rain.base.runs import RunCause
from rain.base.wire.answers import GovernorReport
from rain.base.wire.orders import Orders
from rain.governor.core.arrivals import Arrivals
from rain.governor.core.asked_back import AskedBack
from rain.governor.core.back_pressure import bytes_read
from rain.governor.core.calling import Calls, mapped_size
from rain.governor.core.claims import Claims
from rain.governor.core.dispatch import Dispatch
from rain.governor.core.endings import OVER, Endings, never_fits
from rain.governor.core.events import BuiltinDone, CallsDone, LookedUp, ObjectsCached
from rain.governor.core.executor_deaths import ExecutorDeaths
from rain.governor.core.gpus import Gpus
from rain.governor.core.making_way import MakingWay
from rain.governor.core.nodes import DataObject, Session, Task
from rain.governor.core.objects import Objects
from rain.governor.core.outbox import HEAVY, Outbox
from rain.governor.core.pool import Pool
from rain.governor.core.pressure import Pressure
from rain.governor.core.progress import settled
from rain.governor.core.reactor_settings import DataLimits, Offer, PoolSettings
from rain.governor.core.results import Failed, NotRun
from rain.governor.core.spilling import Spilling
from rain.governor.core.stopping import Stopping
from rain.governor.core.tables import BEING_ENDED, TaskRow

_FOLLOWING = TaskRow.FOLLOWING
_CANCELLING = TaskRow.CANCELLING


class State:
    """The whole state. `now` is the time of the turn."""

    def __init__(
        self,
        offer: Offer,
        settings: PoolSettings,
        limits: DataLimits,
        now: float,
    ) -> None:
        self.outbox = Outbox()
        self.sessions: dict[SessionId, Session] = {}
        self.capacity = capacity = offer.resources
        self.drains = False  # it is about to leave, and starts nothing any more
        self.drain_reported = False
        self.objects = Objects(self.outbox, limits)
        lent = Gpus.of(capacity, offer.gpus)
        self._calls = Calls(self.outbox, lent)
        self.pool = Pool(self.outbox, self._calls, capacity, lent, settings)
        self.dispatch = Dispatch(self.outbox, self.pool, self._calls, self.objects)
        self.back_pressure = self.dispatch.back_pressure
        self.spilling = Spilling(self.outbox, self.objects, self.pool, self.dispatch)
        self.making_way = MakingWay(self.sessions, self.objects, self.back_pressure)
        self._endings = Endings(self.outbox, self.objects)
        self.asked_back = AskedBack(self.outbox, self.pool, self._endings, self.back_pressure)
        self.stopping = Stopping(
            self.sessions,
            self.outbox,
            self.objects,
            self.dispatch,
            self.pool,
            self._endings,
            self.asked_back,
        )
        self._claims = Claims(capacity, self.dispatch)
        self.pressure = Pressure(self.outbox, self.pool, self.dispatch, self._claims)
        self.deaths = ExecutorDeaths(
            self.outbox, self.pool, self._calls, self.dispatch, self._endings, self.pressure
        )
        self._arrivals = Arrivals(
            capacity,
            settings,
            self.sessions,
            self.objects,
            self.dispatch,
            self._endings,
            self._claims,
        )
        self.now = self.objects.now = self.pool.now = now  # of the turn

    # Orders, from top to bottom.

    def on_orders(self, orders: Orders) -> None:
        """Applies orders of the server; raises `ProtocolError` if they make no sense."""
        if not orders.number or self.outbox.numbers.is_new(orders):
            self._apply(orders)

    def _apply(self, orders: Orders) -> None:
        forgotten = [
            target
            for session_id in orders.forget_sessions
            for target in self.stopping.forget_session(session_id)
        ]
        if orders.stop_ids or orders.cancelled.ids or orders.asked.ids:
            self.stopping.apply(orders)
        for target in forgotten:
            if target.consumers:
                raise ProtocolError(
                    f"the object {spell(target.id)} is forgotten with its session,"
                    " and a task of another session reads it"
                )
        if orders.drops:
            self._drop(orders.drops)
        for object_kind in orders.object_kinds:
            self._arrivals.learn_object_kind(object_kind)
        for task_kind in orders.task_kinds:
            self._arrivals.learn_task_kind(task_kind)
        if orders.objects.ids:
            self._arrivals.place(orders.objects)
        if orders.lent.ids:
            self._arrivals.lend(orders.lent)
        if orders.tasks.ids:
            self._arrivals.assign(orders.tasks)

    def _drop(self, object_ids: list[ObjectId]) -> None:
        session: Session | None = None  # usually the same for all tasks
        for object_id in object_ids:
            if session is None or object_id >> NUMBER_BITS != session.id:
                session = self.sessions.get(session_of(object_id))
            if session is not None:
                self.objects.drop(session, object_id)

    # How tasks end.

    def on_calls_done(self, event: CallsDone) -> None:
        """An executor has answered its oldest calls."""
        pool = self.pool
        executor = pool.executors.get(event.executor)
        if executor is None:
            raise InvariantError(f"the executor {event.executor} is not known")
        if executor.blocked_depth >= 0:
            pool.resume(executor.id)
        calls = executor.calls
        notes = {note.task: note for note in event.notes} if event.notes else None
        durations, results = event.durations, event.results
        starts = event.starts or [self.now - seconds for seconds in durations]
        peaks = event.peaks
        for place, task_id in enumerate(event.tasks):
            result = results[place]
            task = calls[0] if calls else None
            if (
                task is None
                or task.id != task_id
                # It says that it has run a call without its inputs.
                or (task.row is _FOLLOWING and not isinstance(result, NotRun))
            ):
                # User code has written to the executor's own descriptors.
                pool.kill(executor)
                break
            calls.popleft()
            executor.answered += 1
            task.executor = None
            executor.load -= task.cost
            if isinstance(result, NotRun):
                self._calls.not_run(task)
                continue
            duration = durations[place]
            if duration < MEASURED_FROM:
                task.peak = 0  # what its executor had is not what it has taken
            elif peaks:
                mapped = max(mapped_size(task), task.mapped - event.mapped)
                task.peak = max(task.peak, peaks[place] - mapped)
            if task.row not in BEING_ENDED:  # else it was not let do all of its work
                task.meter.add(duration)
                if task.peak:
                    self._claims.learn(task)
            self._endings.end(task, starts[place], duration, result)
            if notes is not None and task_id in notes and task.row in OVER:
                self.outbox.note(notes[task_id])
            if self.outbox.weight > HEAVY:
                self.outbox.send_update(self.now)
        pool.after_answers(executor)

    def on_objects_cached(self, event: ObjectsCached) -> None:
        """An executor remembers objects; it is told at once which of them are gone already."""
        executor = self.pool.executors.get(event.executor)
        if executor is None:
            raise InvariantError(f"the executor {event.executor} is not known")
        for object_id in event.objects:
            target = self.find(object_id)
            if target is None:
                self.outbox.dropped.setdefault(executor.id, []).append(object_id)
            else:
                executor.remember(target)

    def on_builtin_done(self, event: BuiltinDone) -> None:
        """A run inside the governor has ended."""
        task = self.dispatch.run_ended(event.run)
        if task.peak and task.row is TaskRow.RUNNING:
            self._claims.learn(task)
        result = event.result
        if event.by_kernel is not None and isinstance(result, Failed):
            result = self.pressure.killed_by_kernel(task, event.by_kernel, result.status)
        self._endings.end(task, self.now - event.duration, event.duration, result)
        self._endings.note_logs(task, event.logs)

    def on_looked_up(self, event: LookedUp) -> None:
        """The cache has answered: the task has finished, or has to run."""
        task = self.objects.caching.answered(event)
        if event.outputs is not None:
            if task is None:
                self._endings.discard(event.outputs)
            else:
                self._endings.end(task, self.now, 0.0, event.outputs)

    def on_outputs_kept(self, number: int) -> None:
        """The cache has what a task has made: the task has finished."""
        kept = self.objects.caching.kept(number)
        if kept.task.row is TaskRow.KEEPING:
            self._endings.finish(kept.task, kept.start, kept.seconds, kept.outputs)
        else:
            self._endings.discard(kept.outputs)

    def on_not_stored(self, fetch: int, reason: str) -> None:
        """An object cannot be stored: the tasks that wait for it are handed back."""
        self.objects.reclaim()  # also if no task waits for it yet
        self._hand_back_readers(self.objects.shut_out(fetch), reason)

    def _hand_back_readers(self, target: DataObject | None, reason: str) -> None:
        """Tasks wait for an object that cannot be stored here: they are handed back."""
        if target is None or target.waiting is None:
            return
        message = f"the input {spell(target.id)} cannot be stored on its governor: {reason}"
        disk = self.objects.files.disk
        for task in dict.fromkeys(target.waiting):
            failure = Failed(message, cause=RunCause.NOT_STARTED)
            if disk.never_has(size := bytes_read(task)):
                failure = never_fits("what the task reads", size, disk)
            self._endings.fail(task, failure)

    def _shut_out_too_large(self) -> None:
        """Waits for no input that can never have room here."""
        fetches, disk = self.objects.fetches, self.objects.files.disk
        while fetches.wait_for_room():
            target = fetches.first()
            if target is None or not disk.never_has(target.size):
                return
            self._hand_back_readers(self.objects.shut_out_next(), "")

    def watch_disk(self, free: float) -> None:
        """The disk has `free` bytes left. What has waited for room for too long goes."""
        objects, back_pressure, disk = self.objects, self.back_pressure, self.objects.files.disk
        objects.clear_lingering(free)
        if free != inf:
            disk.set_free(free, objects.files.tiers.used)
        if disk.spills and disk.budget and disk.used:
            wanted = bool(back_pressure.held) or objects.fetches.wait_for_room()
            objects.offloading.send_away(self.now, self.spilling.pinned, wanted=wanted)
        self._shut_out_too_large()
        if back_pressure.is_stuck and back_pressure.is_given_up(self.now):
            back_pressure.give_up()
            if objects.fetches.wait_for_room():
                target = objects.shut_out_next()
                assert target is not None
                self._hand_back_readers(target, back_pressure.why_none_for_input(target))
            for task in list(back_pressure.held):
                why = back_pressure.why_none_for(task)
                back_pressure.leave(task)
                self._endings.fail(task, Failed(why, cause=RunCause.NOT_STARTED))

    # How the governor leaves.

    def drain(self) -> None:
        """From now on nothing is started; executors return what they have not started."""
        self.drains = True
        self.objects.fetches.chosen = None
        for executor in self.pool.busy.values():
            if len(executor.calls) > 1:
                self.pool.recall(executor)

    def hand_out(self) -> None:
        """Starts what can run, or tells the server once, with all that runs, that nothing will.

        Before that, what was asked back goes.
        """
        if self.asked_back.asked:
            self.asked_back.answer()
        self.pool.lending.begin_turn()
        if not self.drains:
            self.dispatch.dispatch()
            self.making_way.make_way(self.now, self.spilling.pinned)
            self.outbox.holds_back = self.back_pressure.words
            self.outbox.is_full = self.back_pressure.is_full
        elif not self.drain_reported and self._settled():
            self.drain_reported = self.outbox.update.drains = True

    def _settled(self) -> bool:
        return not self.objects.caching.keeping and settled(self.pool, self.outbox)

    # How things stand.

    def report(self, address: str) -> GovernorReport:
        """The report for `get_server_info`; outputs that are not made yet count as objects."""
        tasks: list[TaskId] = []
        objects: list[ObjectId] = []
        for session in self.sessions.values():
            tasks.extend(session.tasks)
            objects.extend(
                target.id
                for target in session.objects.values()
                if target.content is not None or target.producer is not None or target.far
            )
        return GovernorReport(
            address,
            tuple(tasks),
            tuple(objects),
            tuple(target.id for target in self.objects.lingering.times),
            tuple(self.capacity.items()),
        )

    def running(self, task_id: TaskId) -> Task | None:
        """Returns the task if it runs here.

        As long as other calls lie behind it, it may have ended already, and the next one runs. It
        has not run for long then: these calls are soon taken back (see `progress`).
        """
        session = self.sessions.get(session_of(task_id))
        task = None if session is None else session.tasks.get(task_id)
        return task if task is not None and _surely_runs(task) else None

    def all_running(self) -> list[Task]:
        """Returns all tasks that run here, as `running` does each."""
        in_hand = [executor.calls[0] for executor in self.pool.busy.values()]
        in_hand += self.dispatch.runs.values()
        return [task for task in in_hand if _surely_runs(task)]

    def find(self, object_id: ObjectId) -> DataObject | None:
        """Returns the object if it is completely here."""
        session = self.sessions.get(session_of(object_id))
        target = None if session is None else session.objects.get(object_id)
        return None if target is None or target.content is None else target


def _surely_runs(task: Task) -> bool:
    if task.row is not TaskRow.RUNNING:
        return False
    return task.executor is None or len(task.executor.calls) == 1
