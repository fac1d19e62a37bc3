"""What is noticed about executors as time passes.

**A task that lasts much longer than expected** must not hold up those behind it: when an executor
with several calls has not answered for `STUCK_AFTER`, its unstarted calls are taken back and run
elsewhere, and it gets no others until it answers.

**Starts.** The server hears what has run for a while; of what is over sooner it hears the end.
"""

from __future__ import annotations

from math import inf

from rain.base.wire import Update
from rain.governor.nodes import Executor
from rain.governor.pool import Pool
from rain.governor.tables import TaskRow

STUCK_AFTER = 0.02
TELL_AFTER = 0.01
"""Seconds after which a task that still runs is worth a message that it has started."""

GLANCE = 0.01
"""How soon to look again while calls wait behind others in an executor."""

_RUNNING = TaskRow.RUNNING


def takes_more(executor: Executor, now: float) -> bool:
    """Whether calls may wait behind those that the executor has in hand."""
    return now - executor.progress < STUCK_AFTER and not (
        executor.overdue or executor.recalling or executor.dying
    )


def look_around(pool: Pool, update: Update) -> float:
    """Takes back what is stuck, tells what has run for a while; when to look again, at the latest.

    What was assigned before may have been lost with its governor, and may have been the reason:
    its start is told at once, so that it is known if it happens again.
    """
    now = pool.now
    soonest = inf
    for executor in pool.busy.values():
        progress = executor.progress
        if len(executor.calls) > 1:
            if now - progress >= STUCK_AFTER and not executor.overdue:
                executor.overdue = True
                pool.recall(executor)
            soonest = min(soonest, now + GLANCE)
        task = executor.calls[0]
        if task.row is _RUNNING and not task.told:
            telling = progress + TELL_AFTER if task.number <= 1 else progress
            if telling <= now:
                task.told = True  # once per run, also when it is taken back and called again
                update.started_ids.append(task.id)
                update.started_runs.append(task.number)
            elif telling < soonest:
                soonest = telling
    return soonest
