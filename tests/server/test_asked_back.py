"""A task that a governor was told of goes elsewhere only when that governor has returned it."""

from __future__ import annotations

import pytest

from rain.base.errors import PlanError
from rain.base.failures import OnFailure
from rain.base.ids import TaskId
from rain.base.runs import RunCause, RunState
from rain.base.states import TaskRow
from rain.base.wire.update import Update
from rain.scheduler.horizon import HorizonScheduler
from rain.scheduler.rain import RainScheduler
from rain.server.core.messages import GovernorAway, GovernorUpdated
from tests.support.scenes import Scene, orders_in, scene, scene_with


def asked() -> tuple[Scene, TaskId]:
    """A task that the first governor was told of, and that is to go to the second one."""
    s = scene(1, 1, on_failure=OnFailure.CONTINUE)
    task, _ = s.draft.task(keep=True)
    s.submit()
    s.assign(task, to=0)
    effects = s.plan(s.taking_back(task), s.assigning(task, to=1))
    ((_, orders),) = orders_in(effects).items()
    assert orders.asked.ids == [task]
    assert not orders.stop_ids
    assert s.world.task(task).row is TaskRow.ASKED
    return s, task


def test_nobody_else_is_told_of_it_before_it_is_given_back() -> None:
    s, task = asked()
    s.world.turn()
    assert not s.governors[1].tasks
    s.governors[0].return_asked(task)
    assert s.governors[1].tasks == {task: 2}
    first, second = s.world.task(task).runs
    assert (first.state, first.cause) == (RunState.WITHDRAWN, RunCause.TAKEN_BACK)
    assert second.is_open


@pytest.mark.parametrize("what", ["started", "finished", "failed"])
def test_it_stays_where_it_has_begun(what: str) -> None:
    s, task = asked()
    here = s.governors[0]
    match what:
        case "started":
            here.start(task)
            assert s.world.task(task).row is TaskRow.RUNNING
        case "finished":
            here.finish(task)
            assert s.world.task(task).row is TaskRow.FINISHED
        case _:
            here.fail(task)
            assert s.world.task(task).row is TaskRow.FAILED
    assert not s.governors[1].tasks
    assert len(s.world.task(task).runs) == 1
    assert s.node(1).active_cpus == 0


def test_the_cpus_count_where_it_is_to_go() -> None:
    s, task = asked()
    assert [s.node(0).active_cpus, s.node(1).active_cpus] == [0, 1]
    s.governors[0].start(task)
    assert [s.node(0).active_cpus, s.node(1).active_cpus] == [1, 0]


def test_without_a_target_it_is_planned_anew_when_it_is_given_back() -> None:
    s = scene(1, 1)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task, to=0)
    s.plan(s.taking_back(task))
    s.governors[0].return_asked(task)
    s.world.turn()
    assert s.world.task(task).row is TaskRow.READY
    assert task in {one.id for heard in s.scripted.heard for one in heard.unplanned}


def test_its_target_may_leave_before_the_answer() -> None:
    s, task = asked()
    s.governors[1].leave()
    s.governors[0].return_asked(task)
    assert s.world.task(task).row is TaskRow.READY


def test_its_target_may_rest_when_the_answer_comes() -> None:
    s, task = asked()
    s.node(1).rest()
    s.governors[0].return_asked(task)
    assert s.world.task(task).row is TaskRow.READY


def test_the_governor_that_has_it_may_leave_before_the_answer() -> None:
    s, task = asked()
    s.governors[0].leave(on_purpose=True)
    assert s.world.task(task).row is TaskRow.READY
    assert s.node(1).active_cpus == 0
    s.assign(task, to=1)
    assert s.governors[1].tasks == {task: 2}


def test_a_governor_that_drains_gives_it_up_with_all_that_it_has_not_begun() -> None:
    s, task = asked()
    late = s.governors[0].returned(task)
    s.world.turn(GovernorUpdated(s.governors[0].id, Update(drains=True)))
    assert s.world.task(task).row is TaskRow.READY
    s.governors[0].send(late)
    assert s.world.state.ignored == 1


