"""A governor that is about to leave gets no tasks, and leaves when nothing is lost with it."""

from __future__ import annotations

import pytest

from rain.base.errors import InvariantError
from rain.base.failures import OnFailure
from rain.base.governors import GovernorRow
from rain.base.ids import ObjectId, TaskId
from rain.base.resources import NO_ROOM
from rain.base.runs import RunCause, RunState
from rain.base.states import TaskRow, TaskState
from rain.base.wire.update import Update
from rain.scheduler.shipped import SCHEDULERS
from rain.server.core.draining import MOVED_AT_ONCE
from rain.server.core.messages import GovernorUpdated
from rain.server.http.status import gather_status
from tests.support.scenes import Scene, scene, scene_with


def kept(s: Scene, on: int = 0, size: int = 100_000) -> tuple[TaskId, ObjectId]:
    """A large result that a client keeps, with its only copy on one governor."""
    task, (made,) = s.draft.task(keep=True)
    s.submit()
    s.run(task, on=on, size=size)
    return task, made


def test_one_that_has_nothing_leaves_at_once() -> None:
    s = scene(1, 1)
    leaving = s.governors[0]
    leaving.drain()
    assert s.world.released == [leaving]
    assert leaving.id not in s.world.state.graph.governors
    assert not s.world.state.drains


def test_what_runs_goes_on_and_the_rest_goes_elsewhere() -> None:
    # given: one runs, one was sent, with one ahead of it, and one waits for another governor
    s = scene(4, 4)
    running, _ = s.draft.task()
    sent, (made,) = s.draft.task()
    ahead, _ = s.draft.task(made)
    _, (far,) = s.draft.task()
    planned, _ = s.draft.task(far)
    s.submit()
    s.assign(running, sent, ahead, planned)

    # when
    s.governors[0].drain(running)

    # then: the scheduler hears of them, and of a governor with other resources
    assert list(s.governors[0].tasks) == [running]
    assert s.world.task(running).row is TaskRow.RUNNING
    rows = [s.world.task(task).row for task in (sent, ahead, planned)]
    assert rows == [TaskRow.READY, TaskRow.WAITING, TaskRow.WAITING]
    assert [task.id for task in s.scripted.heard[-1].unplanned] == [sent, ahead, planned]
    assert s.scripted.heard[-1].joined == [s.node(0)]
    assert s.node(0).row is GovernorRow.DRAINS
    assert s.world.released == []

    # and when that one has finished, it leaves
    leaving = s.governors[0]
    leaving.finish(running, data=b"")
    assert s.world.released == [leaving]
    assert s.world.task(running).state is TaskState.FINISHED


def test_a_copy_that_the_scheduler_drops_in_the_turn_that_has_ordered_it_is_not_fetched() -> None:
    # given: the only copy is on a governor, and the scheduler will drop the one that is made of it
    s = scene(1, 1)
    _, made = kept(s)
    leaving, stays = s.governors
    s.scripted.script.append(lambda plan: plan.drop(s.world.object(made), s.node(1)))

    # when
    leaving.drain()

    # then: nobody fetches what the server does not know of, and the next turn brings it again
    assert s.scripted.refused == []
    assert stays.held == {}
    s.world.turn()
    assert stays.coming == {made: leaving.source}


def test_the_only_copy_of_what_somebody_keeps_is_copied_elsewhere_before_it_leaves() -> None:
    # given
    s = scene(1, 1)
    task, made = kept(s)
    leaving, stays = s.governors

    # when
    leaving.drain()

    # then
    assert stays.coming == {made: leaving.source}
    assert s.world.released == []
    stays.locate(made)
    assert s.world.released == [leaving]
    assert s.world.object(made).located == (stays.node,)
    assert len(s.world.task(task).runs) == 1


def test_what_finishes_while_it_drains_is_copied_too() -> None:
    s = scene(1, 1)
    task, (made,) = s.draft.task(keep=True)
    s.submit()
    s.assign(task)
    leaving, stays = s.governors
    leaving.drain(task)

    leaving.finish(task)

    assert stays.coming == {made: leaving.source}
    stays.locate(made)
    assert s.world.released == [leaving]


def test_what_is_elsewhere_too_and_what_nobody_needs_is_not_copied() -> None:
    # given: one with another copy, a small one that the server has, and one without a handle
    s = scene(1, 1)
    _, copied = kept(s)
    s.copied(copied, to=1)
    kept(s, size=0)
    task, _ = s.draft.task()
    s.submit()
    s.run(task)
    leaving = s.governors[0]

    leaving.drain()

    assert s.governors[-1].fetching() == []
    assert s.world.released == [leaving]


def test_what_a_task_will_read_goes_where_that_task_is_planned() -> None:
    s = scene(1, 1, 1)
    producer, (made,) = s.draft.task()
    s.draft.task(made)
    _, (far,) = s.draft.task()
    both, _ = s.draft.task(made, far)
    s.submit()
    s.run(producer)
    s.assign(both, to=2)
    s.governors[0].drain()
    assert s.governors[2].coming == {made: s.governors[0].source}
    assert not s.governors[1].coming


def test_a_copy_that_does_not_arrive_is_fetched_by_another_governor() -> None:
    s = scene(1, 1, 1)
    _, made = kept(s)
    leaving, second, third = s.governors
    leaving.drain()
    assert second.coming == {made: leaving.source}
    second.leave()
    assert third.coming == {made: leaving.source}
    third.locate(made)
    assert s.world.released == [leaving]


