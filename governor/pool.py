"""Which executor works on what: the decisions about executor processes, without any process.

**Leases.** An executor runs one task at a time. While it has calls it holds the resources of one
task of its group (the tasks with equal needs), and every call that it has in hand is of that group.

**Several calls in hand.** A round trip to the governor between two tasks of 20 microseconds would
cost ten times more than the tasks. So an executor gets more calls than one, as many as are expected
to last `QUEUE_AIM` together. The first task of a function always runs alone, since nobody knows how
long it lasts, and nothing waits behind a task that is expected to last longer than `LONGEST_AHEAD`.

**Gpus** are lent with a lease: all calls of one lease see the same ones, one call after the other.

**Who runs a call is decided once.** Each call is one token in a pipe from the governor to the
executor. The executor takes a token out before it starts a call; the governor takes calls back by
taking tokens out itself. The kernel gives each token to one of them, whatever the executor is busy
with and even after its death. So a call is never run twice and is never lost, and the governor
knows exactly which calls were started. Answers go through a pipe as well, which survives the
executor. When an executor dies, the one call that was started and not answered has failed, and the
others run elsewhere.

**A task that lasts much longer than expected** must not hold up those behind it: when an executor
with several calls has not answered for `STUCK_AFTER`, its unstarted calls are taken back and run
elsewhere, and it gets no others until it answers. To stop a task, the unstarted calls are taken
back too. If the task was among them, it is simply gone; if not, it is the one that runs, and its
executor is killed, which hits nobody else.

**Followers** are calls behind those that make their inputs (see `following`).

**Executors of other languages** have no such pipe: they get one call at a time, and what was sent
to one of them was started.

**Idle executors** stay warm, one for each cpu. When there are more processes than that, those that
were idle for `idle_seconds` go, the longest idle first.
"""

from __future__ import annotations

from math import inf

from rain.base.errors import InvariantError
from rain.base.ids import SessionId, session_of
from rain.base.resources import Resources
from rain.governor import following
from rain.governor.gpus import Gpus
from rain.governor.messages import (
    CallExecutor,
    KillExecutor,
    StartExecutor,
    TakeBackCalls,
)
from rain.governor.nodes import (
    Executor,
    Group,
    Task,
)
from rain.governor.outbox import Outbox
from rain.governor.reaping import IDLE_SECONDS, surplus
from rain.governor.resources import FreeResources
from rain.governor.rows import call_row
from rain.governor.tables import TASK_MOVES, TaskMove, TaskRow

QUEUE_AIM = 0.005
LONGEST_AHEAD = 0.01
STUCK_AFTER = 0.02
CALLS_AT_MOST = 500
TELL_AFTER = 0.01
"""Seconds after which a task that still runs is worth a message that it has started."""

_CALL = TASK_MOVES[TaskMove.CALL]
_CALLING = TaskRow.CALLING
_STOPPED = TaskRow.STOPPED
_RUNNING = TaskRow.RUNNING