def test_it_may_be_cancelled_before_the_answer() -> None:
    s, task = asked()
    late = s.governors[0].returned(task)
    s.client.cancel(s.draft.session, task)
    assert s.world.task(task).row is TaskRow.CANCELLING
    s.governors[0].send(late)
    assert s.world.task(task).row is TaskRow.CANCELLED
    assert not s.governors[1].tasks


def test_its_session_may_end_before_the_answer() -> None:
    s, task = asked()
    late = s.governors[0].returned(task)
    s.client.close(s.draft.session)
    s.governors[0].send(late)
    assert s.node(1).active_cpus == 0
    assert not s.node(1).expected


def test_the_answer_comes_when_the_governor_was_away() -> None:
    s, task = asked()
    s.world.turn(GovernorAway(s.governors[0].id, "cut"))
    assert s.world.task(task).row is TaskRow.ASKED
    assert not s.governors[1].tasks


def test_the_scheduler_may_change_its_mind_about_where() -> None:
    s = scene(1, 1, 1)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task, to=0)
    s.plan(s.taking_back(task), s.assigning(task, to=1))
    effects = s.plan(s.taking_back(task), s.assigning(task, to=2))
    assert orders_in(effects) == {}  # it was asked for once
    s.governors[0].return_asked(task)
    assert s.governors[2].tasks == {task: 2}
    assert s.node(1).active_cpus == 0


def test_what_was_sent_to_follow_it_waits_there_when_it_is_given_back() -> None:
    s = scene(1, 1)
    task, (made,) = s.draft.task()
    reader, _ = s.draft.task(made)
    s.submit()
    s.assign(task, reader)
    assert s.world.task(reader).row is TaskRow.AHEAD
    s.plan(s.taking_back(task), s.assigning(task, to=1))
    assert s.world.task(reader).row is TaskRow.AHEAD
    effects = s.governors[0].return_asked(task)
    assert orders_in(effects)[s.governors[0].id].stop_ids == [reader]
    assert s.world.task(reader).row is TaskRow.PLANNED


def test_nothing_more_is_sent_ahead_of_it() -> None:
    s, task = asked()
    reader, _ = s.draft.task(s.world.task(task).outputs[0].id)
    s.submit()
    s.assign(reader, to=0)
    assert s.world.task(reader).row is TaskRow.PLANNED


def test_what_has_begun_cannot_be_taken_back() -> None:
    s = scene(1)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)
    s.governors[0].start(task)
    with pytest.raises(PlanError, match="cannot be taken back: it has started"):
        s.take_back(task)


def test_what_follows_others_cannot_be_taken_back_without_them() -> None:
    s = scene(1)
    task, (made,) = s.draft.task()
    reader, _ = s.draft.task(made)
    s.submit()
    s.assign(task, reader)
    with pytest.raises(PlanError, match="cannot be taken back: it was sent to"):
        s.take_back(reader)


def test_what_was_asked_back_cannot_be_asked_back_again() -> None:
    s = scene(1)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)
    s.plan(s.taking_back(task))
    with pytest.raises(PlanError, match="cannot be taken back: it was asked back"):
        s.plan(s.taking_back(task))


@pytest.mark.parametrize("make", [RainScheduler, HorizonScheduler])
def test_an_idle_governor_gets_what_a_full_one_gives_back_and_no_more(
    make: type[RainScheduler | HorizonScheduler],
) -> None:
    # given: one governor has all tasks, of which it has begun one, and does not say so
    s = scene_with(make(), 1)
    tasks = [s.draft.task()[0] for _ in range(10)]
    s.submit()
    s.world.turn()
    (full,) = s.governors
    assert sorted(full.tasks) == sorted(tasks)

    # when: another one comes
    idle = s.world.governor(cpus=4)
    s.world.turn(after=10.0)
    wanted = list(full.asked)
    assert wanted
    assert not idle.tasks
    begun, *others = wanted
    full.start(begun)
    full.return_asked(*others)

    # then
    assert sorted(idle.tasks) == sorted(others)
    assert s.world.task(begun).row is TaskRow.RUNNING
    assert all(len(s.world.task(task).runs) <= 2 for task in tasks)