def test_copies_are_moved_a_part_at_a_time() -> None:
    # given
    s = scene(1, 1)
    tasks = [s.draft.task(keep=True)[0] for _ in range(2 * MOVED_AT_ONCE)]
    s.submit()
    s.assign(*tasks)
    s.governors[0].finish(*tasks, size=100_000)
    leaving, stays = s.governors

    # when
    leaving.drain()

    # then
    assert len(stays.fetching()) == MOVED_AT_ONCE
    first = stays.fetching()[0]
    stays.locate(first)
    assert len(stays.fetching()) == MOVED_AT_ONCE
    while stays.fetching():
        stays.locate(*stays.fetching())
    assert s.world.released == [leaving]
    assert all(len(s.world.task(task).runs) == 1 for task in tasks)


def test_the_last_governor_does_not_stay_for_data_that_nobody_can_take() -> None:
    s = scene(1)
    task, _ = kept(s)
    leaving = s.governors[0]
    leaving.drain()
    assert s.world.released == [leaving]
    assert s.world.task(task).state is TaskState.READY  # it is made again where one joins


def test_it_leaves_in_the_turn_in_which_the_only_one_that_fetches_from_it_is_found_silent() -> None:
    # given
    s = scene(1, 1)
    kept(s)
    leaving, silent = s.governors
    leaving.drain()
    assert s.world.released == []

    # when
    s.world.turn(
        GovernorUpdated(leaving.id, Update()), after=s.world.state.settings.governor_silence + 1
    )

    # then
    assert silent.id in s.world.dismissed
    assert s.world.released == [leaving]


def test_two_that_drain_do_not_give_their_data_to_each_other() -> None:
    s = scene(1, 1, 1)
    _, made = kept(s)
    first, second, third = s.governors
    running, _ = s.draft.task()
    s.submit()
    s.assign(running, to=1)
    second.drain(running)
    first.drain()
    assert second.fetching() == []
    assert third.coming == {made: first.source}


def test_one_that_rests_may_drain_and_does_not_go_on_when_its_rest_is_over() -> None:
    s = scene(1, 1)
    running, _ = s.draft.task()
    sent, _ = s.draft.task()
    s.submit()
    s.assign(running, sent)
    s.governors[0].start(running)
    s.governors[0].fail(sent, "no room", RunCause.NOT_STARTED)
    assert s.node(0).row is GovernorRow.RESTS

    s.governors[0].drain()

    s.world.turn(after=1000.0)
    assert s.node(0).row is GovernorRow.DRAINS
    assert s.node(0).resources == NO_ROOM
    with pytest.raises(InvariantError, match="cannot move by 'go on'"):
        s.node(0).go_on()


def test_what_still_runs_when_it_leaves_after_all_is_no_crash() -> None:
    s = scene(1, 1, on_failure=OnFailure.CONTINUE)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)
    s.governors[0].drain(task)
    s.governors[0].leave(on_purpose=True)
    (run,) = s.world.task(task).runs
    assert (run.state, run.cause) == (RunState.LOST, RunCause.GOVERNOR_LEFT)
    assert not s.world.state.drains


def test_what_was_cancelled_there_is_waited_for() -> None:
    s = scene(1, 1, on_failure=OnFailure.CONTINUE)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)
    leaving = s.governors[0]
    leaving.drain(task)
    s.client.cancel(s.draft.session, task, always=True)
    assert s.world.released == []
    leaving.end(task)
    assert s.world.released == [leaving]


def test_that_it_drains_is_said_once_and_is_in_the_status() -> None:
    s = scene(1, 1)
    running, _ = s.draft.task()
    s.submit()
    s.assign(running)
    s.governors[0].drain(running)
    s.governors[0].send(Update(drains=True))
    (told,) = s.world.drains
    assert (told.governor, told.tasks) == (s.governors[0].address, 1)
    states = [line["state"] for line in gather_status(s.world.state, s.world.now)["governors"]]
    assert states == ["drains", "works"]


@pytest.mark.parametrize("scheduler", list(SCHEDULERS))
def test_nothing_is_lost_or_made_again_whichever_scheduler_plans(scheduler: str) -> None:
    # given: pairs of tasks on two governors, with large results between them
    s = scene_with(SCHEDULERS[scheduler](), 2, 2)
    firsts: list[TaskId] = []
    seconds: list[TaskId] = []
    for _ in range(12):
        first, (made,) = s.draft.task()
        second, _ = s.draft.task(made, keep=True)
        firsts.append(first)
        seconds.append(second)
    s.submit()
    leaving, stays = s.governors
    for _ in range(4):
        leaving.finish(leaving.runnable()[0])

    # when
    running = [task for task in leaving.runnable() if s.world.task(task).row is TaskRow.ASSIGNED]
    leaving.drain(*running[:2])
    for _ in range(200):
        if stays.fetching():
            stays.locate(*stays.fetching())
        for governor in list(s.world.governors):
            if governor.runnable():
                governor.finish(governor.runnable()[0])
        s.world.turn()

    # then
    assert s.world.released == [leaving]
    for task in (*firsts, *seconds):
        node = s.world.task(task)
        assert node.state is TaskState.FINISHED
        assert sum(run.state is RunState.FINISHED for run in node.runs) == 1
        assert all(run.state in {RunState.FINISHED, RunState.WITHDRAWN} for run in node.runs)
    assert s.world.scheduler_failures == []
