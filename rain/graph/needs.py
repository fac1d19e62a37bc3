"""Estimates the memory of the next run of a task, beyond what its kind declares.

A task that was evicted because of its memory gets twice as much as it had. Any other task gets the
amount that tasks of its name have used so far, unless it declares an amount.

Nested tasks get no estimate: the task that waits for them may hold the memory that they would need.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import takewhile

from rain.base.memory import GROWTH, LIMIT_PERCENT, NOTABLE
from rain.base.resources import MEMORY
from rain.base.runs import RunCause, RunState
from rain.graph.governor import Governor
from rain.graph.task import Task


def needed(task: Task) -> int:
    """Bytes for its next run, or for the one that is open; 0 for what its kind declares."""
    kind = task.kind
    if kind.depth:
        return 0
    declared = kind.resources.amount(MEMORY) if kind.resources.others else 0
    need = GROWTH * had(task) if task.run is not None else 0
    if not need and not declared:
        learned = task.session.learned.get(kind.id)
        need = 0 if learned is None else learned.peak
    return need if need > max(declared, NOTABLE) else 0


def had(task: Task) -> int:
    """How much memory the task had when it was last evicted for its memory; 0 if it never was."""
    since = takewhile(lambda run: run.state is not RunState.FINISHED, reversed(task.runs))
    return max((run.words.peak for run in since if run.cause is RunCause.MEMORY), default=0)


def has_more(governor: Governor, peak: int) -> bool:
    """Whether a task that had this much memory can get more on that governor."""
    memory = governor.offered.amount(MEMORY)
    return not memory or memory * LIMIT_PERCENT // 100 > peak


def has_disk(governor: Governor, size: int) -> bool:
    """Whether so much data may be there, if all else has gone."""
    return not governor.disk or governor.disk >= size


def most_memory(governors: Collection[Governor]) -> int:
    """The most that one of them has."""
    return max((governor.offered.amount(MEMORY) for governor in governors), default=0)


def needs_of(tasks: Collection[Task]) -> list[int]:
    """The needs of tasks, many of which are of the same kind."""
    of_kinds: dict[int, int] = {}
    needs: list[int] = []
    for task in tasks:
        if task.former:
            needs.append(needed(task))
            continue
        need = of_kinds.get(task.kind.id)
        if need is None:
            need = of_kinds[task.kind.id] = needed(task)
        needs.append(need)
    return needs
