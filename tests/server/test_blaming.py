"""A governor on which tasks fail that finish elsewhere gets no tasks for a while."""

from __future__ import annotations

import pytest

from rain.base.ids import TaskId
from rain.base.runs import RunCause, RunState
from rain.base.states import TaskRow, TaskState
from rain.scheduler.shipped import SCHEDULERS
from rain.server.http.status import gather_status
from tests.support.scenes import Scene, scene, scene_with


def tried_again(s: Scene, cause: RunCause = RunCause.TASK) -> TaskId:
    """One more task that has failed on the first governor; the second one has it now."""
    task, _ = s.draft.task(tries=2)
    s.submit()
    s.assign(task)
    s.governors[0].fail(task, 'Traceback\n  File "work.py"\nOSError: no such device', cause)
    assert task in s.governors[1].tasks
    return task


def blame(s: Scene, count: int = 1, cause: RunCause = RunCause.TASK) -> None:
    """This number of tasks fail on the first governor and finish on the second one."""
    for _ in range(count):
        s.governors[1].finish(tried_again(s, cause))


@pytest.mark.parametrize("cause", [RunCause.TASK, RunCause.TIMEOUT, RunCause.EXECUTOR])
def test_with_the_third_task_that_finishes_elsewhere_it_rests_and_people_are_told(
    cause: RunCause,
) -> None:
    s = scene(1, 1)
    blame(s, 2, cause)
    assert not s.node(0).rests

    blame(s, 1, cause)

    assert s.node(0).rests
    (told,) = s.world.rests
    assert told.governor == s.governors[0].address
    assert (
        told.why == "tasks that fail there finish elsewhere; the last one: OSError: no such device"
    )
    (shown, _) = gather_status(s.world.state, s.world.now)["governors"]
    assert (shown["rests"], shown["rests_why"]) == (told.seconds, told.why)


def test_what_fails_elsewhere_too_and_finishes_here_blames_only_the_other() -> None:
    s = scene(1, 1)
    for _ in range(2):
        task, _ = s.draft.task(tries=3)
        s.submit()
        s.assign(task)
        s.governors[0].fail(task)
        s.governors[1].fail(task)
        s.governors[0].finish(task)
    assert s.world.state.back_off.blamed == {s.node(1): 2}


def test_each_task_that_it_finishes_makes_up_for_one() -> None:
    # given: half of its tasks fail, as where one of two gpus is broken
    s = scene(1, 1)
    for _ in range(8):
        blame(s)
        task, _ = s.draft.task()
        s.submit()
        s.assign(task)
        s.governors[0].finish(task)
    assert not s.node(0).rests
    assert not s.world.state.back_off.blamed


def test_what_it_has_and_has_not_started_is_planned_anew_and_what_runs_goes_on() -> None:
    # given: one that runs, one that was only sent, with one that was sent ahead, and one planned
    s = scene(1, 1)
    running, _ = s.draft.task()
    sent, (made,) = s.draft.task()
    ahead, _ = s.draft.task(made)
    elsewhere, (far,) = s.draft.task()
    planned, _ = s.draft.task(far)
    s.submit()
    s.assign(running, sent, ahead, planned)
    s.governors[0].start(running)
    assert s.world.task(ahead).row is TaskRow.AHEAD

    # when
    blame(s, 3)
    assert list(s.governors[0].asked) == [sent]
    s.governors[0].return_asked()
    s.world.turn()

    # then
    assert list(s.governors[0].tasks) == [running]
    rows = [s.world.task(task).row for task in (sent, ahead, planned)]
    assert rows == [TaskRow.READY, TaskRow.WAITING, TaskRow.WAITING]
    unplanned = {task.id for heard in s.scripted.heard for task in heard.unplanned}
    assert unplanned >= {sent, ahead, planned}
    assert s.world.task(elsewhere).scheduled is None


def test_it_gets_tasks_again_and_rests_for_longer_the_next_time() -> None:
    s = scene(1, 1)
    lengths: list[float] = []
    for _ in range(3):
        blame(s, 3)
        lengths.append(s.world.rests[-1].seconds)
        s.world.turn(after=lengths[-1])
        assert not s.node(0).rests
    assert lengths == [20.0, 30.0, 50.0]


def test_what_had_failed_before_it_rested_says_nothing_after_its_rest() -> None:
    # given: six tasks have failed there, of which three have finished elsewhere
    s = scene(1, 8)
    late = [tried_again(s) for _ in range(3)]
    blame(s, 3)
    s.world.turn(after=20.0)
    assert not s.node(0).rests

    # when
    s.governors[1].finish(*late)

    # then
    assert not s.node(0).rests
    assert not s.world.state.back_off.blamed


def test_the_last_governor_that_works_goes_on() -> None:
    s = scene(1, 1)
    tasks = [tried_again(s) for _ in range(3)]
    s.node(1).rest()  # it cannot start tasks at the moment
    s.governors[1].finish(*tasks)
    assert not s.node(0).rests


def test_a_governor_that_has_left_cannot_be_blamed() -> None:
    s = scene(1, 1)
    blame(s, 2)
    task = tried_again(s)
    second = s.governors[1]
    s.governors[0].leave()
    second.finish(task)
    assert not s.world.state.back_off.blamed
    assert not s.world.rests


@pytest.mark.parametrize("scheduler", list(SCHEDULERS))
def test_a_broken_governor_costs_few_tries_whichever_scheduler_plans(scheduler: str) -> None:
    # given: whatever the first governor gets fails at once
    s = scene_with(SCHEDULERS[scheduler](), 1, 1)
    tasks = [s.draft.task(tries=2)[0] for _ in range(60)]
    s.submit()
    broken, healthy = s.governors

    # when
    for _ in range(80):
        if broken.asked:
            broken.return_asked()
        if broken.tasks:
            broken.fail(next(iter(broken.tasks)))
        if healthy.tasks:
            first = max(healthy.tasks, key=lambda task: s.world.task(task).priority)
            healthy.finish(first, data=b"")

    # then
    assert {s.world.task(task).state for task in tasks} == {TaskState.FINISHED}
    assert s.world.rests
    runs = [run for task in tasks for run in s.world.task(task).runs]
    assert sum(run.state is RunState.FAILED for run in runs) < 15
