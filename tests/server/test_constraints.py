"""Constraints hold for the plans of every scheduler, and a pin to no governor is reported."""

from __future__ import annotations

import pytest

from rain.base.constraints import Constraints
from rain.base.errors import PlanError
from rain.base.failures import SessionFailure
from rain.base.ids import TaskId
from rain.base.states import TaskRow
from rain.server.core.messages import Refuse
from tests.support.scenes import Scene, scene
from tests.support.world import new_world

APART = Constraints(apart="heavy")
SPREAD = Constraints(spread="parts")


def refused(s: Scene, task: TaskId, to: int) -> PlanError:
    with pytest.raises(PlanError) as caught:
        s.assign(task, to=to)
    return caught.value


def test_a_pinned_task_is_planned_nowhere_else() -> None:
    # given
    s = scene(1, 1)
    task, _ = s.draft.task(constraints=Constraints(pin=(s.governors[1].address,)))
    s.submit()
    # when / then
    error = refused(s, task, to=0)
    assert error.rule == "pin"
    assert "is pinned to" in str(error)
    s.assign(task, to=1)
    assert task in s.governors[1].tasks


def test_no_governor_has_two_tasks_of_a_group_that_is_apart() -> None:
    s = scene(4, 4)
    first, second, third = [s.draft.task(constraints=APART)[0] for _ in range(3)]
    s.submit()
    s.assign(first, to=0)
    assert refused(s, second, to=0).rule == "apart"
    s.assign(second, to=1)
    # when one has ended, then there is room for the third
    s.governors[0].finish(first)
    s.assign(third, to=0)
    assert third in s.governors[0].tasks


def test_groups_of_two_sessions_have_nothing_to_do_with_each_other() -> None:
    s = scene(4)
    other = s.client.session()
    mine, _ = s.draft.task(constraints=APART)
    theirs, _ = other.task(constraints=APART)
    s.submit()
    s.client.submit(other)
    s.assign(mine)
    s.assign(theirs)
    assert set(s.governors[0].tasks) == {mine, theirs}


def test_a_group_that_is_spread_fills_no_governor_before_the_others() -> None:
    s = scene(4, 4)
    tasks = [s.draft.task(constraints=SPREAD)[0] for _ in range(3)]
    s.submit()
    s.assign(tasks[0], to=0)
    assert refused(s, tasks[1], to=0).rule == "spread"
    s.assign(tasks[1], to=1)
    s.assign(tasks[2], to=0)
    assert len(s.governors[0].tasks) == 2


def test_spreading_counts_only_governors_that_could_run_the_tasks() -> None:
    s = scene(1, 4)
    tasks = [s.draft.task(cpus=2, constraints=SPREAD)[0] for _ in range(2)]
    s.submit()
    s.assign(tasks[0], to=1)
    s.assign(tasks[1], to=1)
    assert len(s.governors[1].tasks) == 2


def test_a_session_that_ends_leaves_no_groups_behind() -> None:
    s = scene(4)
    task, _ = s.draft.task(constraints=APART)
    s.submit()
    s.assign(task)
    assert s.node(0).groups
    s.client.close(s.draft.session)
    assert not s.node(0).groups


def test_a_pin_to_a_governor_that_nobody_knows_is_told_about_and_given_up() -> None:
    # given
    world = new_world()
    world.governor(2)
    client = world.client()
    draft = client.session()
    task, _ = draft.task(constraints=Constraints(pin=("elsewhere",)))
    # when
    client.submit(draft)
    wait = client.wait(draft.session, task)
    # then
    (notice,) = world.notices
    assert "is pinned to elsewhere, which is no governor here" in notice.text
    # when
    world.turn(after=world.state.settings.infeasible_grace)
    # then
    refusal = world.answers[wait]
    assert isinstance(refusal, Refuse)
    assert isinstance(refusal.reason, SessionFailure)
    assert "is pinned to elsewhere" in refusal.reason.message


def test_a_governor_that_the_pin_means_may_join_later() -> None:
    world = new_world()
    world.governor(2)
    client = world.client()
    draft = client.session()
    task, _ = draft.task(constraints=Constraints(pin=("127.0.0.1:9002",)))
    client.submit(draft)
    assert world.task(task).row is TaskRow.READY
    meant = world.governor(1)
    assert task in meant.tasks
    assert not world.state.infeasible.deadlines
