"""Detects a scheduler that changes nodes of the graph itself, instead of by the steps of its plan.

Only Rain's own schedulers are trusted. After a run of another one, the tasks in its news and some
of those that it has not planned yet are compared with their rows, and the sums of all governors
with the plan. This is cheap and may miss a change. A missed change is found later: by the next
comparison, or by a step that finds a contradiction.
"""

from __future__ import annotations

from collections import deque

from attrs import Factory, define

from rain.base.states import TASK_FACTS
from rain.graph import Graph, Task
from rain.scheduler.api import News, Plan

LOOKED_AT = 100
"""Tasks without a plan that are looked at after each run, beside those in the news."""


@define(eq=False)
class TamperingWatch:
    """The state before a run, and the tasks that are still to be planned."""

    waiting: deque[Task] = Factory(deque)
    fresh: int = 0  # of those, from the news
    governors: int = 0
    assigned: int = 0  # tasks that governors have

    def before(self, graph: Graph, news: News) -> None:
        """A run begins with these news."""
        if news.cleared:
            self.waiting = deque(task for task in self.waiting if task.is_known)
        fresh = [*news.submitted, *news.unplanned, *news.ready]
        self.waiting.extendleft(fresh)
        self.fresh = len(fresh)
        self.governors, self.assigned = len(graph.governors), _assigned(graph)

    def after(self, graph: Graph, plan: Plan) -> str:
        """The first contradiction after the run, or nothing."""
        if len(graph.governors) != self.governors:
            return f"the graph has {len(graph.governors)} governors instead of {self.governors}"
        assigned, expected = _assigned(graph), self.assigned - len(plan.stopped)
        if assigned != expected:
            return f"governors list {assigned} tasks that they were told of, instead of {expected}"
        for governor in graph.governors.values():
            planned, listed = governor.scheduled, len(governor.assigned) + len(governor.queue)
            if listed > len(planned):
                return f"{governor!r} lists {listed} tasks as sent or queued, of {len(planned)}"
        return self._look_at_tasks()

    def _look_at_tasks(self) -> str:
        waiting = self.waiting
        for _ in range(min(len(waiting), self.fresh + LOOKED_AT)):
            task = waiting.popleft()
            if not task.is_known:
                continue
            found = _contradiction(task)
            if found:
                return found
            if task.scheduled is None and not task.is_done:
                waiting.append(task)
        return ""


def _assigned(graph: Graph) -> int:
    return sum(len(governor.assigned) for governor in graph.governors.values())


def _contradiction(task: Task) -> str:
    """How the plan of a task differs from what its row says."""
    facts, governor = TASK_FACTS[task.row], task.scheduled
    if (governor is not None) != facts.scheduled:
        return f"{task!r} is planned on {governor!r}"
    if (task.assigned is not None) != facts.assigned:
        return f"{task!r} is assigned to {task.assigned!r}"
    if facts.ready is not None and (task.missing == 0) != facts.ready:
        return f"{task!r} misses {task.missing} inputs"
    if governor is not None and task not in governor.scheduled:
        return f"{task!r} is not listed by {governor!r}"
    return ""
