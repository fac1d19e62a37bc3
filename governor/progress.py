"""What is noticed about executors as time passes.

**A task that lasts much longer than expected** must not hold up those behind it: when an executor
with several calls has not answered for `STUCK_AFTER`, its unstarted calls are taken back and run
elsewhere, and it gets no others until it answers.

**Starts.** The server hears what has run for a while; of what is over sooner it hears the end.
"""

from __future__ import annotations

from math import inf

from rain.base.wire import Update
from rain.governor.nodes import Executor, Task
from rain.governor.pool import Pool
from rain.governor.tables import TaskRow

STUCK_AFTER = 0.02
TELL_AFTER = 0.01
"""Seconds after which a task that still runs is worth a message that it has started."""

_RUNNING = TaskRow.RUNNING


def notice_stuck(pool: Pool) -> None:
    """Takes back what waits behind tasks that last much longer than expected."""
    for executor in pool.executors.values():
        if (
            len(executor.calls) > 1
            and not executor.overdue
            and pool.now - executor.progress >= STUCK_AFTER
        ):
            executor.overdue = True
            pool.recall(executor)


def takes_more(executor: Executor, now: float) -> bool:
    """Whether calls may wait behind those that the executor has in hand."""
    return now - executor.progress < STUCK_AFTER and not (
        executor.overdue or executor.recalling or executor.dying
    )


def is_queueing(pool: Pool) -> bool:
    """Whether any executor has more than one call, so that time matters."""
    for executor in pool.executors.values():  # noqa: SIM110 # every turn asks, for each executor
        if len(executor.calls) > 1:
            return True
    return False


def tell_starts(pool: Pool, update: Update) -> None:
    """Tells what has run for a while.

    What was assigned before may have been lost with its governor, and may have been the reason:
    its start is told at once, so that it is known if it happens again.
    """
    for executor in pool.executors.values():
        task = _untold(executor)
        if task is not None and pool.now >= _telling(executor, task):
            task.told = True  # once per attempt, also when it is taken back and called again
            update.started_ids.append(task.id)
            update.started_attempts.append(task.attempt)


def next_telling(pool: Pool) -> float:
    """When the server is to hear of another start; infinity for never."""
    soonest = inf
    for executor in pool.executors.values():
        task = _untold(executor)
        if task is not None:
            soonest = min(soonest, _telling(executor, task))
    return soonest


def _untold(executor: Executor) -> Task | None:
    """What the executor runs, if the server has not heard of its start."""
    if not executor.calls:
        return None
    task = executor.calls[0]
    return task if task.row is _RUNNING and not task.told else None


def _telling(executor: Executor, task: Task) -> float:
    """When the server is to hear that the executor runs this task."""
    return executor.progress + (TELL_AFTER if task.attempt <= 1 else 0.0)