class Pool:
    """Executors, the leases that they hold, and the resources that these take."""

    def __init__(
        self,
        outbox: Outbox,
        capacity: Resources,
        gpus: Gpus,
        one_by_one: frozenset[str] = frozenset(),
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._outbox = outbox
        self._one_by_one = one_by_one
        self._idle_seconds = idle_seconds
        self._warm = max(capacity.cpus, 1)
        self.free = FreeResources(capacity)
        self.gpus = gpus
        self.now = 0.0
        self.executors: dict[int, Executor] = {}
        self.idle: dict[str, list[Executor]] = {}  # the last one back is the first to go
        self._executor_count = 0
        self.turn = 0
        # Executors that may have come to another task in this turn, in a fixed order.
        self._touched: dict[int, Executor] = {}
        self._calls: dict[int, CallExecutor] = {}

    # Work that is handed out.

    def next_turn(self) -> None:
        """The hand-outs of another turn begin."""
        self.turn += 1

    def start(self, runner: str) -> None:
        """One more executor; it stays warm until it has long been idle (see `reap`)."""
        self._executor_count += 1
        executor = Executor(self._executor_count, runner, runner in self._one_by_one)
        self.executors[executor.id] = executor
        self._outbox.effects.append(StartExecutor(executor.id, runner))

    def take_idle(self, group: Group) -> Executor | None:
        """An idle executor that can work for the group, if there is one.

        Libraries look for gpus once in the life of a process. So what needs gpus runs where the
        same ones were used before, or none; never where the library still means others.
        """
        idle = self.idle.get(group.runner)
        if not idle:
            return None
        if not group.gpus:
            return idle.pop()
        chosen: Executor | None = None
        for executor in reversed(idle):
            if len(executor.seen_gpus) == group.gpus and self.gpus.are_free(executor.seen_gpus):
                chosen = executor
                break
            if not executor.seen_gpus and chosen is None:
                chosen = executor
        if chosen is not None:
            idle.remove(chosen)
        return chosen

    def start_for(self, group: Group) -> None:
        """One more executor for the group, in the place of an idle one that cannot work for it."""
        idle = self.idle.get(group.runner)
        if idle:
            executor = idle.pop(0)
            executor.progress = -1.0  # so that it is not replaced once more when it is gone
            self.kill(executor)
        self.start(group.runner)

    def lease(self, executor: Executor, group: Group) -> None:
        """An idle executor works for the group from now on, and gets its first call."""
        self.free.take(group.resources)
        if group.gpus:
            executor.gpus = executor.seen_gpus = self.gpus.take(group.gpus, executor.seen_gpus)
        executor.group = group
        executor.lease = self.turn
        executor.progress = self.now
        group.leased.append(executor)
        self.call(executor, group.pop())

    def call(self, executor: Executor, task: Task) -> None:
        """One more call for an executor; all calls of a turn leave together."""
        task.row = _CALL.end(task.row, task)
        self._append(executor, task)

    def follow(self, executor: Executor, task: Task) -> None:
        """The task waits for what calls of the executor make: it is called behind them."""
        task.move(TaskMove.FOLLOW)
        self._append(executor, task)

    def _append(self, executor: Executor, task: Task) -> None:
        task.executor = executor
        task.cost = task.meter.mean
        executor.load += task.cost
        executor.calls.append(task)
        self._touched[executor.id] = executor
        effect = self._calls.get(executor.id)
        if effect is None:
            gpus = self.gpus.shown(executor.gpus)
            effect = self._calls[executor.id] = CallExecutor(executor.id, [], [], [], [], gpus=gpus)
        effect.calls.append(call_row(executor, task, effect))
        following.called(task, executor)

    def send_calls(self) -> None:
        """The end of a turn: the calls leave, and executors have come to others."""
        self._outbox.effects.extend(self._calls.values())
        self._calls.clear()
        for executor in self._touched.values():
            if executor.calls and executor.calls[0].row is _CALLING:
                executor.calls[0].move(TaskMove.START)
        self._touched.clear()

    def tell_starts(self) -> None:
        """The server hears what has run for a while; of what is over sooner it hears the end.

        What was assigned before may have been lost with its governor, and may have been the reason:
        its start is told at once, so that it is known if it happens again.
        """
        update = self._outbox.update
        for executor in self.executors.values():
            task = _untold(executor)
            if task is not None and self.now >= _telling(executor, task):
                task.told = True  # once per attempt, also when it is taken back and called again
                update.started_ids.append(task.id)
                update.started_attempts.append(task.attempt)

    def next_telling(self) -> float:
        """When the server is to hear of another start; infinity for never."""
        return min(
            (
                _telling(executor, task)
                for executor in self.executors.values()
                if (task := _untold(executor)) is not None
            ),
            default=inf,
        )

    # Work that ends.

    def answered(self, executor: Executor) -> Task:
        """The executor has answered its oldest call."""
        task = executor.calls.popleft()
        task.executor = None
        executor.load -= task.cost
        return task

    def after_answers(self, executor: Executor) -> None:
        """All that an executor has said in this turn was applied."""
        executor.progress = self.now
        executor.overdue = False
        self._touched[executor.id] = executor
        self._release(executor)

    def _release(self, executor: Executor) -> None:
        """Ends the lease of an executor that has nothing to do; it becomes idle if it can."""
        if executor.calls:
            return
        executor.load = 0.0
        executor.overdue = False
        executor.followers.clear()
        group = executor.group
        if group is not None:
            executor.group = None
            group.leased.remove(executor)
            self.free.give_back(group.resources)
            self.gpus.give_back(executor.gpus)
            executor.gpus = ()
            if not executor.recalling and not executor.dying:
                self._rest(executor)

    def _rest(self, executor: Executor) -> None:
        executor.idle_since = self.now
        self.idle.setdefault(executor.runner, []).append(executor)

    # Executors that come and go.

    def executor_ready(self, number: int) -> None:
        """An executor has registered."""
        executor = self.executors.get(number)
        if executor is not None and not executor.dying:
            executor.ready = True
            self._rest(executor)

    def reap(self) -> None:
        """Ends executors that were idle for long, but for one warm process per cpu."""
        if len(self.executors) <= self._warm:
            return
        living = [executor for executor in self.executors.values() if not executor.dying]
        idle = [executor for resting in self.idle.values() for executor in resting]
        for executor in surplus(idle, len(living) - self._warm, self.now - self._idle_seconds):
            self.idle[executor.runner].remove(executor)
            executor.progress = -1.0  # so that it is not replaced when it is gone
            self.kill(executor)

    def recall(self, executor: Executor) -> None:
        """Takes back all calls that the executor has not started."""
        if not executor.recalling and not executor.dying:
            executor.recalling = True
            self._outbox.effects.append(TakeBackCalls(executor.id))

    def taken_back(self, number: int, unstarted: int) -> None:
        """So many of the newest calls are back; what was started and is not wanted is killed."""
        executor = self.executors.get(number)
        if executor is None:
            return
        executor.recalling = False
        self._return_calls(executor, unstarted)
        self._touched[executor.id] = executor
        if any(task.row is _STOPPED for task in executor.calls):
            self.kill(executor)
        elif executor.calls or executor.group is not None:
            self._release(executor)
        elif not executor.dying:
            self._rest(executor)

    def died(self, number: int, unstarted: int) -> tuple[Executor, list[Task]] | None:
        """An executor is gone: the calls that it had started and not answered are given back.

        Calls that it had not started are ready again. An executor that ever worked is replaced at
        once; one that did not is only started again when it is needed.
        """
        executor = self.executors.pop(number, None)
        if executor is None:
            return None
        self._return_calls(executor, unstarted)
        started = list(executor.calls)
        for task in started:
            task.executor = None
        executor.calls.clear()
        executor.dying = True
        if executor.group is not None:
            self._release(executor)
        elif executor.ready and executor in self.idle.get(executor.runner, ()):
            self.idle[executor.runner].remove(executor)
        executor.forget_all()
        if executor.progress >= 0:
            self.start(executor.runner)
        return executor, started

    def forget_session(self, session: SessionId) -> None:
        """Executors need not know the kinds of a session any more."""
        for executor in self.executors.values():
            kinds = executor.known_kinds
            kept = {kind for kind in kinds if session_of(kind) != session}
            if len(kept) < len(kinds):
                executor.known_kinds = kept
                self._outbox.forgotten.setdefault(executor.id, []).append(session)

    def kill(self, executor: Executor) -> None:
        """Ends an executor because of what it runs."""
        if not executor.dying:
            executor.dying = True
            self._outbox.effects.append(KillExecutor(executor.id))

    def _return_calls(self, executor: Executor, unstarted: int) -> None:
        if unstarted > len(executor.calls):
            raise InvariantError(f"{unstarted} unstarted calls of {executor!r}")
        for _ in range(unstarted):
            task = executor.calls.pop()
            task.executor = None
            executor.load -= task.cost
            self.not_run(task)

    def not_run(self, task: Task) -> None:
        """An executor has not run the task that it was given: it waits here again."""
        if task.row is not _STOPPED:
            task.move(TaskMove.TAKE_BACK)
            if not task.missing:
                task.kind.group.push(task)

    def notice_stuck(self) -> None:
        """Takes back what waits behind tasks that last much longer than expected."""
        for executor in self.executors.values():
            if (
                len(executor.calls) > 1
                and not executor.overdue
                and self.now - executor.progress >= STUCK_AFTER
            ):
                executor.overdue = True
                self.recall(executor)

    def is_queueing(self) -> bool:
        """Whether any executor has more than one call, so that time matters."""
        return any(len(executor.calls) > 1 for executor in self.executors.values())


def _untold(executor: Executor) -> Task | None:
    """What the executor runs, if the server has not heard of its start."""
    if not executor.calls:
        return None
    task = executor.calls[0]
    return task if task.row is _RUNNING and not task.told else None


def _telling(executor: Executor, task: Task) -> float:
    """When the server is to hear that the executor runs this task."""
    return executor.progress + (TELL_AFTER if task.attempt <= 1 else 0.0)
