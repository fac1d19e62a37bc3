"""What is remembered of the tasks that were submitted: messages about their failure name them."""

from array import array
from collections.abc import Sequence

from rain.base.ids import TaskId
from rain.client.shapes import TaskShape
from rain.client.stack import Stack
from rain.client.task import Task
from rain.client.unit import Unit


class History:
    """The tasks of one session: three columns, which hold no handle."""

    def __init__(self) -> None:
        self._ids = array("q")
        self._shapes: list[TaskShape] = []
        self._stacks: list[Stack] = []
        self._units: dict[int, Unit] = {}  # by the task that stands for it

    def note(self, tasks: Sequence[Task]) -> None:
        """Remembers tasks. An id comes after the rest: what an interruption left is overwritten."""
        known = len(self._ids)
        self._shapes[known:] = [task.wire_shape for task in tasks]
        self._stacks[known:] = [task.created_at for task in tasks]
        self._ids.extend([task.packed_id for task in tasks])

    def note_unit(self, unit: Unit) -> None:
        """Remembers which tasks are one; each of them is noted as others are."""
        self._units[unit.task_id] = unit

    def unit(self, packed_id: TaskId) -> Unit | None:
        """The unit that a task stands for."""
        return self._units.get(packed_id)

    def find(self, packed_id: TaskId) -> tuple[TaskShape, Stack] | None:
        """The shape of a task, and where it was created."""
        try:
            place = self._ids.index(packed_id)
        except ValueError:
            return None
        return self._shapes[place], self._stacks[place]

    def clear(self) -> None:
        """Forgets all of them."""
        del self._ids[:]
        self._shapes.clear()
        self._stacks.clear()
        self._units.clear()
