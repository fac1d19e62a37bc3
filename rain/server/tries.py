"""Whether a task is tried again: the one place where that is decided.

A task has as many tries as its kind says. A try is used up when the task fails by itself, or when
the process that runs it ends under it. To lose a governor is not the task's fault, so that costs no
try. But a task may be the reason that its governors are lost: one that was running whenever
`crash_limit` governors were lost has failed. Others that ran beside it are not blamed for long: a
task with one chance left never shares a governor with another such task, so that the next loss
tells which of them it was.
"""

from __future__ import annotations

from collections.abc import Iterable

from rain.base.failures import FailedAttempt, FailureCause
from rain.graph import Governor, Task


def may_try_again(tries: int, failures: Iterable[FailedAttempt], crash_limit: int) -> bool:
    """Whether a task that has failed so far in these ways has another try."""
    own = crashes = 0
    for failure in failures:
        if failure.cause is FailureCause.GOVERNOR:
            crashes += 1
        else:
            own += 1
    return own < tries and crashes < crash_limit


def is_suspect(task: Task, crash_limit: int) -> bool:
    """Whether the task has failed the next time that a governor is lost under it."""
    if not task.failures:
        return False
    crashes = sum(failure.cause is FailureCause.GOVERNOR for failure in task.failures)
    return 0 < crashes >= crash_limit - 1


def must_wait(task: Task, governor: Governor, crash_limit: int) -> bool:
    """Whether the task is not sent to a governor, since another suspect is there."""
    return is_suspect(task, crash_limit) and any(
        is_suspect(other, crash_limit) for other in governor.assigned
    )
