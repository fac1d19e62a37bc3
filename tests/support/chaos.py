"""A scheduler that plans at random whatever the rules allow, to find the gaps in them."""

from __future__ import annotations

from random import Random

from attrs import define

from rain.base.errors import PlanError
from rain.graph import DataObject, Governor, Graph, Task
from rain.scheduler.api import News, Plan


@define(eq=False)
class ChaoticScheduler:
    """Plans, takes back, copies and drops; when calm, it only plans what has no plan."""

    random: Random
    calm: bool = False

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        """Looks at everything every time; the news is for schedulers in a hurry."""
        governors = list(graph.governors.values())
        if not governors:
            return
        for task in list(graph.tasks.values()):
            self._task(task, governors, plan)
        if not self.calm:
            for data_object in list(graph.objects.values()):
                self._object(data_object, governors, plan)

    def _task(self, task: Task, governors: list[Governor], plan: Plan) -> None:
        if task.scheduled is not None and not self.calm and self.random.random() < 0.15:
            plan.take_back(task)
        if task.scheduled is not None or task.is_done:
            return
        fitting = [g for g in governors if task.kind.resources.fits(g.resources)]
        if fitting and (self.calm or self.random.random() < 0.6):
            plan.assign(task, self.random.choice(fitting), self.random.randrange(-2, 3))

    def _object(self, data_object: DataObject, governors: list[Governor], plan: Plan) -> None:
        governor = self.random.choice(governors)
        chance = self.random.random()
        try:
            if chance < 0.15:
                plan.copy(data_object, governor)
            elif chance < 0.3:
                plan.drop(data_object, governor)
        except PlanError:
            return
