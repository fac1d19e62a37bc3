"""Spec 1.7, 1.8 and 1.15: tasks of the user's own types, specs and infos."""

from typing import Any

import pytest

from rain.client import Client, DataObject, Output, RainException, Session, Task, blob, tasks
from rain.client.rpc.common import TaskState
from tests.compat.running import failure, result
from tests.support.modes import in_processes

pytestmark = pytest.mark.whole


class Join(Task):
    """A type of task as users extend Rain."""

    TASK_TYPE = "buildin/concat"

    def __init__(self, left: Any, right: Any) -> None:
        super().__init__((("left", left), ("right", right)), (Output("joined"),))


def test_a_subclass_with_a_task_type_runs(session: Session) -> None:
    task = Join(blob("a"), tasks.Concat([blob("b")]))

    assert task.inputs["left"].label == "const"
    assert task.outputs.labels == ["joined"]
    assert result(task) == b"ab"
    assert session.task_count == 0


def test_a_task_type_that_nobody_has_is_named(client: Client) -> None:
    def unknown(task_type: str) -> str:
        return failure(client, lambda: Task((), 1, task_type=task_type))

    assert "nobody/method" in unknown("nobody/method")
    assert "buildin/nothing" in unknown("buildin/nothing")


def test_notes_and_resources_travel_with_the_task(session: Session) -> None:
    task = Task((), 1, task_type="buildin/concat", user_spec={"a": 1})
    task.spec.user["b"] = [2, {"c": None}]
    task.spec.resources["cpus"] = 2
    session.submit()
    task.wait()
    assert task.info is None  # waiting does not fetch it

    task.update()

    assert task.state is TaskState.finished
    assert task.spec.to_json()["user"] == {"a": 1, "b": [2, {"c": None}]}
    assert task.spec.to_json()["resources"] == {"cpus": 2}
    assert task.info is not None
    assert task.info.error == ""
    assert task.info.start_time
    assert task.info.duration is not None


def test_an_output_may_be_an_object_that_was_made_before(session: Session) -> None:
    obj = DataObject("mine", content_type="text")
    task = Task((blob("x"),), (obj,), task_type="buildin/concat")

    assert task.output is obj
    assert result(task) == b"x"
    assert obj.fetch().load() == "x"


@in_processes
def test_a_state_after_update_is_the_one_of_the_server(session: Session) -> None:
    task = tasks.Sleep(blob("x"), 0.1)
    session.submit()
    states: list[TaskState | None] = []
    while task.state is not TaskState.finished:
        task.update()
        states.append(task.state)

    assert states == sorted(states, key=lambda state: -1 if state is None else state.value)
    assert TaskState.running in states


def test_all_items_of_an_update_must_be_tasks_or_objects(client: Client, session: Session) -> None:
    task = tasks.Concat([])
    session.submit()
    for update in (client.update, session.update):
        with pytest.raises(RainException):
            update([task, "text"])  # type: ignore[list-item] # pyright: ignore[reportArgumentType] # is refused


@in_processes
def test_a_task_of_no_cpus_runs_beside_busy_ones(session: Session) -> None:
    busy = [tasks.Sleep(blob("x"), 60, cpus=2) for _ in range(2)]
    session.submit()
    while any(task.state is not TaskState.running for task in busy):
        session.update(busy)

    tasks.Sleep(blob("y"), 0.01, cpus=0)
    free = tasks.Sleep(blob("y"), 0.01, cpus=0)
    session.submit()
    free.wait()

    assert free.state is TaskState.finished
