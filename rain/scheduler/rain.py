"""The scheduler `rain`: data first, then balance. It is Rain 0.4's heuristic, made incremental.

The original considers every pair of a ready task and a governor with free cpus, and prefers large
tasks and governors that have the task's inputs. Here every task is considered once, when it is
submitted: it goes where most of its input bytes are or will be, and without such inputs to the
governor with the fewest planned tasks per cpu. Imbalances are corrected later, when a governor has
run out of work and others have waiting tasks.
"""

from __future__ import annotations

from rain.graph import Governor, Graph, Task
from rain.scheduler.api import News, Plan
from rain.scheduler.toolbox.balance import feed_hungry
from rain.scheduler.toolbox.loads import Loads
from rain.scheduler.toolbox.waiting_list import needs_plan


class RainScheduler:
    """Keeps the tasks that it could not plan yet: no governor fits, or a producer has no plan."""

    def __init__(self) -> None:
        self._unplanned: dict[Task, None] = {}

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        """Plans new tasks, then moves tasks to idle governors."""
        self._collect(news)
        governors = list(graph.governors.values())
        if not governors:
            return
        if self._unplanned:
            self._plan_all(governors, plan)
        if len(governors) > 1:
            feed_hungry(governors, plan)

    def _collect(self, news: News) -> None:
        if news.unplanned:
            # Tasks come back in any order, but producers must come before consumers.
            again = {**self._unplanned, **dict.fromkeys(news.submitted), **news.unplanned}
            self._unplanned = dict.fromkeys(sorted(again, key=lambda task: task.order))
        else:
            self._unplanned.update(dict.fromkeys(news.submitted))

    def _plan_all(self, governors: list[Governor], plan: Plan) -> None:
        loads = Loads(governors)
        left: dict[Task, None] = {}
        for task in self._unplanned:
            if not needs_plan(task):
                continue
            governor = loads.choose(task)
            if governor is None:
                left[task] = None
            else:
                plan.assign(task, governor)
        self._unplanned = left
