"""What handles say of tasks and objects that are inside of a unit, and whom a failure names."""

import gc
from collections.abc import Callable

import pytest

from rain.base.failures import OnFailure, SessionFailure
from rain.base.units import failure_inside
from rain.client import (
    DataObject,
    RainException,
    Task,
    TaskException,
)
from rain.client.rpc.common import DataObjectState, TaskState
from tests.client.fake import World
from tests.client.fused import chain, inc
from tests.support.chained import step

# What handles say.


def test_a_task_inside_is_waited_for_with_its_unit(here: World) -> None:
    with here.session:
        made = chain(4)
        here.session.submit(fuse=True)
        assert {task.state for task in made} == {TaskState.notAssigned}
        made[1].wait()
        made[0].output.wait()
        unit = made[3].packed_id
        assert [tasks for tasks, *_ in here.server.waits] == [[unit], [unit]]
        assert made[1].state is TaskState.finished
        assert made[0].output.state is DataObjectState.removed
        assert made[1].unit is not None
        assert made[1].unit.members == tuple(task.packed_id for task in made)


def test_some_that_are_waited_for_may_be_inside(here: World) -> None:
    with here.session:
        made = chain(3)
        other = inc(5)
        here.session.submit(fuse=True)
        here.server.unfinished.add(other.packed_id)
        done, objects = here.session.wait_some([made[0], other, made[1].output, made[2].output])
        assert done == [made[0]]
        assert objects == [made[1].output, made[2].output]
        assert made[0].state is TaskState.finished
        assert made[1].output.state is DataObjectState.removed
        assert made[2].output.state is DataObjectState.finished
        assert here.server.waits[-1][0] == [made[2].packed_id, other.packed_id]
        assert here.session.wait_some([made[0].output]) == ([], [made[0].output])


def test_after_all_is_finished_what_was_inside_is_gone(here: World) -> None:
    with here.session:
        made = chain(2)
        here.session.submit(fuse=True)
        here.session.wait_all()
        assert [task.state for task in made] == [TaskState.finished] * 2
        assert made[0].output.state is DataObjectState.removed
        assert made[1].output.state is DataObjectState.finished


def test_an_update_tells_of_the_unit(here: World) -> None:
    with here.session:
        made = chain(3)
        here.session.submit(fuse=True)
        here.session.update([made[1], made[0].output, made[2].output])
        assert made[1].state is TaskState.finished
        assert made[1].info is not None
        assert made[1].info.duration == 0.25
        assert made[0].output.state is DataObjectState.removed
        assert made[2].output.state is DataObjectState.finished


USES: list[Callable[[DataObject], object]] = [
    lambda obj: obj.fetch(),
    lambda obj: obj.keep(),
    lambda obj: obj.download("/nowhere"),
    lambda obj: obj.session.compute(obj),
    lambda obj: obj.session.fetch_all([obj]),
]


@pytest.mark.parametrize("use", USES)
def test_what_is_inside_cannot_be_had(here: World, use: Callable[[DataObject], object]) -> None:
    with here.session:
        made = chain(3)
        here.session.submit(fuse=True)
        gone = r"<DataObject 1/.* has disappeared inside the unit 'inc x 3' \(task 1/.*keep\(\)"
        with pytest.raises(RainException, match=gone):
            use(made[1].output)


def test_a_later_task_cannot_read_what_is_inside(here: World) -> None:
    with here.session:
        made = chain(3)
        here.session.submit(fuse=True)
        for fuse in (False, True):
            inc(made[1])
            with pytest.raises(RainException, match="has disappeared inside the unit 'inc x 3'"):
                here.session.submit(fuse=fuse)
        assert here.session.task_count == 2


# Failures.


def failing(here: World, made: list[Task], place: int) -> SessionFailure:
    task = made[place - 1]
    text = failure_inside(task.packed_id, task.name or "", place, len(made), "Traceback: bad")
    return SessionFailure(text, "1 of 3 (inc): words", made[-1].packed_id)


def test_a_failure_names_the_task_inside(here: World) -> None:
    with here.session:
        made = [inc(0), step(1)]
        made = [made[0], step(made[0])]
        made.append(inc(made[1]))
        here.session.submit(fuse=True)
        here.server.failures[1] = failing(here, made, 2)
        with pytest.raises(TaskException) as caught:
            made[2].wait()
        lines = str(caught.value).splitlines()
        assert lines[0] == f"Task {made[1]!r} failed"
        assert lines[1] == "It is number 2 of 3 tasks in the unit 'inc + step + inc'"
        assert lines[2].startswith("Message: Task 1/")
        assert lines[3] == "Traceback: bad"
        assert "made = [made[0], step(made[0])]" in str(caught.value)
        assert lines[-1] == "1 of 3 (inc): words"
        assert caught.value.task_id == made[1].id


def test_after_a_failure_the_tasks_before_it_are_finished(here: World) -> None:
    with here.session:
        made = chain(4)
        here.session.submit(fuse=True)
        here.server.failures[1] = failing(here, made, 3)
        with pytest.raises(TaskException):
            here.session.wait(made)
        assert [task.state for task in made] == [
            TaskState.finished,
            TaskState.finished,
            TaskState.failed,
            TaskState.notAssigned,
        ]
        assert made[2].info is not None
        assert "Traceback: bad" in made[2].info.error
        assert made[1].info is None


def test_in_a_session_that_goes_on_those_behind_it_fail_with_it(here: World) -> None:
    here.session.on_failure = OnFailure.CONTINUE
    with here.session:
        made = chain(3)
        here.session.submit(fuse=True)
        here.server.failures[1] = failing(here, made, 2)
        for task, state in zip(made, ("finished", "failed", "failed"), strict=True):
            with pytest.raises(TaskException):
                task.wait()
            assert task.state is TaskState[state]


def test_when_the_executor_ended_nobody_knows_which_task_it_was(here: World) -> None:
    with here.session:
        made = chain(3)
        here.session.submit(fuse=True)
        here.server.failures[1] = SessionFailure("killed by signal 9", "", made[2].packed_id)
        with pytest.raises(TaskException) as caught:
            here.session.wait(made)
        assert "for the unit 'inc x 3': one of its 3 tasks has failed" in str(caught.value)
        assert {task.state for task in made} == {TaskState.failed}


def test_a_unit_goes_with_the_last_handle_of_its_tasks(here: World) -> None:
    with here.session as session:
        made = chain(3)
        session.submit(fuse=True)
        session.wait_all()
        ids = [task.packed_id for task in made]
        history = session._outgoing.history  # pyright: ignore[reportPrivateUsage]
        # when: one handle is left
        del made[1:]
        gc.collect()
        here.client.housekeeper.flush()
        assert here.server.gone_tasks == []
        assert history.unit(ids[-1]) is not None
        assert made[0].state is TaskState.finished
        # and when
        made.clear()
        gc.collect()
        here.client.housekeeper.flush()
        # then
        assert here.server.gone_tasks == [ids[-1]]
        assert history.unit(ids[-1]) is None
        assert [history.find(one) for one in ids] == [None] * 3
