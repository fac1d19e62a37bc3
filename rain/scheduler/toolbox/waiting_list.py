"""Tasks that a scheduler has heard of and not planned, in an order of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush

from rain.graph import Task
from rain.graph.task import DONE
from rain.scheduler.api import News

Urgency = Callable[[Task], float]


def needs_plan(task: Task) -> bool:
    """Whether the task is still there, not done, and nobody has planned it."""
    if task.scheduled is not None or task.row in DONE:
        return False
    return task.session.tasks.get(task.id) is task  # `is_known` without its call


def strangers(news: News, mark: type) -> list[Task]:
    """Tasks in the news that need a plan, and came while another scheduler planned: no mark."""
    found = {
        task: None
        for tasks in (news.unplanned, news.ready)
        for task in tasks
        if not isinstance(task.sched, mark) and needs_plan(task)
    }
    return sorted(found, key=lambda task: task.order)


class WaitingList:
    """A heap, the most urgent task first and among equals the oldest; each task is in it once."""

    def __init__(self, urgency: Urgency) -> None:
        self._urgency = urgency
        self._heap: list[tuple[float, int, Task]] = []
        self._members: dict[Task, None] = {}

    def __len__(self) -> int:
        return len(self._members)

    def add(self, tasks: Iterable[Task]) -> None:
        """Tasks to be planned."""
        for task in tasks:
            if task not in self._members:
                self._members[task] = None
                heappush(self._heap, (-self._urgency(task), task.order, task))

    def take(self) -> Iterator[Task]:
        """Takes out one after the other; those that need no plan any more are passed over."""
        while self._heap:
            task = heappop(self._heap)[2]
            del self._members[task]
            if needs_plan(task):
                yield task
