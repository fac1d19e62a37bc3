"""The queue of a governor's tasks that are planned and ready, best first.

Most tasks come in the order in which they shall go: planners give later ones lower priorities.
Those stand in a line, which costs nearly nothing. What comes out of order is sorted beside it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from heapq import merge
from typing import TYPE_CHECKING

from sortedcontainers import SortedList

from rain.base.errors import InvariantError

if TYPE_CHECKING:
    from rain.graph.session import Session
    from rain.graph.task import Task

Entry = tuple[int, int, int, "Task"]


class ReadyQueue:
    """Deeper tasks first, then by priority, then by order. A member's priority must not change.

    What tasks wait for that have started goes before what nobody has begun.
    """

    __slots__ = ("_line", "_others")

    def __init__(self) -> None:
        # Orders are unique, so that two entries never fall back on comparing tasks.
        self._line: deque[Entry] = deque()  # each was worse than all of the line when it came
        self._others: SortedList[Entry] | None = None  # is made for the first, goes with the last

    def __len__(self) -> int:
        return len(self._line) + (0 if self._others is None else len(self._others))

    def __contains__(self, task: Task) -> bool:
        entry = _entry(task)
        return self._place(entry) is not None or entry in (self._others or ())

    def __iter__(self) -> Iterator[Task]:
        """All members, the best first."""
        return (entry[3] for entry in merge(self._line, self._others or ()))

    def __reversed__(self) -> Iterator[Task]:
        """All members, the best last."""
        both = merge(reversed(self._line), reversed(self._others or ()), reverse=True)
        return (entry[3] for entry in both)

    def add(self, task: Task) -> None:
        """Puts a task in."""
        line, entry = self._line, _entry(task)
        if not line or entry > line[-1]:
            line.append(entry)
        else:
            self._add_other(entry)

    def add_all(self, tasks: Iterable[Task]) -> None:
        """Puts tasks in."""
        line = self._line
        for task in tasks:
            entry = (-task.session.depth, -task.priority, task.order, task)
            if not line or entry > line[-1]:
                line.append(entry)
            else:
                self._add_other(entry)

    def _add_other(self, entry: Entry) -> None:
        if self._others is None:
            self._others = SortedList()
        self._others.add(entry)

    def remove(self, task: Task) -> None:
        """Takes a member out, wherever it is."""
        entry = _entry(task)
        place = self._place(entry)
        if place is not None:
            del self._line[place]
            return
        others = self._others
        if others is None:
            raise InvariantError(f"{task!r} is not in the queue")
        others.remove(entry)
        if not others:
            self._others = None

    def forget(self, session: Session) -> None:
        """Takes out all tasks of a session."""
        self._line = deque([entry for entry in self._line if entry[3].session is not session])
        others = [entry for entry in self._others or () if entry[3].session is not session]
        self._others = SortedList(others) if others else None

    def depth(self) -> int:
        """How deep the best one is; 0 when there is none."""
        line, others = self._line, self._others
        depth = -line[0][0] if line else 0
        return max(depth, -others[0][0]) if others else depth

    def pop(self) -> Task:
        """Takes the best one out."""
        return self.take(1)[0]

    def take(self, count: int) -> list[Task]:
        """Takes the best ones out, this number or all that there are."""
        line, others = self._line, self._others
        taken: list[Task] = []
        if others is not None:
            while others and len(taken) < count:
                first = line.popleft() if line and line[0] < others[0] else others.pop(0)
                taken.append(first[3])
            if not others:
                self._others = None
        if line:
            for _ in range(min(count - len(taken), len(line))):
                taken.append(line.popleft()[3])  # noqa: PERF401 # mostly one, or hundreds
        return taken

    def _place(self, entry: Entry) -> int | None:
        """Where it stands in the line."""
        place = bisect_left(self._line, entry)
        return place if place < len(self._line) and self._line[place] == entry else None


def _entry(task: Task) -> Entry:
    return (-task.session.depth, -task.priority, task.order, task)
