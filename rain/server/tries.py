"""Whether a task is tried again: the one place where that is decided.

A task has as many tries as its kind says. A run uses one up when it fails: by itself, or since the
process that runs it ends under it. To lose a governor is not the task's fault, so that costs no
try. But a task may be the reason that its governors are lost: one that was running whenever
`crash_limit` governors were lost has failed. Others that ran beside it are not blamed for long: a
task with one chance left never shares a governor with another such task, so that the next loss
tells which of them it was.

Only the runs after the last one that has finished count: a task that runs again for a lost output
has all its tries again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from rain.base.runs import RunCause, RunState
from rain.graph import Governor, Run, Task


def may_try_again(tries: int, runs: Sequence[Run], crash_limit: int) -> bool:
    """Whether a task whose runs have all ended, the last one without success, has another try."""
    failed = sum(run.state is RunState.FAILED for run in _that_count(runs))
    return failed < tries and _crashes(runs) < crash_limit


def is_suspect(task: Task, crash_limit: int) -> bool:
    """Whether the task has failed the next time that a governor is lost under it."""
    if task.run is None:
        return False
    return 0 < _crashes(task.runs) >= crash_limit - 1


def must_wait(task: Task, governor: Governor, crash_limit: int) -> bool:
    """Whether the task is not sent to a governor, since another suspect is there."""
    return is_suspect(task, crash_limit) and any(
        is_suspect(other, crash_limit) for other in governor.assigned
    )


def _that_count(runs: Sequence[Run]) -> Iterable[Run]:
    return takewhile(lambda run: run.state is not RunState.FINISHED, reversed(runs))


def _crashes(runs: Sequence[Run]) -> int:
    return sum(run.cause is RunCause.GOVERNOR for run in _that_count(runs))
