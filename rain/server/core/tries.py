"""Decides whether a task is tried again.

A task has three budgets, which are declared by its kind:

* `tries` for its own failures: an exception, an exit code, wrong outputs.
* `crash_tries` for runs that were cut off: the executor has ended, or the governor was lost. The
  default is that of the server (`crash_limit`).
* `memory_tries` for runs that the governor has killed because of their memory. Each next run gets
  more memory (`rain.graph.needs`); if no governor has more, there is no next run.

Each failed run uses up one of these. The task has failed when a budget is used up, or when the
failure is not worth another try: `retry_on` says which ones are. The executor or the governor
checks this, since only they know the exception or the exit code.

If an executor ends, the responsible call is known. A lost governor may have run many tasks, one of
which may be the reason. The others are not blamed for long: a task with one chance left never
shares a governor with another such task, so that the next loss shows which it was.

Only the runs after the last one that has finished count: a task that runs again for a lost output
has all its tries again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from rain.base.attempts import LONGEST_PAUSE, MEMORY_TRIES, Attempts
from rain.base.runs import CRASHES, RunCause, RunState
from rain.graph import Governor, Run, Task


def may_try_again(attempts: Attempts, runs: Sequence[Run], crash_limit: int) -> bool:
    """Whether a task whose runs have all ended, the last one without success, has another try."""
    failed = short = 0
    for run in _that_count(runs):
        if run.state is RunState.FAILED and run.cause not in CRASHES:
            if run.cause is RunCause.MEMORY:
                short += 1
            else:
                failed += 1
    if runs and not runs[-1].words.retryable:
        return False
    if short >= (attempts.memory_tries or MEMORY_TRIES):
        return False
    return failed < attempts.tries and len(crashes(runs)) < _allowed(attempts, crash_limit)


def pause_after(attempts: Attempts, runs: Sequence[Run]) -> float:
    """How many seconds a task waits for its next run, the last one of these having failed.

    After each failed run it is twice as long as before, up to `LONGEST_PAUSE`.
    """
    first = attempts.backoff
    if not first:
        return 0.0
    failed = sum(run.state is RunState.FAILED for run in _that_count(runs))
    return min(first * 2.0 ** (failed - 1), max(first, LONGEST_PAUSE))


def crashes(runs: Sequence[Run]) -> list[Run]:
    """Those of the runs that count and that something around the task has ended, the last first."""
    return [run for run in _that_count(runs) if run.cause in CRASHES]


def is_suspect(task: Task, crash_limit: int) -> bool:
    """Whether the task has failed the next time that a governor is lost under it."""
    if task.run is None:
        return False
    return 0 < len(crashes(task.runs)) >= _allowed(task.kind.attempts, crash_limit) - 1


def must_wait(task: Task, governor: Governor, crash_limit: int) -> bool:
    """Whether the task is not sent to a governor, since another suspect is there."""
    return is_suspect(task, crash_limit) and any(
        is_suspect(other, crash_limit) for other in governor.assigned
    )


def _allowed(attempts: Attempts, crash_limit: int) -> int:
    """The number of crashes with which a task fails."""
    return attempts.crash_tries or crash_limit


def _that_count(runs: Sequence[Run]) -> Iterable[Run]:
    return takewhile(lambda run: run.state is not RunState.FINISHED, reversed(runs))
