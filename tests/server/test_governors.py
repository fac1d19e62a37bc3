"""Governors that join, leave, fall silent or break the protocol: events, never a crash."""

from __future__ import annotations

import pytest

from rain.base.ids import GovernorId, TaskId
from rain.base.states import TaskRow, TaskState
from rain.base.wire.update import FinishedTasks, Update
from rain.scheduler.rain import RainScheduler
from rain.server.core.messages import (
    DismissGovernor,
    GovernorJoined,
    GovernorLeft,
    GovernorUpdated,
    OrderGovernor,
)
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.scenes import Scene, orders_in, scene, scene_with


def running() -> tuple[Scene, TaskId, TaskId, TaskId]:
    """A task that runs, one that waits in the queue, and one that is planned, on one governor."""
    s = scene(1, 1, settings=ReactorSettings(overbooking=1, debug=True, governor_silence=100))
    first, (a,) = s.draft.task()
    second, _ = s.draft.task()
    third, _ = s.draft.task(a)
    s.submit()
    s.assign(first, second, third)
    s.governors[0].start(first)
    return s, first, second, third


def test_a_governor_that_joins_is_news_for_the_scheduler() -> None:
    s = scene()
    s.world.governor(3, gpus=2)
    (governor,) = s.scripted.heard[-1].joined
    assert governor.cpus == 3
    assert governor.resources.as_dict() == {"cpus": 3, "gpus": 2}


def test_the_unfinished_tasks_of_a_governor_that_leaves_are_planned_anew() -> None:
    # given
    s, first, second, third = running()

    # when
    effects = s.governors[0].leave()

    # then: the tasks are where they would be without a plan, and the scheduler hears of them
    assert effects == []
    rows = {task: s.world.task(task).row for task in (first, second, third)}
    assert rows == {first: TaskRow.READY, second: TaskRow.READY, third: TaskRow.WAITING}
    news = s.scripted.heard[-1]
    assert [task.id for task in news.unplanned] == [first, second, third]
    assert [governor.number for governor in news.left] == [1]

    # when: the first one is planned on another governor, then: that is its second run
    (orders,) = orders_in(s.assign(first, to=1)).values()
    assert orders.tasks.runs == [2]


def test_queue_and_work_wait_for_a_governor_and_go_on_when_one_joins() -> None:
    # given: a chain on the only governor
    s = scene_with(RainScheduler(), 1)
    first, (a,) = s.draft.task()
    second, _ = s.draft.task(a, keep=True)
    s.submit()

    # when: it leaves, and later another one joins
    s.governors[0].leave()
    s.world.turn()
    late = s.world.governor(1)

    # then
    assert late.tasks == {first: 2, second: 2}
    late.finish(first)
    late.finish(second)
    assert s.world.task(second).state is TaskState.FINISHED


def test_a_governor_without_work_leaves_without_a_trace() -> None:
    s = scene(1, 1)
    assert s.governors[0].leave() == []
    assert list(s.world.state.graph.governors) == [GovernorId(2)]


def test_a_silent_governor_is_dismissed_and_its_work_is_planned_anew() -> None:
    # given: two governors, one of which says nothing for too long
    s, first, _, _ = running()
    for _ in range(3):
        s.world.turn(GovernorUpdated(GovernorId(2), Update()), after=33)

    # when
    effects = s.world.turn(GovernorUpdated(GovernorId(2), Update()), after=33)

    # then
    reason = "nothing was received from it for more than 100 seconds"
    assert effects == [DismissGovernor(GovernorId(1), reason)]
    assert s.world.task(first).row is TaskRow.READY
    assert list(s.world.state.graph.governors) == [GovernorId(2)]


def test_a_silent_governor_is_not_told_to_stop_where_it_may_find_its_way_back() -> None:
    settings = ReactorSettings(debug=True, governor_silence=100.0, returns=True)
    s = scene(1, settings=settings)
    effects = s.world.turn(after=101)
    reason = "nothing was received from it for more than 100 seconds"
    assert effects == [DismissGovernor(GovernorId(1), reason, may_join=True)]


def test_a_governor_that_is_slow_but_not_too_slow_stays() -> None:
    s, first, _, _ = running()
    for _ in range(5):
        s.world.turn(*[GovernorUpdated(g.id, Update()) for g in s.governors], after=99)
    assert s.world.task(first).state is TaskState.RUNNING


