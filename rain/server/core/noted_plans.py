"""Records the steps of plans as plain values, and repeats them in a replay.

A scheduler may be foreign code, may draw random numbers, may fail, and may be interrupted. Its only
result is the steps of its plan. With these a turn can be repeated without any scheduler, no matter
which one has planned: the scheduler, its replacement, or the one for nested tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import Factory, define

from rain.base.errors import InvariantError, PlanError
from rain.base.ids import GovernorId, ObjectId, TaskId
from rain.base.runs import RunCause
from rain.graph import DataObject, Governor, Graph, Task, moving, planning
from rain.graph.copy import Copy
from rain.graph.repair import plan_anew
from rain.graph.run import Ending
from rain.scheduler.api import Plan
from rain.server.core import distribution
from rain.server.core.state import State


@define
class Assigned:
    """Tasks were planned, each on its governor."""

    tasks: list[TaskId] = Factory(list)
    governors: list[GovernorId] = Factory(list)
    priorities: list[int] = Factory(list)


@define
class TakenBack:
    """Tasks were withdrawn, or asked back from governors that had been sent them."""

    tasks: list[TaskId] = Factory(list)
    asks: bool = False  # earlier releases stopped such tasks, and did not ask


@define
class Copied:
    """Copies were ordered, each on its governor."""

    objects: list[ObjectId] = Factory(list)
    governors: list[GovernorId] = Factory(list)


@define
class Dropped:
    """Copies were dropped."""

    objects: list[ObjectId] = Factory(list)
    governors: list[GovernorId] = Factory(list)


@define
class Restored:
    """The scheduler had changed nodes itself: all that was planned and not told is taken back."""


Step = Assigned | TakenBack | Copied | Dropped | Restored
Plans = Sequence[Sequence[Step]]


@define
class NotedPlan(Plan):
    """A plan whose steps are noted in columns: neighbours of one kind share a step."""

    made: list[Step] = Factory(list)

    def _plan(self, task: Task, governor: Governor, priority: int = 0) -> None:
        planning.plan(task, governor, priority)
        self._note_assigned(task, governor, priority)

    def _note_assigned(self, task: Task, governor: Governor, priority: int) -> None:
        assigned = self._assigned()
        assigned.tasks.append(task.id)
        assigned.governors.append(governor.id)
        assigned.priorities.append(priority)

    def _plan_all(  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        self, tasks: Sequence[Task], governor: Governor, priorities: Sequence[int]
    ) -> None:
        Plan._plan_all(tasks, governor, priorities)
        assigned = self._assigned()
        assigned.tasks += [task.id for task in tasks]
        assigned.governors += [governor.id] * len(tasks)
        assigned.priorities += priorities

    def _take_back(self, task: Task) -> None:
        super()._take_back(task)
        last = self.made[-1] if self.made else None
        if not isinstance(last, TakenBack):
            self.made.append(last := TakenBack(asks=True))
        last.tasks.append(task.id)

    def _aim(self, task: Task, target: Governor, priority: int) -> None:
        moving.aim(task, target, priority)
        self._note_assigned(task, target, priority)

    def _order_copy(self, data_object: DataObject, governor: Governor) -> None:
        super()._order_copy(data_object, governor)
        self.made.append(Copied([data_object.id], [governor.id]))

    def _drop(self, copy: Copy) -> None:
        super()._drop(copy)
        self.made.append(Dropped([copy.object.id], [copy.governor.id]))

    def _assigned(self) -> Assigned:
        last = self.made[-1] if self.made else None
        if not isinstance(last, Assigned):
            self.made.append(last := Assigned())
        return last


def restored(made: Iterable[Step], plan: Plan) -> list[Step]:
    """The steps of a plan that remain after the plans of the graph were restored.

    Planned tasks are dropped, and so are tasks that it took back before any governor was sent them.
    Requests to governors for tasks, and copies, remain.
    """
    asked = {task.id for _, task, _ in plan.asked}
    left: list[Step] = []
    for step in made:
        match step:
            case TakenBack(tasks):
                again = [task for task in dict.fromkeys(tasks) if task in asked]
                asked.difference_update(again)
                left.append(TakenBack(again, asks=True))
            case Copied() | Dropped():
                left.append(step)
            case Assigned() | Restored():
                pass
    return [*left, Restored()]


def make_again(state: State, plans: Plans) -> None:
    """Makes the noted plans of a turn, each with all that followed from it."""
    for steps in plans:
        plan = Plan(state.graph, state.estimates, state.now)
        try:
            for step in steps:
                _make(step, plan, state)
        except (PlanError, KeyError) as error:
            raise InvariantError(f"a noted plan cannot be made again: {error}") from error
        distribution.apply_plan(state, plan)


def _make(step: Step, plan: Plan, state: State) -> None:
    graph: Graph = state.graph
    match step:
        case Assigned():
            for task, governor, priority in zip(
                step.tasks, step.governors, step.priorities, strict=True
            ):
                plan.assign(graph.tasks[task], graph.governors[governor], priority)
        case TakenBack(asks=True):
            for task in step.tasks:
                plan.take_back(graph.tasks[task])
        case TakenBack():
            ending = Ending(state.now, RunCause.TAKEN_BACK)
            for task in step.tasks:
                plan.stopped += planning.take_back(graph.tasks[task], ending)
        case Copied():
            for data_object, governor in zip(step.objects, step.governors, strict=True):
                plan.copy(graph.objects[data_object], graph.governors[governor])
        case Dropped():
            for data_object, governor in zip(step.objects, step.governors, strict=True):
                plan.drop(graph.objects[data_object], graph.governors[governor])
        case Restored():
            plan_anew(graph)
            state.touched.update(dict.fromkeys(graph.governors.values()))
