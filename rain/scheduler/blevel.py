"""b-level with greedy transfer: the most urgent ready task goes where it misses the fewest bytes.

Only ready tasks are planned, and only where cpus are free. A task for which there is no room yet
keeps its place: those behind it may only use governors that are too small for it.
"""

from __future__ import annotations

from rain.graph import Governor, Graph, Task
from rain.graph.rules import allows, suits
from rain.scheduler.api import News, Plan
from rain.scheduler.toolbox.levels import enter_news, mark_of, urgency
from rain.scheduler.toolbox.places import bytes_by_governor
from rain.scheduler.toolbox.waiting_list import WaitingList, needs_plan


class BlevelScheduler:
    """Keeps the ready tasks that nobody has room for."""

    def __init__(self) -> None:
        self._ready = WaitingList(urgency)

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        """Fills what is free, the longest chains first."""
        enter_news(news, plan)
        for tasks in (news.submitted, news.unplanned, news.ready):
            self._ready.add(task for task in tasks if not task.missing and needs_plan(graph, task))
        free = {
            governor: governor.cpus - governor.active_cpus
            for governor in graph.governors.values()
            if governor.active_cpus < max(governor.cpus, 1)
        }
        held: list[Task] = []
        for task in self._ready.take(graph) if free else ():
            governor = _fewest_bytes(task, free, plan)
            if governor is None:
                held.append(task)
                if task.kind.constraints is None:  # what it waits for may come with every end
                    free = {found: n for found, n in free.items() if not suits(task.kind, found)}
            else:
                plan.assign(task, governor, mark_of(task).priority)
                free[governor] -= task.cpus
                if free[governor] <= 0:
                    del free[governor]
            if not free:
                break
        self._ready.add(held)


def _fewest_bytes(task: Task, free: dict[Governor, int], plan: Plan) -> Governor | None:
    local = bytes_by_governor(task, plan.estimates)
    governors = plan.graph.governors.values()
    return max(
        (
            governor
            for governor, room in free.items()
            if task.cpus <= room and allows(task, governor, governors)
        ),
        key=lambda found: (local.get(found, 0), free[found], -found.number),
        default=None,
    )
