"""Remembers submitted tasks, so that messages about their failure can name them."""

from collections import deque
from collections.abc import Sequence

from rain.base.ids import TaskId
from rain.client.explaining.stack import Stack
from rain.client.shapes import TaskShape
from rain.client.task import Task
from rain.client.unit import Unit

REMEMBERED = 100_000
"""Tasks without handles that are remembered, in case that one of them fails."""


class History:
    """The tasks of one session; it holds no handle."""

    def __init__(self) -> None:
        self._tasks: dict[int, tuple[TaskShape, Stack]] = {}
        self._left: deque[TaskId] = deque()  # those without handles, not known to be finished
        self._units: dict[int, Unit] = {}  # by the task that stands for it

    def note(self, tasks: Sequence[Task]) -> None:
        """Remembers tasks. Those of a loop share what is known of them."""
        last: tuple[TaskShape, Stack] | None = None
        for task in tasks:
            shape, stack = task.wire_shape, task.created_at
            if last is None or last[0] is not shape or last[1] is not stack:
                last = shape, stack
            self._tasks[task.packed_id] = last

    def leave(self, packed_id: TaskId, *, finished: bool) -> None:
        """The handle of a task was collected. Called by finalizers: takes no lock."""
        if finished:
            self._tasks.pop(packed_id, None)
            return
        left = self._left
        left.append(packed_id)
        if len(left) > REMEMBERED:
            self._forget(left.popleft())

    def leave_unit(self, unit: Unit, *, finished: bool) -> None:
        """The last handle of a unit was collected; its last task is reported separately."""
        for member in unit.members[:-1]:
            self._tasks.pop(member, None)
        if finished:
            self._units.pop(unit.task_id, None)

    def _forget(self, packed_id: TaskId) -> None:
        self._tasks.pop(packed_id, None)
        self._units.pop(packed_id, None)

    def forget_left(self) -> None:
        """All tasks have finished that were submitted until now."""
        while self._left:
            self._forget(self._left.popleft())

    def note_unit(self, unit: Unit) -> None:
        """Remembers which tasks are one; each of them is noted as others are."""
        self._units[unit.task_id] = unit

    def unit(self, packed_id: TaskId) -> Unit | None:
        """The unit that a task stands for."""
        return self._units.get(packed_id)

    def find(self, packed_id: TaskId) -> tuple[TaskShape, Stack] | None:
        """The shape of a task, and where it was created."""
        return self._tasks.get(packed_id)

    def clear(self) -> None:
        """Forgets all of them."""
        self._tasks.clear()
        self._left.clear()
        self._units.clear()
