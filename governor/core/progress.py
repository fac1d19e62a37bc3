"""Checks executors as time passes: for calls that take too long, and for starts to report.

**A task that lasts much longer than expected** must not block the calls behind it: if an executor
with several calls has not answered for `STUCK_AFTER`, its unstarted calls are taken back and run
elsewhere, and it gets no others until it answers. If it had begun none of them, it was too slow to
read them: it gets one call, perhaps the same, and others after its answer.

**A call that has exceeded its time limit** is interrupted like a cancelled one.

**A call that was interrupted** and has not ended by the end of its grace is killed.

**A governor that drains** reports all running tasks when its executors have returned the others.

**Starts.** A start is reported when the task has run for a while; of shorter tasks only the end is.
"""

from __future__ import annotations

from math import inf

from rain.governor.core.nodes import Executor
from rain.governor.core.outbox import Outbox
from rain.governor.core.pool import Pool
from rain.governor.core.tables import TaskRow

STUCK_AFTER = 0.02
TELL_AFTER = 0.01
"""Seconds after which the server is told that a running task has started."""

GLANCE = 0.01
"""Seconds between checks while calls are queued behind others in an executor."""

_RUNNING = TaskRow.RUNNING


def takes_more(executor: Executor, now: float) -> bool:
    """Whether more calls may be queued at the executor."""
    return now - executor.progress < STUCK_AFTER and not (
        executor.overdue
        or executor.slow
        or executor.recalling
        or executor.dying
        or executor.grace_ends < inf
        or executor.blocked_depth >= 0
    )


def look_around(pool: Pool, outbox: Outbox) -> float:
    """Takes back stuck calls, kills executors that ignore an interrupt, and reports late starts.

    Returns the time for the next check.

    A task that was assigned before may have been lost with its governor, and may have caused
    that loss. Its start is reported at once, so that it is known if this happens again.
    """
    now = pool.now
    soonest = pool.lending.due
    for executor in pool.busy.values():
        progress = executor.progress
        if executor.grace_ends <= now:
            pool.kill(executor)
        elif executor.grace_ends < soonest:
            soonest = executor.grace_ends
        limit = executor.calls[0].kind.kind.attempts.timeout
        if limit and executor.calls[0].row is _RUNNING:
            if progress + limit <= now:
                pool.time_out(executor)
            else:
                soonest = min(soonest, progress + limit)
        if len(executor.calls) > 1:
            if now - progress >= STUCK_AFTER and not executor.overdue:
                executor.overdue = True
                pool.recall(executor)
            soonest = min(soonest, now + GLANCE)
        task = executor.calls[0]
        if task.row is _RUNNING and not task.reported:
            telling = progress + TELL_AFTER if task.number <= 1 else progress
            if telling <= now:
                task.reported = True  # once per run, also when it is taken back and called again
                outbox.started(task, progress)
            elif telling < soonest:
                soonest = telling
    return soonest


def settled(pool: Pool, outbox: Outbox) -> bool:
    """Whether each executor has only its running call, and the start of this call was reported.

    A draining governor soon reaches this state.
    """
    for executor in pool.busy.values():
        if executor.recalling or len(executor.calls) > 1:
            return False
        task = executor.calls[0]
        if task.row is _RUNNING and not task.reported:
            task.reported = True
            outbox.started(task, executor.progress)
    return True
