"""Chains that are submitted as one task: what is sent, what it computes, and what handles say."""

import tempfile
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.kinds import TaskKind
from rain.base.units import UNIT
from rain.client import (
    Input,
    RainException,
    blob,
    pickled,
    remote,
    tasks,
)
from rain.client.fusing import fused
from rain.client.unit import LONGEST_NAME, unit_name
from tests.client.fake import World, world
from tests.client.fused import PICKLE, chain, inc
from tests.support.chained import Node, described, step
from tests.support.chained_graphs import graphs
from tests.support.evaluated import evaluator


def told(here: World) -> tuple[list[TaskKind], list[int]]:
    """The kinds and the ids of the tasks that were submitted."""
    kinds = {kind.id: kind for message in here.server.submissions for kind in message.task_kinds}
    columns = [message.tasks for message in here.server.submissions]
    return (
        [kinds[kind] for column in columns for kind in column.kinds],
        [task for column in columns for task in column.ids],
    )


# What is sent.


def test_a_chain_of_a_thousand_is_one_task(here: World) -> None:
    with here.session:
        made = chain(1000)
        made[-1].output.keep()
        here.session.submit(fuse=True)

        (message,) = here.server.submissions
        assert message.tasks.ids == [made[-1].packed_id]
        assert message.tasks.outputs == [made[-1].output.packed_id]
        assert message.tasks.inputs == [made[0].inputs[0].packed_id]  # the function
        (kind,) = message.task_kinds
        assert (kind.task_type, kind.name) == (UNIT, "inc x 1000")
        assert kind.input_labels == ("function",)
        assert len(message.tasks.configs[0]) < 50_000


def test_nothing_is_fused_unless_it_is_asked_for(here: World) -> None:
    with here.session:
        made = chain(5)
        here.session.submit()
        kinds, ids = told(here)
        assert ids == [task.packed_id for task in made]
        assert {kind.task_type for kind in kinds} == {"py/"}
        assert made[0].unit is None


def test_a_session_may_fuse_all_its_submits(here: World) -> None:
    with here.client.new_session("fused", fuse=True) as session:
        chain(3)
        session.submit()
        chain(3)
        session.submit(fuse=False)
        session.compute(inc(inc(1)))
        assert len(told(here)[1]) == 1 + 3 + 1


def test_one_who_joins_may_fuse(here: World) -> None:
    with here.client.join_session(here.session.session_id, fuse=True) as session:
        chain(3)
        session.submit()
        assert len(told(here)[1]) == 1


def test_what_is_kept_is_never_inside(here: World) -> None:
    with here.session:
        made = chain(3)
        made[1].output.keep()
        here.session.submit(fuse=True)
        kinds, ids = told(here)
        assert ids == [made[1].packed_id, made[2].packed_id]
        assert [kind.name for kind in kinds] == ["inc x 2", "inc"]
        (message,) = here.server.submissions
        assert made[1].output.packed_id in message.kept
        assert made[1].unit is made[0].unit
        assert made[2].unit is None


def test_constants_and_functions_are_no_predecessors(here: World) -> None:
    with here.session:
        constant = pickled(5)
        first = step(constant)
        second = inc(first)
        last = step(second, constant, pickled(6))
        here.session.submit(fuse=True)
        (message,) = here.server.submissions
        assert message.tasks.ids == [last.packed_id]
        functions = [first.inputs[0], second.inputs[0]]
        data = [constant, last.inputs[3]]
        assert message.tasks.inputs == [obj.packed_id for obj in (*functions, *data)]
        (kind,) = message.task_kinds
        assert kind.name == "step + inc + step"
        assert kind.input_labels[:2] == ("function", "function")


def test_an_object_of_an_earlier_submit_is_a_predecessor(here: World) -> None:
    with here.session:
        early = inc(0)
        early.output.keep()
        here.session.submit()
        made = inc(early), inc(1)
        later = step(made[1], early)
        here.session.submit(fuse=True)
        assert told(here)[1] == [early.packed_id, *(one.packed_id for one in (*made, later))]
        last = inc(inc(early))
        here.session.submit(fuse=True)
        assert told(here)[1][-1] == last.packed_id


def test_only_calls_of_equal_needs_are_joined(here: World) -> None:
    heavy = remote(outputs=PICKLE, auto_load=True, cpus=2)(inc.fn)
    stubborn = remote(outputs=PICKLE, auto_load=True, tries=3)(inc.fn)
    pinned = remote(outputs=PICKLE, auto_load=True, constraints={"pin": ["a:1"]})(inc.fn)
    for other in (heavy, stubborn, pinned):
        with here.session.bind_only():
            other(inc(inc(0)))
            other(other(0))
            here.session.submit(fuse=True)
    assert len(told(here)[1]) == 3 * 3
    kinds = [kind for kind in told(here)[0] if kind.name == "inc x 2"]
    assert [kind.attempts.tries for kind in kinds].count(3) == 1
    assert [kind.resources.cpus for kind in kinds].count(2) == 1
    assert [kind.constraints is None for kind in kinds].count(False) == 1


