"""Work stealing: tasks go to their data, and idle governors take waiting tasks from others."""

from __future__ import annotations

from rain.graph import Graph, Task
from rain.scheduler.api import News, Plan
from rain.scheduler.toolbox.balance import feed_hungry
from rain.scheduler.toolbox.levels import enter_news, mark_of, urgency
from rain.scheduler.toolbox.loads import Loads
from rain.scheduler.toolbox.places import bytes_by_governor
from rain.scheduler.toolbox.waiting_list import WaitingList, needs_plan


class StealingScheduler:
    """Keeps the tasks whose inputs have no place yet, and those that fit no governor."""

    def __init__(self) -> None:
        self._waiting = WaitingList(urgency)

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        """Plans every ready task where it misses the fewest bytes, regardless of load."""
        enter_news(news, plan)
        for tasks in (news.submitted, news.unplanned, news.ready):
            self._waiting.add(task for task in tasks if not task.missing and needs_plan(task))
        governors = list(graph.governors.values())
        held: list[Task] = []
        loads = Loads(governors)
        for task in self._waiting.take() if governors else ():
            governor = loads.nearest(task, bytes_by_governor(task, plan))
            if governor is None:
                held.append(task)
            else:
                plan.assign(task, governor, mark_of(task).priority)
        self._waiting.add(held)
        feed_hungry(governors, plan)
