"""A governor that rests or drains gets nothing, not even tasks that need no cpus."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rain.base.constraints import Constraints
from rain.base.errors import PlanError
from rain.base.states import TaskRow
from rain.scheduler.shipped import SCHEDULERS
from rain.server.core import rests
from tests.support.scenes import Scene, scene, scene_with


def rest(s: Scene) -> None:
    """The only governor could not start its task, and rests for long."""
    rests.begin(s.world.state, s.node(0), 600.0, "Too many open files")
    rests.ask_for_unstarted(s.world.state, s.node(0))
    s.world.turn()
    s.governors[0].return_asked()


def drain(s: Scene) -> None:
    """The only governor has started its task, and is told to end."""
    (governor,) = s.governors
    governor.drain(*governor.tasks)


@pytest.mark.parametrize("ends", [rest, drain])
@pytest.mark.parametrize("constraints", [None, Constraints(spread="these")])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_tasks_without_cpus_wait_for_a_governor_that_works(
    name: str, constraints: Constraints | None, ends: Callable[[Scene], None]
) -> None:
    # given
    s = scene_with(SCHEDULERS[name](), 1)
    s.draft.task()
    s.submit()
    ends(s)
    assert s.node(0).rests
    # when
    readers = [s.draft.task(cpus=0, constraints=constraints)[0] for _ in range(4)]
    s.submit()
    s.world.turn()
    # then
    assert not s.world.scheduler_failures
    assert {s.world.task(task).row for task in readers} == {TaskRow.READY}
    # when
    healthy = s.world.governor(2).node
    s.world.turn()
    # then
    assert not s.world.scheduler_failures
    assert {s.world.task(task).assigned for task in readers} == {healthy}


@pytest.mark.parametrize("ends", [rest, drain])
def test_a_plan_with_such_a_task_is_refused_by_name(ends: Callable[[Scene], None]) -> None:
    s = scene(1)
    first, _ = s.draft.task()
    idle, _ = s.draft.task(cpus=0)
    s.submit()
    s.assign(first)
    ends(s)
    with pytest.raises(PlanError, match="gets no tasks now") as caught:
        s.assign(idle)
    assert caught.value.rule == "rests"
    assert s.world.task(idle).row is TaskRow.READY
