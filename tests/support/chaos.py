"""A scheduler that plans at random whatever the rules allow, to find the gaps in them."""

from __future__ import annotations

from random import Random

from attrs import Factory, define

from rain.base.errors import PlanError
from rain.base.states import TaskRow
from rain.graph import DataObject, Governor, Graph, Task, moving
from rain.scheduler.api import News, Plan

_WAITING = (TaskRow.PLANNED, TaskRow.QUEUED, TaskRow.ASSIGNED)


@define
class Mood:
    """When the chaos ends, for a scheduler and all that are made in its place."""

    calm_since: float = float("inf")


@define(eq=False)
class ChaoticScheduler:
    """Plans, takes back, copies and drops; when calm, it only plans what has no plan."""

    random: Random
    mood: Mood = Factory(Mood)

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        """Looks at everything every time; the news is for schedulers in a hurry."""
        governors = list(graph.governors.values())
        if not governors:
            return
        calm = plan.now >= self.mood.calm_since
        for task in list(graph.tasks.values()):
            self._task(task, governors, plan, calm=calm)
        if not calm:
            for data_object in list(graph.objects.values()):
                self._object(data_object, governors, plan)

    def _task(self, task: Task, governors: list[Governor], plan: Plan, *, calm: bool) -> None:
        if _may_move(task) and not calm and self.random.random() < 0.15:
            plan.take_back(task)
        if (task.scheduled is not None and not _is_asked_back(task)) or task.is_done:
            return
        fitting = [g for g in governors if task.kind.resources.fits(g.resources)]
        if fitting and (calm or self.random.random() < 0.6):
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


def _is_asked_back(task: Task) -> bool:
    """Whether it may be said where it goes."""
    return task.row is TaskRow.ASKED and moving.target_of(task) is None


def _may_move(task: Task) -> bool:
    if task.row is TaskRow.ASKED:
        return moving.target_of(task) is not None
    return task.row in _WAITING and not (task.assigned is not None and task.assigned.is_behind)
