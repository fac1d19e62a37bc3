"""A task that has failed is tried again on another governor, whichever scheduler plans."""

from __future__ import annotations

import pytest

from rain.base.attempts import Attempts
from rain.base.constraints import Constraints
from rain.base.ids import TaskId
from rain.base.runs import RunCause
from rain.base.states import TaskRow, TaskState
from rain.scheduler.shipped import SCHEDULERS
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.scenes import Scene, scene, scene_with


def governors_of(s: Scene, task: TaskId) -> list[str]:
    """Where its runs were, in their order."""
    return [run.governor for run in s.world.task(task).runs]


def fail_where_it_is(s: Scene, task: TaskId) -> None:
    """Its governor says that it has failed."""
    next(found for found in s.governors if task in found.tasks).fail(task)


def failing(s: Scene, tries: int | Attempts) -> TaskId:
    task, _ = s.draft.task(tries=tries)
    s.submit()
    return task


@pytest.mark.parametrize("scheduler", list(SCHEDULERS))
def test_each_try_is_on_a_governor_where_the_task_has_not_failed(scheduler: str) -> None:
    # given
    s = scene_with(SCHEDULERS[scheduler](), 2, 2, 2)
    task = failing(s, 3)

    # when
    fail_where_it_is(s, task)
    fail_where_it_is(s, task)

    # then
    assert len(set(governors_of(s, task))) == 3
    assert s.world.scheduler_failures == []


@pytest.mark.parametrize("scheduler", list(SCHEDULERS))
def test_a_broken_governor_fails_nothing_that_has_two_tries(scheduler: str) -> None:
    # given: it is always free, because whatever it gets fails at once
    s = scene_with(SCHEDULERS[scheduler](), 1, 1)
    tasks = [s.draft.task(tries=2)[0] for _ in range(40)]
    s.submit()
    broken, healthy = s.governors

    # when
    for _ in range(100):
        if broken.tasks:
            broken.fail(next(iter(broken.tasks)))
        elif healthy.tasks:
            healthy.finish(next(iter(healthy.tasks)), data=b"")
        else:
            s.world.turn()

    # then
    assert {s.world.task(task).state for task in tasks} == {TaskState.FINISHED}
    assert s.world.scheduler_failures == []


def test_when_it_has_failed_everywhere_it_goes_anywhere_but_to_the_last_one() -> None:
    s = scene(1, 1)
    task = failing(s, 4)
    s.assign(task)
    fail_where_it_is(s, task)
    fail_where_it_is(s, task)
    first, second = (governor.address for governor in s.governors)
    assert governors_of(s, task) == [first, second, first]


def test_the_scheduler_plans_what_no_other_governor_can_take() -> None:
    # given: a task for the larger governor, and one for a machine by name
    s = scene(4, 1)
    pin = Constraints(pin=(s.governors[0].address,))
    large, _ = s.draft.task(tries=2, cpus=4)
    pinned, _ = s.draft.task(tries=2, constraints=pin)
    s.submit()
    s.assign(large, pinned)

    # when
    s.governors[0].fail(large)
    s.governors[0].fail(pinned)

    # then
    assert [s.world.task(task).row for task in (large, pinned)] == [TaskRow.READY] * 2
    assert s.world.task(large) in s.scripted.heard[-2].unplanned
    assert s.world.task(pinned) in s.scripted.heard[-1].unplanned


def test_a_crash_of_an_executor_leads_elsewhere_and_a_lost_governor_to_the_scheduler() -> None:
    s = scene(1, 1, 1)
    task = failing(s, 1)
    s.assign(task)
    s.governors[0].fail(task, cause=RunCause.EXECUTOR)
    assert task in s.governors[1].tasks
    s.governors[1].leave()
    assert s.world.task(task).scheduled is None


def test_the_next_try_goes_before_what_waits_there() -> None:
    settings = ReactorSettings(debug=True, governor_silence=1e9, overbooking=1)
    s = scene(1, 1, settings=settings)
    sent, waiting = (s.draft.task()[0] for _ in range(2))
    task = failing(s, 2)
    s.assign(sent, waiting, to=1, priority=9)
    s.assign(task)

    s.governors[0].fail(task)

    assert list(s.governors[1].tasks) == [sent]
    s.governors[1].finish(sent)
    assert list(s.governors[1].tasks) == [task]


def test_a_task_that_pauses_after_its_failure_goes_elsewhere_when_the_pause_is_over() -> None:
    s = scene(1, 1)
    task = failing(s, Attempts(2, backoff=60.0))
    s.assign(task)
    s.governors[0].fail(task)
    assert s.world.task(task).row is TaskRow.PAUSED
    s.world.turn(after=60.0)
    assert task in s.governors[1].tasks


def test_a_spread_group_stays_within_its_rule() -> None:
    # given
    s = scene(2, 2, 2)
    spread = Constraints(spread="group")
    tasks = [s.draft.task(tries=2, constraints=spread)[0] for _ in range(3)]
    s.submit()
    s.plan(*[s.assigning(task, to=place) for place, task in enumerate(tasks)])

    # when: each of the others has one of the group
    s.governors[0].fail(tasks[0])

    # then
    assert s.world.task(tasks[0]).row is TaskRow.READY
