"""How a running call is stopped.

The unstarted calls of its executor are taken back (see `calling`). What remains is the one that was
started. That one is interrupted: `KeyboardInterrupt` is raised in the function, which may clean up.
Whatever it returns or raises is thrown away. If it ends within the grace, its executor works on; if
not, the executor is killed with all that it has started, and it is also killed if the function has
left processes behind: whatever a stopped task has started always ends. If the function has left
threads behind, the executor ends by itself. Until then the task holds its resources.

**Only the very call is interrupted.** A signal may come late, when the executor runs the next call.
So the executor is told which one is meant, by a number that both sides count: the calls that were
started, from 1. No two calls of an executor have the same number, whatever run they belong to.
Calls that were taken back were never started and do not count.

Executors of other languages know no interrupt: they are killed at once.
"""

from __future__ import annotations

from rain.governor.core.effects import InterruptExecutor, RefuseWait
from rain.governor.core.nodes import Executor

GRACE = 5.0
"""Seconds that a task has to end after it was interrupted."""


def interrupt(executor: Executor, grace_ends: float) -> InterruptExecutor:
    """The only call that the executor still has is to end by then."""
    executor.grace_ends = grace_ends
    return InterruptExecutor(executor.id, executor.answered + 1)


def refuse_wait(executor: Executor, most: int) -> RefuseWait:
    """The call that the executor runs must not wait for other tasks: too many do."""
    return RefuseWait(executor.id, executor.answered + 1, most)
