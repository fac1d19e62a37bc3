"""Chooses what to kill when the tasks of a governor use too much memory.

When memory runs out, the kernel would kill any process, perhaps the governor with the work of all
tasks. So the governor samples the memory of its executors and programs (`memory_sampler`), and acts
earlier:

1. Cancelled tasks that still clean up are killed. 2. Idle executors that hold much memory are
ended. 3. Tasks are evicted until there is enough: first those that have more than they may, which
is what they declare, what they were found to need, or else the share of their cpus. The newest of
these is evicted first, and a task without a further try last. Small ones are spared, if others are
left.

A task with too many processes is evicted, too, whatever memory these have. That is its own fault.

If the machine is short of memory because of other programs, the same is done, but tasks within
their limits are spared, because they are not the reason. Only if the machine has so little memory
left that everything is about to stop (`CRITICAL`), these tasks are evicted as well, except for one:
then they run one after the other.

An evicted task is killed at once, since it could take more memory in its grace time. Its failure
has a cause of its own (`RunCause.MEMORY`), and its next run gets more memory (`rain.graph.needs`).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from attrs import frozen

from rain.base.memory import LIMIT_PERCENT, reserve_of
from rain.base.resources import MEMORY
from rain.base.runs import RunCause
from rain.base.sizes import spell_size
from rain.governor.core.claims import Claims
from rain.governor.core.dispatch import Dispatch
from rain.governor.core.effects import StopBuiltin
from rain.governor.core.events import KernelKill, MemorySampled
from rain.governor.core.nodes import Executor, Task
from rain.governor.core.outbox import Outbox
from rain.governor.core.pool import Pool
from rain.governor.core.results import Failed
from rain.governor.core.tables import TaskMove, TaskRow

CROWD = (
    "the task had {:,} processes at the same time and may have {:,}, so it was ended with all of"
    " them: let it start fewer, or start its governor with a larger --task-processes"
)

SPARED = 64
"""A task with less than this fraction of the memory is spared, if there is a larger one."""

RESTING = 64 * 1024 * 1024
"""An idle executor with fewer bytes is kept: a new process would cost more."""

RESTING_PARTS = 8
"""It is ended nevertheless if it has this fraction of a small memory."""

CRITICAL = 2
"""The machine has less than this fraction of what should be free: it drops the code of programs."""

NAMED = 3
"""How many neighbours of an evicted task a message names."""

KILLED_BY_KERNEL = "the kernel has killed the process of the task, because "
NOTHING_LEFT = "the machine or its control group had no memory left"
AT_THE_WALL = (
    "all tasks of its governor together had {}, which is the most that their control group may"
    " have (--memory and --store, and some more)"
)


@frozen
class MemoryHolder:
    """A running task and the memory that it has."""

    task: Task
    memory: int
    began: float
    may: int  # how much it may have
    executor: Executor | None = None

    def order(self) -> tuple[bool, bool, float]:
        """The sort key: the smallest one is evicted first."""
        is_last = self.task.kind.kind.attempts.memory_tries == 1
        return self.memory <= self.may, is_last, -self.began

    @property
    def label(self) -> str:
        """The task and its memory, in a list in a message."""
        kind = self.task.kind.kind
        return f"{kind.name or kind.task_type} ({spell_size(self.memory)})"


class Pressure:
    """Keeps the tasks within the memory of the governor."""

    def __init__(self, outbox: Outbox, pool: Pool, dispatch: Dispatch, claims: Claims) -> None:
        self._outbox = outbox
        self._pool = pool
        self._dispatch = dispatch
        self._claims = claims
        capacity = pool.free.capacity
        self._memory = capacity.amount(MEMORY)  # 0 if it is unknown
        self._most = self._memory * LIMIT_PERCENT // 100
        self._limit = self._most if self._memory else inf
        self._reserve = reserve_of(self._memory)
        self._resting = min(RESTING, self._memory // RESTING_PARTS) if self._memory else RESTING
        self._cpus = max(capacity.cpus, 1)

    def sampled(self, event: MemorySampled) -> None:
        """Notes the memory of all processes, and acts if it is too much."""
        for number, memory in event.executors.items():
            executor = self._pool.executors.get(number)
            if executor is not None:
                executor.memory = memory
                if executor.calls:
                    task = executor.calls[0]
                    task.peak = max(task.peak, memory)
                    task.mapped = max(task.mapped, event.mapped.get(number, 0))
        for run, memory in event.runs.items():
            task_inside = self._dispatch.runs.get(run)
            if task_inside is not None:
                self._dispatch.memory[run] = memory
                task_inside.peak = max(task_inside.peak, memory)
        for holder in list(self._holders()):
            run, executor = holder.task.run, holder.executor
            count = (
                event.crowds.get(executor.id, 0) if executor else event.crowds_of_runs.get(run, 0)
            )
            if count:
                self._evict(holder, Failed(CROWD.format(count, event.most)))
        self._relieve(event.left)
        if self._memory and event.left >= 0:
            self._withhold(event.left)

    def used(self) -> int:
        """Bytes of all that goes on; what is being killed will be free soon."""
        executors = self._pool.executors.values()
        used = sum(executor.memory for executor in executors if not executor.dying)
        runs, memory = self._dispatch.runs, self._dispatch.memory
        return used + sum(
            memory.get(run, 0) for run, task in runs.items() if task.row is not TaskRow.EVICTED
        )

    def killed_by_kernel(self, task: Task, kill: KernelKill, status: int | None) -> Failed:
        """The failure of a run whose process the kernel has killed, because memory ran out.

        At the wall, it had about what the others had not. Its next run needs more, but no more than
        it can have alone: the kernel may have chosen one that is not the reason.
        """
        seen = task.peak
        others = [holder for holder in self._holders() if holder.task is not task]
        why = NOTHING_LEFT
        if kill.wall:
            why = AT_THE_WALL.format(spell_size(kill.wall))
            beside = sum(holder.memory for holder in others)
            task.peak = max(task.peak, min(kill.wall - beside - kill.shared, self._most - 1))
        if kill.shared:
            why += (
                f"; {spell_size(kill.shared)} of shared memory and files in memory are still there"
            )
        had = f"; it had {spell_size(seen)} when last looked at" if seen else ""
        named = f"; beside it ran {_names(others)}"
        return Failed(KILLED_BY_KERNEL + why + had + named, cause=RunCause.MEMORY, status=status)

    def _withhold(self, left: int) -> None:
        """Withholds memory from tasks that others use: the server, other programs, the page cache.

        Without this, tasks that fit into the budget would be evicted for memory that others have
        taken.
        """
        most = self.used() + self._being_freed() + left - self._reserve
        self._pool.free.withhold(min(max(self._memory - most, 0), self._memory))

    def _relieve(self, left: int) -> None:
        used = self.used()
        is_over = used > self._limit
        to_free = used - self._limit
        if left >= 0:
            to_free = max(to_free, self._reserve - left - self._being_freed())
        if to_free <= 0:
            return
        for executor in self._useless():
            to_free -= executor.memory
            self._pool.kill(executor)
            if to_free <= 0:
                return
        holders = sorted(self._holders(), key=MemoryHolder.order)
        large = [one for one in holders if one.memory * SPARED >= self._memory] or holders
        is_critical = 0 <= left + self._being_freed() < self._reserve // CRITICAL
        for place, holder in enumerate(large, start=1):
            may_go = is_over or holder.memory > holder.may or (is_critical and place < len(large))
            if to_free <= 0 or not may_go:
                return
            others = [one for one in holders if one is not holder]
            verdict = self._verdict(holder, used, others, -1 if is_over else left)
            self._evict(holder, Failed(verdict, cause=RunCause.MEMORY))
            to_free -= holder.memory

    def _being_freed(self) -> int:
        """The memory of processes that are being ended."""
        executors = self._pool.executors.values()
        return sum(executor.memory for executor in executors if executor.dying) + sum(
            self._dispatch.memory.get(run, 0)
            for run, task in self._dispatch.runs.items()
            if task.row is TaskRow.EVICTED
        )

    def _useless(self) -> Iterable[Executor]:
        """Executors without calls."""
        for executor in list(self._pool.executors.values()):
            if executor.dying or not executor.ready:
                continue
            if executor.grace_ends < inf:
                yield executor
            elif not executor.calls and executor.memory >= self._resting and not executor.recalling:
                self._pool.idle[executor.runner].remove(executor)
                executor.is_replaced = False
                yield executor

    def _holders(self) -> Iterable[MemoryHolder]:
        for executor in self._pool.busy.values():
            task = executor.calls[0]
            if task.row is TaskRow.RUNNING and not executor.dying:
                yield MemoryHolder(
                    task, executor.memory, executor.progress, self._may(task), executor
                )
        for run, task in self._dispatch.runs.items():
            if task.row is TaskRow.RUNNING:
                memory = self._dispatch.memory.get(run, 0)
                yield MemoryHolder(task, memory, self._dispatch.began[run], self._may(task))

    def _may(self, task: Task) -> int:
        cpus = task.kind.kind.resources.cpus
        return task.group.memory or self._memory * cpus // self._cpus

    def _evict(self, holder: MemoryHolder, verdict: Failed) -> None:
        task = holder.task
        task.move(TaskMove.EVICT)
        task.verdict = verdict
        self._claims.learn(task)
        if holder.executor is not None:
            self._pool.kill(holder.executor)
        else:
            self._outbox.effects.append(StopBuiltin(task.run, 0.0, timed_out=True))

    def _verdict(
        self, holder: MemoryHolder, used: int, others: list[MemoryHolder], left: int
    ) -> str:
        declared = holder.task.kind.kind.resources.amount(MEMORY)
        says = f" (it declares {spell_size(declared)})" if declared else ""
        machine = f", while the machine had {spell_size(left)} left" if left >= 0 else ""
        together = f"{spell_size(used)} of {spell_size(self._memory)}"
        return (
            "the task took too much memory and was ended: it had"
            f" {spell_size(holder.memory)}{says}, and all tasks of its governor had {together}"
            f" (--memory){machine}; beside it ran {_names(others)}"
        )


def _names(holders: list[MemoryHolder]) -> str:
    """Those with the most memory, for a message."""
    holders.sort(key=_memory_of, reverse=True)
    named = ", ".join(one.label for one in holders[:NAMED]) or "nothing else"
    return f"{named} and {len(holders) - NAMED} more" if len(holders) > NAMED else named


def _memory_of(holder: MemoryHolder) -> int:
    return holder.memory
