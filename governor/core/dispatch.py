"""Decides what runs next and where: free resources go to the ready tasks in the order of rank.

Rank is the scheduler's priority, then arrival. It compares the tasks of all sessions. The priority
that a user gives (`TaskKind.priority`) only counts within the user's session: the ready tasks of a
session exchange their ranks, so that the largest priority gets the first one. So large numbers give
no user a larger share of the governor.

If the next task of a group does not fit, groups of lower rank may run first, but their executors
get no further calls queued: their calls end soon (see `pool`), and the freed resources go to the
group of the highest rank that fits.

**Tasks whose outputs have no room on the disk are held back** (`back_pressure`): they leave their
groups meanwhile, so that others come to their turn.

**Memory goes to the task that has come first.** A task gets all the memory that it needs, or does
not start (`claims`). If the next task does not fit, no later task that needs memory overtakes it,
even if it would fit: a large task must not wait forever while small ones come and go. Tasks that
need no memory go on.
"""

from __future__ import annotations

from rain.base.environment import Environment
from rain.base.errors import InvariantError
from rain.base.ids import SessionId
from rain.base.resources import Resources
from rain.governor.core.back_pressure import BackPressure
from rain.governor.core.calling import Calls, accepts, builtin_input, can_follow
from rain.governor.core.effects import RunBuiltin, StopBuiltin
from rain.governor.core.gpus import Lent
from rain.governor.core.nodes import LAST_RANK, Executor, Rank, ReadyGroup, Session, Task
from rain.governor.core.objects import Objects
from rain.governor.core.outbox import Outbox
from rain.governor.core.pool import Pool
from rain.governor.core.progress import takes_more
from rain.governor.core.tables import TaskMove, TaskRow


