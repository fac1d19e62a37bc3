"""What a submit looks like on the wire."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rain.base.kinds import DataType
from rain.base.resources import Resources
from rain.client import Output, OutputDir, Session, Task, blob, directory, remote
from rain.client.submission import Batch, KindTable, build
from tests.client.fake import World


@remote()
def work(ctx: Any, value: Any) -> Any:
    return value


def test_ten_thousand_calls_are_one_kind(here: World) -> None:
    with here.session as session:
        made = [work(i) for i in range(10_000)]
        session.submit()

        (message,) = here.server.submissions
        assert message.session == session.session_id
        assert [kind.name for kind in message.task_kinds] == ["work"]
        assert len(message.object_kinds) == 2
        assert len(message.tasks.ids) == 10_000
        assert set(message.tasks.kinds) == {message.task_kinds[0].id}
        assert message.tasks.inputs == [made[0].inputs[0].packed_id] * 10_000
        assert len(message.constants.ids) == 1
        assert message.kept == [made[0].inputs[0].packed_id]


def test_a_kind_says_all_that_tasks_share(here: World) -> None:
    with here.session as session:
        Task(
            (blob("x"), ("label", directory())),
            [Output("a", content_type="json", size_hint=7), OutputDir("d")],
            task_type="a/b",
            name="name",
            cpus=3,
            user_spec={"k": 1},
        )
        session.submit()

        (message,) = here.server.submissions
        (kind,) = message.task_kinds
        objects = {known.id: known for known in message.object_kinds}
        assert (kind.task_type, kind.name, kind.user) == ("a/b", "name", '{"k": 1}')
        assert kind.resources == Resources(3)
        assert kind.input_labels == ("", "label")
        first, second = (objects[output] for output in kind.outputs)
        assert (first.label, first.content_type, first.size_hint) == ("a", "json", 7)
        assert (second.label, second.data_type) == ("d", DataType.DIRECTORY)
        assert message.tasks.configs == [b""]
        assert message.tasks.input_counts == [2]


def test_a_kind_is_told_once(here: World) -> None:
    with here.session as session:
        work(1)
        session.submit()
        work(2)
        work(3, name="other")
        session.submit()

        first, second = here.server.submissions
        assert [kind.name for kind in first.task_kinds] == ["work"]
        assert [kind.name for kind in second.task_kinds] == ["other"]
        assert second.tasks.kinds[0] == first.tasks.kinds[0]
        assert second.object_kinds == []


def test_an_output_with_notes_of_its_own_is_a_kind_of_its_own(here: World) -> None:
    with here.session as session:
        special, ordinary = work(1), work(2)
        special.output.spec.user["_testing"] = {"size": 5}
        special.output.spec.label = "renamed"
        session.submit()

        (message,) = here.server.submissions
        kinds = {kind.id: kind for kind in message.task_kinds}
        objects = {kind.id: kind for kind in message.object_kinds}
        of = [objects[kinds[kind].outputs[0]] for kind in message.tasks.kinds]
        assert [kind.user for kind in of] == ['{"_testing": {"size": 5}}', ""]
        assert of[0].label == special.output.label == "renamed"
        assert ordinary.output.label == "out0"


def test_looking_at_a_spec_changes_nothing(here: World) -> None:
    with here.session as session:
        looked = work(1)
        assert looked.spec.name == "work"
        assert looked.output.spec.user == {}
        work(2)
        session.submit()

        (message,) = here.server.submissions
        assert len(message.task_kinds) == 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), max_size=15))
def test_any_graph_makes_columns_that_fit_together(steps: list[tuple[int, int, bool]]) -> None:
    session = Session(None, 5)
    kinds = KindTable(session.next_id)
    with session:
        objects = [blob(b"x")]
        made: list[Task] = []
        for inputs, outputs, keep in steps:
            task = Task(objects[-inputs:] if inputs else (), outputs, task_type=f"a/{inputs}")
            if keep:
                task.keep_outputs()
            objects += task.outputs.data
            made.append(task)

        message = build(5, Batch(made, objects[:1]), kinds)

        message.check()
        known = {kind.id: kind for kind in message.task_kinds}
        assert len(known) == len({(step[0], step[1]) for step in steps})
        assert sum(len(known[kind].outputs) for kind in message.tasks.kinds) == len(
            message.tasks.outputs
        )
        # The constant stays for its handle, which says nothing of that.
        assert set(message.kept) == {obj.packed_id for obj in objects[1:] if obj.kept} | {
            objects[0].packed_id
        }
        assert not objects[0].is_kept()
