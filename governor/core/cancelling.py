"""How a running call is stopped.

The unstarted calls of its executor are taken back (see `calling`). The started call remains, and is
interrupted: `KeyboardInterrupt` is raised in the function, which may clean up. Whatever it returns
or raises is thrown away. If the function ends within the grace time, the executor goes on working.
If not, the executor is killed with all processes that it has started. It is also killed if the
function has left processes behind, so everything that a stopped task has started ends. If the
function has left threads behind, the executor ends by itself. Until then the task holds its
resources.

**Only the right call is interrupted.** A signal may come late, when the executor already runs the
next call. So the executor gets the number of the call that is meant. Both sides count the calls
that were started, from 1. No two calls of an executor have the same number, whatever run they
belong to. Calls that were taken back were never started and do not count.

Executors of other languages cannot be interrupted: they are killed at once.
"""

from __future__ import annotations

from rain.governor.core.effects import InterruptExecutor, RefuseWait
from rain.governor.core.nodes import Executor

GRACE = 5.0
"""Seconds that a task has to end after it was interrupted."""


def interrupt(executor: Executor, grace_ends: float) -> InterruptExecutor:
    """Interrupts the only call that the executor still has; it must end by this time."""
    executor.grace_ends = grace_ends
    return InterruptExecutor(executor.id, executor.answered + 1)


def refuse_wait(executor: Executor, most: int) -> RefuseWait:
    """Lets the running call of the executor fail if it waits for other tasks, because too many
    do.
    """
    return RefuseWait(executor.id, executor.answered + 1, most)
