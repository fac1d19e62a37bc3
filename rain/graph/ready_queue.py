"""The queue of a governor's tasks that are planned and ready, best first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sortedcontainers import SortedList

if TYPE_CHECKING:
    from rain.graph.task import Task


class ReadyQueue:
    """Tasks by priority, then by order. A member's priority must not change."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        # Orders are unique, so that two entries never fall back on comparing tasks.
        self._entries: SortedList[tuple[int, int, Task]] = SortedList()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, task: Task) -> bool:
        return _entry(task) in self._entries

    def __iter__(self) -> Iterator[Task]:
        """All members, the best first."""
        return (entry[2] for entry in self._entries)

    def __reversed__(self) -> Iterator[Task]:
        """All members, the best last."""
        return (entry[2] for entry in reversed(self._entries))

    def add(self, task: Task) -> None:
        """Puts a task in."""
        self._entries.add(_entry(task))

    def remove(self, task: Task) -> None:
        """Takes a member out, wherever it is."""
        self._entries.remove(_entry(task))

    def pop(self) -> Task:
        """Takes the best one out."""
        return self._entries.pop(0)[2]


def _entry(task: Task) -> tuple[int, int, Task]:
    return (-task.priority, task.order, task)