class Dispatch:
    """Groups of ready tasks, and the tasks that run inside the governor."""

    def __init__(self, outbox: Outbox, pool: Pool, calls: Calls, objects: Objects) -> None:
        self._outbox = outbox
        self._calls = calls
        self._pool = pool
        self._free = pool.free
        self.groups: dict[tuple[str, Resources], ReadyGroup] = {}
        self.runs: dict[int, Task] = {}  # tasks inside the governor, including stopped ones
        self.began: dict[int, float] = {}  # when each of them was started
        self.memory: dict[int, int] = {}  # what they had when last looked at
        self.gpus_of_runs: dict[int, Lent] = {}  # only for runs that have gpus
        self.deadlines: dict[int, float] = {}  # only of runs that may take so long and no longer
        self._run_count = 0
        self.with_priorities: dict[SessionId, Session] = {}  # those whose tasks have priorities
        self.back_pressure = BackPressure(objects, pool, self.runs)

    def group(
        self, runner: str, resources: Resources, environment: Environment | None = None
    ) -> ReadyGroup:
        """Returns the group of tasks with these needs, for one more kind, or a task of its own.

        The name of the runner says which environment it is.
        """
        key = (runner, resources)
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = ReadyGroup(runner, resources, environment)
        group.kinds += 1
        return group

    def leave_group(self, group: ReadyGroup) -> None:
        """A kind of this group was forgotten, or has another one."""
        group.kinds -= 1
        self._prune(group)

    def _prune(self, group: ReadyGroup) -> None:
        if not group.kinds and not group.leased:
            del self.groups[group.runner, group.resources]

    def dispatch(self) -> None:
        """Starts all tasks that can run now, at the end of a turn."""
        self._pool.turn += 1
        back_pressure = self.back_pressure
        back_pressure.begin()
        self._start_all()
        if back_pressure.may_wait:
            ready = any(group.count for group in self.groups.values())
            if back_pressure.unblock(ready=ready):
                self._start_all()

    def _start_all(self) -> None:
        pool = self._pool
        for session in self.with_priorities.values():
            put_in_order(session)
        active: list[ReadyGroup] = []
        unknown: list[ReadyGroup] = []
        for group in self.groups.values():
            if group.count:
                active.append(group)
            elif not group.kinds:
                unknown.append(group)
        for group in unknown:
            self._prune(group)
        if active:
            limit = self._grant(active)
            if self._pool.lending.blocked:
                active = []  # whatever is queued behind a call would not ask for lent cpus
            for group in active if len(active) == 1 else sorted(active, key=ReadyGroup.rank):
                if group.count and group.leased and not group.leased[0].one_by_one:
                    self._deepen(group, limit)
        for executor in pool.busy.values():
            if executor.followers and not executor.one_by_one:
                self._follow(executor)
        self._calls.effects.clear()

    def _grant(self, active: list[ReadyGroup]) -> Rank:
        """Gives free resources to tasks by rank; returns the rank of the first blocked group.

        Where only an executor is missing, one is started, and resources are reserved for it until
        the end of this loop, so that no more executors are started than can work.
        """
        limit = LAST_RANK
        starting: dict[str, int] | None = None  # counted on demand
        promised: list[tuple[ReadyGroup, int]] = []
        open_groups = active.copy()
        waits_for_memory = False
        while open_groups:
            one = len(open_groups) == 1
            group = open_groups[0] if one else min(open_groups, key=ReadyGroup.rank)
            if group.first().kind.makes and not self._admit_first(group):
                open_groups.remove(group)
                continue
            if (waits_for_memory and group.memory) or not self._may_start(group):
                limit = min(limit, group.rank())
                waits_for_memory = waits_for_memory or self._free.lacks_memory(group.memory)
            elif group.runner == "":
                self._run(self._pop(group))
                if group.count:
                    continue
            elif (executor := self._pool.take_idle(group)) is not None:
                self._pool.lease(executor, group, self._pop(group))
                if group.count:
                    continue
            else:
                if starting is None:
                    starting = self._starting()
                promised.append((group, self._promise(group, starting)))
            open_groups.remove(group)
        for group, count in promised:
            for _ in range(count):
                self._free.give_back(group.resources)
        return limit

    def _admit_first(self, group: ReadyGroup) -> bool:
        """Holds back what has no room on the disk; says whether a task is left that has."""
        back_pressure = self.back_pressure
        while group.count:
            if back_pressure.admits(group.first()):
                return True
            back_pressure.hold(group.pop())
        return False

    def _pop(self, group: ReadyGroup) -> Task:
        """Takes the next task of a group, which starts."""
        task = group.pop()
        if task.kind.makes:
            self.back_pressure.started(task)
        return task

    def _may_start(self, group: ReadyGroup) -> bool:
        """Whether the first task of the group may run now."""
        if not self._free.has(group.resources) and not self._all_wait(group):
            return False
        lending = self._pool.lending
        if not lending.blocked:
            return True
        return lending.allows(group.resources, -group.rank()[0], self._pool.now)

    def _all_wait(self, group: ReadyGroup) -> bool:
        """Whether only memory is missing, and nothing that runs will free any.

        All that runs waits for other tasks, or nothing runs and others have the memory of the
        machine. One task may start then, or it would perhaps wait for ever.
        """
        blocked = self._pool.lending.blocked
        return (
            (bool(blocked) or bool(self._free.withheld))
            and len(blocked) == len(self._pool.busy)
            and not self.runs
            and self._free.lacks_memory(group.memory)
            and self._free.has_all_but_memory(group.resources)
        )

    def _starting(self) -> dict[str, int]:
        starting: dict[str, int] = {}
        for executor in self._pool.executors.values():
            if not executor.ready and not executor.dying:
                starting[executor.runner] = starting.get(executor.runner, 0) + 1
        return starting

    def _promise(self, group: ReadyGroup, starting: dict[str, int]) -> int:
        """Reserves resources for executors that are starting, and starts the missing ones."""
        count = 0
        while count < group.count and self._may_start(group):
            if starting.get(group.runner):
                starting[group.runner] -= 1
            else:
                self._pool.start_for(group)
            self._free.take(group.resources)
            count += 1
        return count

    def _deepen(self, group: ReadyGroup, limit: Rank) -> None:
        """Queues further calls at the executors of a group, a fair share at each."""
        refill = group.rank() <= limit
        call = self._calls.call
        takers = [
            executor
            for executor in group.leased
            if (refill or executor.leased_in == self._pool.turn)
            and takes_more(executor, self._pool.now)
        ]
        for position, executor in enumerate(takers):
            share = -(-group.count // (len(takers) - position))
            while share and accepts(executor, task := group.first()):
                share -= 1
                if task.kind.makes and not self.back_pressure.admits(task):
                    self.back_pressure.hold(group.pop())
                else:
                    call(executor, self._pop(group))

    def _follow(self, executor: Executor) -> None:
        """Sends followers; each may have followers of its own."""
        if not takes_more(executor, self._pool.now):
            return
        followers = executor.followers
        while followers and accepts(executor, followers[0]):
            task = followers.popleft()
            if not can_follow(task, executor):
                continue
            if task.kind.makes:
                if not self.back_pressure.admits(task):
                    continue
                self.back_pressure.started(task)
            self._calls.call(executor, task, TaskMove.FOLLOW)

    def _run(self, task: Task) -> None:
        """Starts a task inside the governor."""
        known = task.kind
        self._free.take(task.group.resources)
        task.move(TaskMove.START)
        self._run_count += 1
        task.run = self._run_count
        self.runs[task.run] = task
        self.began[task.run] = self._pool.now
        task.reported = True
        self._outbox.started(task, self._pool.now)
        if known.kind.attempts.timeout and not known.kind.environment:
            self.deadlines[task.run] = self._pool.now + known.kind.attempts.timeout
        inputs = tuple(builtin_input(data_object) for data_object in task.inputs)
        gpus: Lent = ()
        if task.group.gpus:
            gpus = self.gpus_of_runs[task.run] = self._pool.gpus.take(task.group.gpus)
        shown = self._pool.gpus.shown(gpus)
        self._outbox.effects.append(
            RunBuiltin(task.run, task.id, known.kind, task.config, inputs, known.outputs, shown)
        )

    def run_prepared(self, run: int) -> None:
        """The environment of a run is ready. The time to make it does not count for the task."""
        task = self.runs[run]
        self.began[run] = self._pool.now
        timeout = task.kind.kind.attempts.timeout
        if timeout and task.row is TaskRow.RUNNING:
            self.deadlines[run] = self._pool.now + timeout

    def end_late_runs(self, now: float) -> None:
        """Runs inside the governor whose time is over are ended, and fail when they have."""
        for run in [run for run, deadline in self.deadlines.items() if deadline <= now]:
            del self.deadlines[run]
            task = self.runs[run]
            if task.row is TaskRow.RUNNING:  # else it is being cancelled
                task.move(TaskMove.TIME_OUT)
                self._outbox.effects.append(StopBuiltin(run, timed_out=True))

    def run_ended(self, run: int) -> Task:
        """A run inside the governor has ended."""
        task = self.runs.pop(run, None)
        if task is None:
            raise InvariantError(f"the run {run} has ended, but was never started")
        task.run = 0
        del self.began[run]
        self.memory.pop(run, None)
        self.deadlines.pop(run, None)
        self._free.give_back(task.group.resources)
        self._pool.gpus.give_back(self.gpus_of_runs.pop(run, ()))
        return task


def put_in_order(session: Session) -> None:
    """Shares out the ranks of the session's ready tasks, if any has become ready since."""
    if not session.unordered:
        return
    session.unordered = False
    ready = [task for task in session.tasks.values() if task.row is TaskRow.READY]
    ranks = sorted(task.rank for task in ready)
    ready.sort(key=_by_priority)
    moved: dict[int, Task] = {}
    for task, rank in zip(ready, ranks, strict=True):
        if task.rank != rank:
            task.rank = rank
            moved[id(task.group)] = task
    for task in moved.values():
        task.group.sort()


def _by_priority(task: Task) -> tuple[int, tuple[int, int, int]]:
    return -task.kind.kind.priority, task.rank
