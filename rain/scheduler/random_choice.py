"""Random placement: the baseline for every other scheduler."""

from __future__ import annotations

from random import Random

from rain.graph import Graph, Task
from rain.graph.rules import allows
from rain.scheduler.api import News, Plan
from rain.scheduler.toolbox.waiting_list import needs_plan

TRIES = 8
"""The number of random draws before all governors are checked."""


class RandomScheduler:
    """Draws a governor for every task; deterministic for a seed."""

    def __init__(self, seed: int = 0) -> None:
        self._random = Random(seed)
        self._waiting: list[Task] = []

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        """Plans every new task at once."""
        tasks = dict.fromkeys([*self._waiting, *news.submitted, *news.unplanned])
        self._waiting = []
        governors = list(graph.governors.values())
        for task in tasks:
            if not needs_plan(task):
                continue
            drawn = self._random.choices(governors, k=TRIES) if governors else []
            for candidates in (drawn, self._random.sample(governors, len(governors))):
                found = next((g for g in candidates if allows(task, g, governors)), None)
                if found is not None:
                    plan.assign(task, found)
                    break
            else:
                self._waiting.append(task)
