"""Turns are made again without a scheduler, from what it has planned."""

from __future__ import annotations

from collections.abc import Callable
from random import Random, SystemRandom

import pytest
from attrs import Factory, define

from rain.base.errors import InvariantError
from rain.base.ids import GovernorId, TaskId
from rain.graph import Graph
from rain.scheduler import shipped
from rain.scheduler.api import News, Plan, Scheduler
from rain.scheduler.rain import RainScheduler
from rain.scheduler.throttle import Thresholds
from rain.server.core.noted_plans import Assigned, make_again
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from tests.support.chaos import ChaoticScheduler
from tests.support.remaking import remake
from tests.support.runs import wild_run
from tests.support.scenes import scene_with
from tests.support.world import new_world

SETTINGS = ReactorSettings(overbooking=3, fetch_tries=2, debug=True, thresholds=Thresholds(0.1))


@define(eq=False)
class Failing:
    """Plans like `rain` and raises in one run of three, before or after its steps."""

    planner: RainScheduler = Factory(RainScheduler)
    runs: int = 0

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        self.runs += 1
        if self.runs % 6 == 0:
            raise RuntimeError("before")
        self.planner.schedule(graph, news, plan)
        if self.runs % 6 == 3:
            raise RuntimeError("after")


MAKERS: dict[str, Callable[[], Scheduler]] = {
    **shipped.SCHEDULERS,
    "never twice the same": lambda: ChaoticScheduler(SystemRandom()),
    "failing": Failing,
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_run_is_made_again_from_its_inputs_and_plans_alone(name: str) -> None:
    # given: losses, failures, late reports, and a scheduler that is interrupted now and then
    world = wild_run(Random(name).randrange(99), MAKERS[name], SETTINGS).world
    # when / then: every turn has the same effects, and in the end the server knows the same
    remake(world)
    assert sum(len(output.plans or ()) for output in world.outputs) > 10


def test_the_plan_of_one_who_takes_the_schedulers_place_is_noted_too() -> None:
    # given: a scheduler that never gets further than one step
    s = scene_with(RainScheduler(), 2)
    tasks = [s.draft.task()[0] for _ in range(3)]
    s.world.interrupt_after = 1
    # when
    s.submit()
    # then
    plans = s.world.outputs[-1].plans
    assert plans is not None
    assert len(plans) == 2
    assert sorted(_assigned(plans[0]) + _assigned(plans[1])) == tasks
    assert len(_assigned(plans[0])) == 1
    remake(s.world)


def _assigned(steps: object) -> list[TaskId]:
    assert isinstance(steps, list)
    return [task for step in steps if isinstance(step, Assigned) for task in step.tasks]


def test_tasks_that_are_planned_together_are_one_step() -> None:
    s = scene_with(RainScheduler(), 2)
    tasks = [s.draft.task()[0] for _ in range(5)]
    s.submit()
    plans = s.world.outputs[-1].plans
    assert plans is not None
    ((step,),) = plans
    assert isinstance(step, Assigned)
    assert step.tasks == tasks
    assert step.governors == [s.governors[0].id] * 5


def test_a_plan_of_another_run_is_an_error_of_ours() -> None:
    state = State(SETTINGS)
    with pytest.raises(InvariantError, match="a noted plan cannot be made again"):
        make_again(state, [[Assigned([TaskId(1)], [GovernorId(1)], [0])]])


def test_a_reactor_that_nobody_asks_to_notes_no_plans() -> None:
    world = new_world()
    world.reactor.scheduling.notes = None
    world.reactor.notes_plans = False
    world.governor()
    client = world.client()
    draft = client.session()
    draft.task()
    client.submit(draft)
    assert all(output.plans is None for output in world.outputs[-2:])
