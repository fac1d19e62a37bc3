"""An example of a scheduler plugin: every task goes to the next governor in turn.

Start the server with `--scheduler round-robin` to use it, or copy this file, change it, and name
yours with `--scheduler ./mine.py:RoundRobinScheduler`.
"""

from __future__ import annotations

from rain.graph import Graph, Task
from rain.graph.rules import allows
from rain.scheduler.api import News, Plan
from rain.scheduler.toolbox.waiting_list import needs_plan


class RoundRobinScheduler:
    """Deals tasks out in turn; tasks that fit nowhere wait for a governor that joins later."""

    def __init__(self) -> None:
        self._turn = 0
        self._waiting: list[Task] = []

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        """Plans every new task on the next governor that can run it."""
        tasks = [*self._waiting, *news.submitted, *news.unplanned]
        self._waiting = []
        governors = list(graph.governors.values())
        for task in dict.fromkeys(tasks):
            if not needs_plan(task):
                continue  # its session has ended, or it was planned before, or has failed
            for step in range(len(governors)):
                governor = governors[(self._turn + step) % len(governors)]
                if allows(task, governor, governors):
                    plan.assign(task, governor)
                    self._turn += step + 1
                    break
            else:
                self._waiting.append(task)
