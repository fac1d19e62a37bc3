"""Late, repeated and reordered reports are recognised by their run, and change nothing."""

from __future__ import annotations

import pytest

from rain.base.ids import GovernorId, TaskId
from rain.base.states import ObjectState, TaskRow, TaskState
from rain.base.wire.update import FinishedTasks, TaskFailure, TaskNote, Update
from rain.server.core.messages import GovernorUpdated
from tests.support.scenes import Scene, scene


def moved() -> tuple[Scene, TaskId]:
    """A task that was sent to the first governor, taken back, and sent to the second one."""
    s = scene(1, 1)
    task, _ = s.draft.task(keep=True)
    s.submit()
    s.assign(task, to=0)
    s.take_back(task)
    s.assign(task, to=1)
    assert len(s.world.task(task).runs) == 2
    return s, task


def report(what: str, task: TaskId, run: int) -> Update:
    match what:
        case "started":
            return Update(started_ids=[task], started_runs=[run])
        case "returned":
            return Update(returned_ids=[task], returned_runs=[run])
        case "finished":
            return Update(finished=FinishedTasks([task], [run], [0.1], [1], [5], [b"stale"]))
        case _:
            return Update(failed=[TaskFailure(task, run, "stale")])


@pytest.mark.parametrize("what", ["started", "finished", "failed", "returned"])
@pytest.mark.parametrize(("governor", "run"), [(1, 1), (1, 2), (2, 1), (2, 3)])
def test_news_of_another_run_or_from_another_governor_is_ignored(
    what: str, governor: int, run: int
) -> None:
    # given
    s, task = moved()

    # when
    event = GovernorUpdated(GovernorId(governor), report(what, task, run))
    effects = s.world.turn(event)

    # then
    assert effects == []
    assert s.world.state.ignored == 1
    assert s.world.task(task).row is TaskRow.ASSIGNED
    assert s.world.state.graph.sessions[s.draft.session].failure is None
    s.governors[1].finish(task)
    assert s.world.task(task).state is TaskState.FINISHED


@pytest.mark.parametrize("what", ["started", "finished", "failed", "returned"])
def test_news_of_a_finished_task_is_ignored(what: str) -> None:
    s, task = moved()
    s.governors[1].finish(task, data=b"right")
    s.world.turn(GovernorUpdated(GovernorId(2), report(what, task, 2)))
    (output,) = s.world.task(task).outputs
    assert s.world.task(task).state is TaskState.FINISHED
    assert output.data == b"right"
    assert s.world.state.ignored == 1


def test_a_second_start_of_the_same_run_does_not_move_its_time() -> None:
    s, task = moved()
    s.governors[1].start(task)
    started = s.world.task(task).started
    s.governors[1].start(task)
    assert s.world.task(task).started == started


def test_a_task_may_finish_without_having_started() -> None:
    # given: its start and end came in the same instant, and only the end was told
    s, task = moved()
    s.governors[1].finish(task)
    assert s.world.task(task).started == s.world.now - 0.5


def test_a_task_that_finished_while_it_was_asked_back_has_finished() -> None:
    # given: the report of the first governor is under way
    s = scene(1, 1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.assign(task, to=0)
    late = s.governors[0].finished(task)

    # when
    s.plan(s.taking_back(task), s.assigning(task, to=1))
    s.governors[0].send(late)

    # then
    assert s.world.task(task).row is TaskRow.FINISHED
    assert s.world.object(a).located == (s.node(0),)
    assert not s.governors[1].tasks
    assert s.node(1).active_cpus == 0


def test_a_copy_that_arrives_after_it_was_dropped_is_ignored() -> None:
    # given
    s = scene(1, 1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.run(task, on=0)
    s.copy(a, to=1)
    late = s.governors[1].located(a)
    s.drop(a, at=1)

    # when / then
    assert s.governors[1].send(late) == []
    assert s.world.object(a).located == (s.node(0),)
    assert s.world.state.ignored == 1


def test_a_copy_that_arrives_where_the_object_is_made_again_is_ignored() -> None:
    # given: a copy is on its way to where the maker runs again, for the sake of what was lost
    s = scene(1, 1, 1)
    task, (a, b) = s.draft.task(outputs=2, keep=True)
    s.submit()
    s.run(task, on=2)
    s.copied(a, to=0)
    s.copy(a, to=1)
    late = s.governors[1].located(a)
    s.governors[2].leave()
    s.assign(task, to=1)

    # when / then
    assert s.governors[1].send(late) == []
    assert s.world.object(a).located == (s.node(0),)
    assert s.world.state.ignored == 1
    s.governors[1].finish(task)
    assert {s.world.object(one).state for one in (a, b)} == {ObjectState.FINISHED}


def test_notes_of_a_task_count_only_from_the_governor_that_runs_it() -> None:
    s, task = moved()
    note = TaskNote(task, '{"x": 1}', "debug")
    s.world.turn(GovernorUpdated(GovernorId(1), Update(task_notes=[note])))
    assert s.world.task(task).user == ""
    s.world.turn(GovernorUpdated(GovernorId(2), Update(task_notes=[note])))
    assert s.world.task(task).user == '{"x": 1}'
    assert s.world.task(task).last_run().debug == "debug"
