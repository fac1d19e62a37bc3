"""Spec 1.7: tasks."""

from typing import Any

import pytest

from rain.base.resources import Resources
from rain.client import (
    DataObject,
    Output,
    OutputDir,
    RainException,
    Session,
    Task,
    blob,
)
from rain.common import DataType, LabeledList
from rain.common.attributes import TaskSpecInput
from tests.client.fake import World


class Doubled(Task):
    TASK_TYPE = "executor/double"

    def __init__(self, value: object) -> None:
        super().__init__((value,), 1, config={"times": 2})
        self.value = value


def test_a_subclass_names_the_type_of_its_tasks(session: Session) -> None:
    task = Doubled(blob("x"))

    assert task.task_type == "executor/double"
    assert task.spec.config == {"times": 2}


def test_a_task_needs_a_type(session: Session) -> None:
    with pytest.raises(ValueError, match="no task type"):
        Task((), 1)


def test_inputs_are_objects_tasks_and_pairs_with_labels(session: Session) -> None:
    const = blob("x")
    first = Task((), 1, task_type="a/b")

    task = Task((const, ("label", first)), None, task_type="a/b")

    assert task.inputs.data == [const, first.output]
    assert task.inputs["label"] is first.output
    assert task.spec.inputs == [TaskSpecInput(const.id), TaskSpecInput(first.output.id, "label")]
    assert len(task.outputs) == 0
    assert Task(LabeledList([const], ["a"]), 0, task_type="a/b").inputs["a"] is const
    with pytest.raises(KeyError):
        Task((("a", const), ("a", const)), 0, task_type="a/b")
    with pytest.raises(RainException):
        Task(("text",), 0, task_type="a/b")


def test_outputs_are_a_number_or_a_sequence(session: Session) -> None:
    made = DataObject("mine")
    task = Task(
        (),
        ["text", Output("blob", content_type="json", size_hint=100), OutputDir("dir"), made],
        task_type="a/b",
    )

    assert task.outputs.labels == ["text", "blob", "dir", "mine"]
    assert task.outputs["blob"].content_type == "json"
    assert task.outputs["dir"].data_type is DataType.DIRECTORY
    assert task.outputs["mine"] is made
    assert [obj.label for obj in Task((), 2, task_type="a/b").outputs] == [None, None]
    for wrong in ([1], "text", [None]):
        with pytest.raises(TypeError):
            Task((), wrong, task_type="a/b")


def test_output_is_for_tasks_with_exactly_one(session: Session) -> None:
    assert Task((), 1, task_type="a/b").output is not None
    for count in (0, 2):
        with pytest.raises(RainException, match="exactly one"):
            Task((), count, task_type="a/b").output  # noqa: B018


def test_resources_name_and_notes_may_be_changed_until_submit(here: World) -> None:
    with here.session as session:
        task = Task((), 1, task_type="a/b", cpus=2, name="first", user_spec={"note": 1})
        task.spec.resources["gpus"] = 1
        task.spec.user["more"] = 2
        task.spec.name = "second"
        task.spec.config = {"late": True}
        session.submit()

        (kind,) = here.server.submissions[0].task_kinds
        assert kind.resources == Resources(2, (("gpus", 1),))
        assert kind.name == "second"
        assert kind.user == '{"note": 1, "more": 2}'
        assert here.server.submissions[0].tasks.configs == [b'{"late": true}']
        assert task.name == "second"


@pytest.mark.parametrize("cpus", [-1, 1.5, "two"])
def test_resources_are_whole_numbers(session: Session, cpus: object) -> None:
    with pytest.raises(RainException, match="whole number"):
        Task((), 1, task_type="a/b", cpus=cpus)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # the mistake


def test_a_config_is_json(session: Session) -> None:
    with pytest.raises(RainException, match="not JSON"):
        Task((), 1, task_type="a/b", config={"value": object()})
    assert Task((), 1, task_type="a/b").spec.config is None
    assert session.task_count == 1


def test_tasks_are_equal_to_themselves_only(session: Session) -> None:
    first, second = Task((), 1, task_type="a/b"), Task((), 1, task_type="a/b")

    assert first != second
    assert {first: 1, second: 2}[first] == 1
    assert repr(first) == "<Task 3/11 type=a/b>"


def test_outputs_are_kept_fetched_and_unkept_together(here: World) -> None:
    with here.session as session:
        task = Task((), 2, task_type="a/b")
        task.keep_outputs()
        session.submit()
        for i, obj in enumerate(task.outputs):
            here.server.outputs[obj.packed_id] = bytes([i])

        assert [instance.get_bytes() for instance in task.fetch_outputs()] == [b"\0", b"\1"]
        task.unkeep_outputs()
        assert not any(obj.is_kept() for obj in task.outputs)


def test_programs_may_put_their_own_attributes_on_tasks(session: Session) -> None:
    task = Task((), 1, task_type="a/b")
    task.mark = "mine"  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue] # as programs do

    assert task.__dict__ == {"mark": "mine"}


def test_rain_0_4_s_own_name_of_the_session_is_known(session: Session) -> None:
    task: Any = Task((), 1, task_type="buildin/concat")
    assert task._session is session
    assert task.output._session is session
