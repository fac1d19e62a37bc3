"""b-level with greedy transfer: the most urgent ready task goes where it misses the fewest bytes.

Only ready tasks are planned, and only on free cpus. A task without a free governor keeps its place:
tasks behind it may only use governors that are too small for it.
"""

from __future__ import annotations

from rain.base.ids import KindId
from rain.graph import Graph, Task
from rain.scheduler.api import News, Plan
from rain.scheduler.toolbox.levels import enter_news, mark_of, urgency
from rain.scheduler.toolbox.places import bytes_by_governor
from rain.scheduler.toolbox.rooms import Rooms
from rain.scheduler.toolbox.waiting_list import WaitingList, needs_plan


class BlevelScheduler:
    """Keeps the ready tasks for which no governor is free."""

    def __init__(self) -> None:
        self._ready = WaitingList(urgency)

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        """Fills free cpus, the longest chains first."""
        enter_news(news, plan)
        for tasks in (news.submitted, news.unplanned, news.ready):
            self._ready.add(task for task in tasks if not task.missing and needs_plan(task))
        rooms = Rooms(graph.governors.values())
        held: list[Task] = []
        refused: set[KindId] = set()  # kinds whose tasks do not fit any more in this run
        for task in self._ready.take() if rooms else ():
            kind = task.kind
            governor = None
            if kind.id not in refused:
                governor = rooms.choose(task, bytes_by_governor(task, plan))
            if governor is not None:
                plan.assign(task, governor, mark_of(task).priority)
                rooms.take(task, governor)
            else:
                held.append(task)
                if kind.constraints is None and kind.id not in refused:
                    refused.add(kind.id)
                    rooms.keep_for(task)  # any end of a task may free what they need
            if not rooms:
                break
        self._ready.add(held)
