"""A list of unplanned tasks, in the order of their urgency.

Urgency compares the tasks of all sessions; priorities decide within each (`rain.graph.turns`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush

from rain.graph import Session, Task
from rain.graph.task import NOT_PLANNED
from rain.graph.turns import Turns
from rain.scheduler.api import News
from rain.scheduler.toolbox.slots import kept

Urgency = Callable[[Task], float]


def needs_plan(task: Task) -> bool:
    """Whether the task still exists, is neither done, pausing nor limited, and has no plan."""
    if task.scheduled is not None or task.row in NOT_PLANNED:
        return False
    return task.session.tasks.get(task.id) is task  # `is_known` without its call


def strangers(news: News, mark: type[object]) -> list[Task]:
    """Tasks in the news that need a plan, but have no mark: they came while another one planned."""
    found = {
        task: None
        for tasks in (news.unplanned, news.ready)
        for task in tasks
        if kept(task, mark) is None and needs_plan(task)
    }
    return sorted(found, key=lambda task: task.order)


class WaitingList:
    """A heap, the most urgent task first and of equal ones the oldest; each task is in it once."""

    def __init__(self, urgency: Urgency) -> None:
        self._urgency = urgency
        self._heap: list[tuple[float, int, Task]] = []
        self._members: dict[Task, None] = {}
        self._turns: dict[Session, Turns] = {}  # only of sessions whose tasks have priorities

    def __len__(self) -> int:
        return len(self._members)

    def add(self, tasks: Iterable[Task]) -> None:
        """Adds tasks to plan."""
        for task in tasks:
            if task not in self._members:
                self._members[task] = None
                place = (-self._urgency(task), task.order, task)
                if task.session.has_priorities:
                    self._turns_of(task.session).add(place)
                heappush(self._heap, place)

    def _turns_of(self, session: Session) -> Turns:
        """Those of a session; those who came before it had priorities take part, too."""
        turns = self._turns.get(session)
        if turns is None:
            turns = self._turns[session] = Turns()
            for place in self._heap:
                if place[2].session is session:
                    turns.add(place)
        return turns

    def take(self) -> Iterator[Task]:
        """Takes the tasks one after the other; skips those that no longer need a plan."""
        while self._heap:
            place = heappop(self._heap)
            task = place[2]
            turns = self._turns.get(task.session)
            if turns is not None:
                task = turns.take(place)
                if not turns.members:
                    del self._turns[task.session]
            del self._members[task]
            if needs_plan(task):
                yield task
