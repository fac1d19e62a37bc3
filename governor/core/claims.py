"""Chooses how much memory tasks reserve when they start: the amount that they declare, or a
measured one.

A measured amount, which comes from the server or from tasks of the same kind on this governor,
counts like declared memory: the task starts when all of it is free (see `dispatch`). A task that
needs far less than the share of a cpu is not counted, so that short and small tasks never wait for
memory.

A kind moves to another group when its tasks turn out to need more, or far less. Nested tasks
reserve nothing: the task that waits for them may hold the memory that they need.
"""

from __future__ import annotations

from rain.base.resources import MEMORY, Resources
from rain.governor.core.dispatch import Dispatch
from rain.governor.core.nodes import KnownKind, ReadyGroup, Session, Task
from rain.governor.core.tables import TaskRow

LITTLE = 8
"""A task that needs less than this fraction of the share of a cpu is not counted."""

_MOVABLE = (TaskRow.WAITING, TaskRow.READY, TaskRow.ASKING, TaskRow.HELD_BACK)


class Claims:
    """Chooses the groups of tasks by the memory that they need."""

    def __init__(self, capacity: Resources, dispatch: Dispatch) -> None:
        self._dispatch = dispatch
        self._memory = capacity.amount(MEMORY)  # 0 if it is unknown: then nothing is claimed
        self._share = self._memory // max(capacity.cpus, 1)

    def group_for(self, kind: KnownKind, need: int) -> ReadyGroup:
        """The group of one task that needs this much memory, as the server says."""
        memory = self._claim(need)
        if memory <= kind.group.memory:
            return kind.group
        group = kind.group
        needs = _with_memory(kind, memory)
        return self._dispatch.group(group.runner, needs, group.environment)

    def learn(self, task: Task) -> None:
        """The task has used this much memory (`peak`): waiting tasks of its kind need it, too."""
        kind, peak = task.kind, task.peak
        if kind.kind.depth or kind.kind.resources.amount(MEMORY):
            return
        kind.peak = peak if peak >= kind.peak else kind.peak - (kind.peak - peak) // 8
        memory, before = self._claim(kind.peak), kind.group.memory
        if memory > before or memory * 2 <= before:
            _move(self._dispatch, task.session, kind, memory)

    def _claim(self, need: int) -> int:
        """The memory that is reserved for such a task: in steps, so that there are few groups."""
        if need * LITTLE <= self._share or not self._memory:
            return 0
        step = 1 << max(need.bit_length() - 4, 0)
        return min(-(-need // step) * step, self._memory)


def _move(dispatch: Dispatch, session: Session, kind: KnownKind, memory: int) -> None:
    """The kind and its waiting tasks belong to another group from now on."""
    old = kind.group
    kind.group = new = dispatch.group(old.runner, _with_memory(kind, memory), old.environment)
    if new is old:
        old.kinds -= 1
        return
    ready: list[Task] = []
    for task in session.tasks.values():
        if task.kind is not kind:
            continue
        if task.group is new:
            new.kinds -= 1  # it was the only one of its kind there
        elif task.group is old and task.row in _MOVABLE:
            task.group = new
            if task.row is TaskRow.READY:
                ready.append(task)
        elif task.group is old:
            old.kinds += 1  # it is in hand, and stays
    old.count -= len(ready)
    old.sort()
    for task in ready:
        new.push(task)
    dispatch.leave_group(old)


def _with_memory(kind: KnownKind, memory: int) -> Resources:
    return Resources.of({**kind.kind.resources.as_dict(), MEMORY: memory})