def test_other_tasks_are_left_as_they_are(here: World) -> None:
    with here.session:
        first = inc(0)
        slept = tasks.Sleep(first, 1)
        last = inc(inc(slept))
        here.session.submit(fuse=True)
        assert told(here)[1] == [first.packed_id, slept.packed_id, last.packed_id]


def test_what_was_changed_before_the_submit_counts(here: World) -> None:
    with here.session:
        first, second = (made := chain(3))[:2]
        first.spec.resources["cpus"] = 4
        second.spec.user["note"] = 1
        made[2].output.spec.label = "renamed"
        here.session.submit(fuse=True)
        (message,) = here.server.submissions
        assert message.tasks.ids == [first.packed_id, made[2].packed_id]
        objects = {kind.id: kind for kind in message.object_kinds}
        (output,) = message.task_kinds[1].outputs
        assert objects[output].label == "renamed"
        config = msgpack.unpackb(message.tasks.configs[1])
        assert [kind[4] for kind in config["kinds"]] == ['{"note": 1}', ""]


def test_durations_are_added_if_all_are_known(here: World) -> None:
    quick = remote(outputs=PICKLE, auto_load=True, duration=0.5)(inc.fn)
    with here.session:
        quick(quick(quick(0)))
        quick(inc(0))
        here.session.submit(fuse=True)
        kinds, _ = told(here)
        assert [kind.duration_hint for kind in kinds] == [1.5, 0.0]


def test_a_long_chain_becomes_several_units(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "MEMBERS_AT_MOST", 4)
    with here.session:
        made = chain(9)
        here.session.submit(fuse=True)
        assert told(here)[1] == [made[3].packed_id, made[7].packed_id, made[8].packed_id]
        assert made[8].unit is None
    monkeypatch.setattr(fused, "CONFIGS_AT_MOST", 2000)
    with here.client.new_session("large") as session:
        first = inc(0)
        second = step(first, "x" * 900)
        step(step(second, "y" * 900), "z" * 3000)
        session.submit(fuse=True)
        assert len(told(here)[1]) == 3 + 3


def test_a_refusal_changes_nothing(here: World) -> None:
    with here.session:
        made = chain(3)
        here.server.errors["submit"] = RainException("no")
        with pytest.raises(RainException, match="no"):
            here.session.submit(fuse=True)
        assert made[0].unit is None
        assert here.session.task_count == 3
        here.server.errors.clear()
        here.session.submit()
        assert len(told(here)[1]) == 3


def test_a_handle_of_the_user_s_own_may_be_inside(here: World) -> None:
    with here.session:
        first = inc(0)
        first.output.spec.label = "mine"
        inc(first)
        here.session.submit(fuse=True)
        (message,) = here.server.submissions
        assert len(message.tasks.ids) == 1


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["load", "scale", "total"], "load + scale + total"),
        (["inc"] * 1000, "inc x 1000"),
        (["load", "inc", "inc", "total"], "load + inc x 2 + total"),
        (["load", *"abcdefghijklmnopqrstuvwxyz", "end"], "load + ... + end (28 tasks)"),
    ],
)
def test_the_name_of_a_unit_says_what_is_inside(names: list[str], expected: str) -> None:
    assert unit_name(names) == expected


@given(st.lists(st.text(max_size=200), min_size=2, max_size=50))
def test_names_are_short(names: list[str]) -> None:
    assert len(unit_name(names)) <= LONGEST_NAME


# What it computes.


def computed(nodes: list[Node], *, fuse: bool) -> tuple[list[Any], int]:
    """The values that can be seen, and the number of calls."""
    with (
        world() as here,
        here.session,
        tempfile.TemporaryDirectory() as folder,
        evaluator(Path(folder)) as executor,
    ):
        seen = described(nodes)
        here.session.submit(fuse=fuse)
        (submission,) = here.server.submissions
        executor.run(submission)
        assert executor.failures == []
        assert all(obj.unit is None for obj in seen)
        assert list((Path(folder) / "stage").iterdir()) == []
        return [executor.value(obj.packed_id) for obj in seen], executor.calls


@given(graphs())
def test_a_fused_graph_computes_the_same(nodes: list[Node]) -> None:
    plain, calls = computed(nodes, fuse=False)
    together, fewer = computed(nodes, fuse=True)
    assert together == plain
    assert calls == len(nodes)
    assert fewer <= calls


def test_a_chain_is_one_call(tmp_path: Path, here: World) -> None:
    with here.session, evaluator(tmp_path) as executor:
        made = chain(1000)
        made[-1].output.keep()
        here.session.submit(fuse=True)
        executor.run(here.server.submissions[0])
        assert executor.calls == 1
        assert executor.value(made[-1].output.packed_id) == 1000


def test_readers_get_what_they_ask_for(tmp_path: Path, here: World) -> None:
    @remote(inputs={"value": Input(content_type="pickle", load=True)}, outputs=PICKLE)
    def typed(ctx: Any, value: Any, more: Any = None) -> Any:
        return [value, None if more is None else more.get_str()]

    with here.session, evaluator(tmp_path) as executor:
        made = typed(inc(1), more=blob("text"))
        made.output.keep()
        here.session.submit(fuse=True)
        executor.run(here.server.submissions[0])
        assert executor.failures == []
        assert executor.value(made.output.packed_id) == [2, "text"]
