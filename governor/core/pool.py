"""Decides which executor processes exist, and which group each works for. No I/O.

**Leases.** An executor runs one task at a time. While it has calls it holds the resources of one
task of its group (the tasks with equal needs), and all its calls belong to that group (see
`calling`).

**Gpus** are lent with a lease: all calls of one lease use the same gpus, one call after the other.

**To stop a task**, the unstarted calls of its executor are taken back. If the task was among them,
it is stopped. If not, it is running, and is interrupted (see `cancelling`). When an executor dies,
the one call that was started and not answered has failed, and the others run elsewhere.

**Idle executors** stay warm, one for each cpu. If there are more processes, those that were idle
for `idle_seconds` are ended, the longest idle first: an unused process still holds memory, and
perhaps a gpu.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from rain.base.environment import Environment
from rain.base.ids import SessionId, session_of
from rain.base.resources import Resources
from rain.governor.core.calling import Calls, start_oldest
from rain.governor.core.cancelling import interrupt, refuse_wait
from rain.governor.core.effects import KillExecutor, StartExecutor, TakeBackCalls
from rain.governor.core.gpus import Gpus
from rain.governor.core.nodes import Executor, ReadyGroup, Task
from rain.governor.core.outbox import Outbox
from rain.governor.core.reactor_settings import PoolSettings
from rain.governor.core.resources import FreeResources, Lending, most_blocked
from rain.governor.core.results import Content
from rain.governor.core.tables import BEING_ENDED, TaskMove, TaskRow


def surplus(idle: Iterable[Executor], count: int, long_ago: float) -> list[Executor]:
    """At most `count` executors that have been idle since `long_ago`, the longest idle first."""
    rested = [executor for executor in idle if executor.idle_since <= long_ago]
    rested.sort(key=lambda executor: (executor.idle_since, executor.id))
    return rested[: max(count, 0)]


def _folders(group: ReadyGroup) -> tuple[Content, ...]:
    """The content of the environment of a group, which its ready tasks read."""
    if group.environment is None or not group.environment.folders:
        return ()
    read = group.first().inputs[-group.environment.folders :]
    return tuple(target.content for target in read if target.content is not None)


class Pool:
    """The executors, their leases, and the resources that the leases hold."""

    def __init__(
        self,
        outbox: Outbox,
        calls: Calls,
        capacity: Resources,
        gpus: Gpus,
        settings: PoolSettings,
    ) -> None:
        self._outbox = outbox
        self._calls = calls
        self._settings = settings
        self.warm = max(capacity.cpus, 1)  # as many executors are always kept
        self.free = FreeResources(capacity)
        most = settings.most_blocked
        self.lending = Lending(self.free, most_blocked(capacity.cpus) if most is None else most)
        self.gpus = gpus
        self.now = 0.0
        self.executors: dict[int, Executor] = {}
        self.busy: dict[int, Executor] = {}  # those with calls, and so with a lease
        self.idle: dict[str, list[Executor]] = {}  # stacks: the last one to return is used first
        self._executor_count = 0
        self.turn = 0  # counts the dispatches

    # Handing out work.

    def start(
        self,
        runner: str,
        environment: Environment | None = None,
        folders: tuple[Content, ...] = (),
    ) -> None:
        """Starts an executor; it stays warm until it was idle for long (see `reap`)."""
        self._executor_count += 1
        one_by_one = runner in self._settings.one_by_one
        executor = Executor(self._executor_count, runner, environment, one_by_one)
        self.executors[executor.id] = executor
        self._outbox.effects.append(StartExecutor(executor.id, runner, environment, folders))

    def take_idle(self, group: ReadyGroup) -> Executor | None:
        """Takes an idle executor that can work for the group, if there is one.

        Libraries detect gpus once in the life of a process. So a task with gpus runs in a process
        that has used the same gpus before or none, never in one that has used others.
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

    def start_for(self, group: ReadyGroup) -> None:
        """Starts an executor for the group, in place of an idle one that cannot work for it."""
        idle = self.idle.get(group.runner)
        if idle:
            executor = idle.pop(0)
            executor.is_replaced = False  # it was replaced just now
            self.kill(executor)
        self.start(group.runner, group.environment, _folders(group))

    def lease(self, executor: Executor, group: ReadyGroup, task: Task) -> None:
        """Leases an idle executor to the group of the task, which is its first call."""
        self.free.take(group.resources)
        if group.gpus:
            executor.gpus = executor.seen_gpus = self.gpus.take(group.gpus, executor.seen_gpus)
        executor.group = group
        self.lending.moved(self.now)
        self.busy[executor.id] = executor
        executor.leased_in = self.turn
        executor.progress = self.now
        executor.is_replaced = True
        group.leased.append(executor)
        self._calls.call(executor, task)

    # Ends of work.

    def after_answers(self, executor: Executor) -> None:
        """All answers of an executor in this turn were applied."""
        self.lending.moved(self.now)
        executor.progress = self.now
        executor.overdue = executor.slow = False
        executor.grace_ends = inf  # what was interrupted was its only call
        if executor.calls:
            start_oldest(executor)
        else:
            self._release(executor)

    def _release(self, executor: Executor) -> None:
        """Ends the lease of an executor without calls; it becomes idle if it can."""
        executor.load = 0.0
        executor.overdue = False
        executor.grace_ends = inf
        if executor.followers:
            executor.followers.clear()
        group = executor.group
        if group is not None:
            self.lending.end(executor, self.now)
            executor.blocked_depth, executor.has_lent = -1, False
            executor.group = None
            del self.busy[executor.id]
            group.leased.remove(executor)
            self.free.give_back(group.resources)
            if executor.gpus:
                self.gpus.give_back(executor.gpus)
                executor.gpus = ()
            if not executor.recalling and not executor.dying:
                self._rest(executor)

    def _rest(self, executor: Executor) -> None:
        executor.idle_since = self.now
        self.idle.setdefault(executor.runner, []).append(executor)

    # Calls that wait for other tasks.

    def block(self, number: int) -> None:
        """The running call of an executor waits for other tasks, and lends its cpus.

        The calls queued behind it are taken back: they may run elsewhere, and it may wait for one
        of them.
        """
        executor = self.executors.get(number)
        if executor is None or not executor.calls or executor.blocked_depth >= 0:
            return  # it was killed, or user code has written to the executor's own socket
        task = executor.calls[0]
        if len(self.lending.blocked) >= self.lending.most:
            self._outbox.effects.append(refuse_wait(executor, self.lending.most))
            return
        self.lending.begin(executor, task.kind.kind.depth, self.now)
        if task.row is TaskRow.RUNNING:
            self._outbox.blocked(task, executor.progress)
        if len(executor.calls) > 1:
            self.recall(executor)

    def resume(self, number: int) -> None:
        """The call has what it waited for, and goes on."""
        executor = self.executors.get(number)
        if executor is None or executor.blocked_depth < 0:
            return
        executor.blocked_depth = -1
        self.lending.end(executor, self.now)
        if executor.calls[0].row is TaskRow.RUNNING:
            self._outbox.resumed(executor.calls[0])

    # Executors that come and go.

    def executor_ready(self, number: int) -> None:
        """An executor has registered."""
        executor = self.executors.get(number)
        if executor is not None and not executor.dying:
            executor.ready = True
            self._rest(executor)

    def reap(self) -> None:
        """Ends executors that were idle for long, but keeps one warm process per cpu."""
        living = [executor for executor in self.executors.values() if not executor.dying]
        idle = [executor for resting in self.idle.values() for executor in resting]
        long_ago = self.now - self._settings.idle_seconds
        for executor in surplus(idle, len(living) - self.warm, long_ago):
            self.idle[executor.runner].remove(executor)
            executor.is_replaced = False
            self.kill(executor)

    def recall(self, executor: Executor) -> None:
        """Takes back all calls that the executor has not started."""
        if not executor.recalling and not executor.dying:
            executor.recalling = True
            self._outbox.effects.append(TakeBackCalls(executor.id))

    def taken_back(self, number: int, unstarted: int) -> None:
        """Some of the newest calls are back; an unwanted call that was started must end."""
        executor = self.executors.get(number)
        if executor is None:
            return
        executor.recalling = False
        self._calls.return_unstarted(executor, unstarted)
        if executor.calls:
            start_oldest(executor)
            if executor.calls[0].row in BEING_ENDED:
                self._interrupt(executor)
        elif executor.group is not None:
            executor.slow = unstarted > 0
            self._release(executor)
        elif not executor.dying:
            self._rest(executor)

    def died(self, number: int, unstarted: int) -> tuple[Executor, list[Task]] | None:
        """An executor has ended: returns the calls that it had started and not answered.

        Calls that it had not started are ready again. An executor that has ever had work is
        replaced at once; any other is started again only when it is needed.
        """
        executor = self.executors.pop(number, None)
        if executor is None:
            return None
        self._calls.return_unstarted(executor, unstarted)
        started = list(executor.calls)
        for task in started:
            task.executor = None
        executor.dying = True
        if executor.group is not None:
            self._release(executor)
        elif executor.ready and executor in self.idle.get(executor.runner, ()):
            self.idle[executor.runner].remove(executor)
        executor.forget_all()
        if executor.is_replaced:
            self.start(executor.runner, executor.environment)
        return executor, started

    def forget_session(self, session: SessionId) -> None:
        """Tells executors to forget the kinds of a session."""
        for executor in self.executors.values():
            kinds = executor.known_kinds
            kept = {kind for kind in kinds if session_of(kind) != session}
            if len(kept) < len(kinds):
                executor.known_kinds = kept
                self._outbox.forgotten.setdefault(executor.id, []).append(session)

    def _interrupt(self, executor: Executor) -> None:
        """Ends the only call that an executor has, if need be with the executor."""
        grace = executor.calls[0].grace
        if grace is None:
            grace = self._settings.grace
        if executor.one_by_one or grace <= 0:
            self.kill(executor)
        elif not executor.dying and executor.grace_ends == inf:
            self._outbox.effects.append(interrupt(executor, self.now + grace))

    def time_out(self, executor: Executor) -> None:
        """The running call has exceeded its time limit: it is ended, and then has failed."""
        executor.calls[0].move(TaskMove.TIME_OUT)
        self.recall(executor)

    def has_left_processes(self, number: int) -> None:
        """The interrupted call has ended, but has left processes behind, which are killed now."""
        executor = self.executors.get(number)
        if executor is not None:
            self.kill(executor)

    def kill(self, executor: Executor) -> None:
        """Kills an executor because of the task that it runs."""
        if not executor.dying:
            executor.dying = True
            executor.grace_ends = inf
            self._outbox.effects.append(KillExecutor(executor.id))