def test_what_a_dismissed_governor_still_says_is_ignored() -> None:
    # given: it was stopped for a while, and had finished its task
    s, first, _, _ = running()
    late = s.governors[0].finished(first)
    s.world.turn(GovernorUpdated(GovernorId(2), Update()), after=101)
    assert GovernorId(1) in s.world.dismissed

    # when: it continues, and its link breaks
    effects = s.world.turn(GovernorUpdated(GovernorId(1), late))
    effects += s.world.turn(GovernorLeft(GovernorId(1), "closed"))

    # then
    assert effects == []
    assert s.world.task(first).row is TaskRow.READY
    assert s.world.state.ignored == 1


def test_a_governor_that_restarts_on_the_same_address_is_somebody_else() -> None:
    # given: a governor that was killed while it ran a task
    s, first, _, _ = running()
    address = s.governors[0].address
    s.governors[0].leave()

    # when
    s.world.turn(GovernorJoined(GovernorId(77), address, s.node(1).resources))

    # then: it joins at once, and the reports of its former life are not its own
    node = s.world.state.graph.governors[GovernorId(77)]
    assert node.address == address
    assert not node.scheduled
    report = Update(finished=FinishedTasks([first], [1], [0.1], [1], [5], [b""]))
    assert s.world.turn(GovernorUpdated(GovernorId(77), report)) == []
    assert s.world.task(first).row is TaskRow.READY


@pytest.mark.parametrize("counts", [0, 2])
def test_a_governor_that_breaks_the_protocol_is_dismissed_and_its_task_runs_elsewhere(
    counts: int,
) -> None:
    # given: a task with one output
    s, first, _, _ = running()

    # when: its governor claims another number of outputs
    nonsense = FinishedTasks([first], [1], [0.1], [counts], [5] * counts, [b""] * counts)
    effects = s.world.turn(GovernorUpdated(GovernorId(1), Update(finished=nonsense)))

    # then
    reason = f"1/12 finished with {counts} outputs, it has 1"
    assert effects == [DismissGovernor(GovernorId(1), reason)]
    assert s.world.task(first).row is TaskRow.READY
    (orders,) = orders_in(s.assign(first, to=1)).values()
    assert orders.tasks.runs == [2]


def test_a_governor_that_is_dismissed_in_a_turn_gets_no_orders_in_it() -> None:
    # given: a kept object that is unkept in the turn in which its holder breaks the protocol
    s = scene(2)
    done, _ = s.draft.task()
    bad, _ = s.draft.task()
    s.submit()
    s.assign(done, bad)
    update = s.governors[0].finished(done)
    update.finished.ids.append(bad)
    update.finished.runs.append(1)
    update.finished.durations.append(0.1)
    update.finished.output_counts.append(0)

    # when
    effects = s.world.turn(GovernorUpdated(GovernorId(1), update))

    # then
    assert len(effects) == 1
    assert isinstance(effects[0], DismissGovernor)


def test_work_that_is_left_behind_by_one_governor_is_not_taken_from_others() -> None:
    s = scene(1, 1)
    mine, _ = s.draft.task()
    theirs, _ = s.draft.task()
    s.submit()
    s.assign(mine, to=0)
    s.assign(theirs, to=1)
    s.governors[0].leave()
    assert s.world.governors[0].tasks == {theirs: 1}


def test_a_governor_that_comes_back_finds_no_old_sessions() -> None:
    # given
    s = scene(1, 1)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)

    # when: the session closes after the governor has left
    s.governors[0].leave()
    s.client.close(s.draft.session)

    # then: nobody has to be told
    told = [effect for turn in s.world.effects[-1:] for effect in turn]
    assert not any(isinstance(effect, OrderGovernor) for effect in told)
    assert s.governors[1].told == []


def test_governors_come_and_go_every_turn_and_the_work_gets_done() -> None:
    # given: forty tasks in chains of four
    s = scene_with(RainScheduler())
    kept: list[TaskId] = []
    for _ in range(10):
        made = s.draft.constant(b"start", keep=True)
        for _ in range(3):
            _, (made,) = s.draft.task(made)
        last, _ = s.draft.task(made, keep=True)
        kept.append(last)
    s.submit()

    # when: in every round one joins, each does one task, and the oldest one is killed
    for _ in range(60):
        s.world.governor(2)
        for governor in s.world.governors:
            governor.finish(*governor.runnable()[:1])
        s.world.governors[0].leave()
    last_one = s.world.governor(2)
    while last_one.tasks:
        last_one.finish(*last_one.runnable())

    # then
    assert all(s.world.task(task).state is TaskState.FINISHED for task in kept)


def test_a_heartbeat_has_no_effect() -> None:
    s = scene(1)
    before = s.node(0).heard
    assert s.world.turn(GovernorUpdated(GovernorId(1), Update())) == []
    assert s.node(0).heard > before
