"""Kinds are read as they were written, and what is none is refused by name."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest
from hypothesis import given

from rain.base.attempts import Attempts
from rain.base.constraints import Constraints
from rain.base.errors import ProtocolError, RefusedError
from rain.base.ids import KindId, SessionId
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.resources import Resources
from rain.base.wire.orders import Orders
from rain.base.wire.submission import Submission
from rain.rpc import schema
from rain.rpc.capnproto.layout import Layout
from rain.rpc.codec import from_bytes, through_the_wire, to_bytes
from rain.rpc.codec.kinds import weight, write_object_kind, write_task_kind
from tests.rpc.values import object_kinds, task_kinds

ORDERS = Layout.of(schema.governor.Orders)


@given(task_kinds)
def test_a_kind_of_tasks_is_read_as_it_was_written(kind: TaskKind) -> None:
    assert through_the_wire(Orders(task_kinds=[kind])).task_kinds == [kind]


@given(object_kinds)
def test_a_kind_of_objects_is_read_as_it_was_written(kind: ObjectKind) -> None:
    assert through_the_wire(Orders(object_kinds=[kind])).object_kinds == [kind]


TASK = TaskKind(
    KindId(12),
    "py/",
    "name",
    Resources.of({"cpus": 2, "gpus": 1}),
    ("label",),
    (KindId(11),),
    "{}",
    0.5,
    Constraints(("host",), "a", "b"),
    Attempts(3, 5),
)
OBJECT = ObjectKind(KindId(11), "label", "text", user="{}", size_hint=5)


@given(task_kinds)
def test_the_weight_of_a_kind_is_about_what_it_takes(kind: TaskKind) -> None:
    """By which messages are cut; texts of other alphabets take up to four bytes a character."""
    alone = len(to_bytes(Orders(task_kinds=[kind]))) - len(to_bytes(Orders()))
    assert alone / 6 <= weight(kind) <= 2 * alone


@pytest.mark.parametrize("size", [0, 10, 100_000])
def test_long_texts_weigh_what_they_take(size: int) -> None:
    of_objects = ObjectKind(KindId(1), user="x" * size)
    of_tasks = TaskKind(KindId(1), "py/", "x" * size)
    assert abs(len(to_bytes(Orders(object_kinds=[of_objects]))) - weight(of_objects)) < 180
    assert abs(len(to_bytes(Orders(task_kinds=[of_tasks]))) - weight(of_tasks)) < 180


def resource(name: str, amount: int) -> dict[str, Any]:
    return {"name": name, "amount": amount}


WRONG_TASKS: list[tuple[str, object, str]] = [
    ("id", -1, "its id: -1 is not from 0 to"),
    ("resources", [resource("cpus", -1)], "its resources: -1 is not"),
    ("resources", [resource("a", 1), resource("a", 1)], "its resources: one is named twice"),
    ("resources", [resource("a", 1)] * 1001, "1001 resources; there may be 1000"),
    ("outputs", [1, -1], "its outputs: -1 is not"),
    ("durationHint", nan, "its duration hint: nan"),
    ("durationHint", inf, "its duration hint: inf"),
    ("durationHint", -0.5, "its duration hint: -0.5"),
]
WRONG_OBJECTS: list[tuple[str, object, str]] = [
    ("id", -1, "its id: -1 is not from 0 to"),
    ("sizeHint", -1, "its size hint: -1 is not from 0 to"),
]


@pytest.mark.parametrize(("name", "value", "reason"), WRONG_TASKS)
def test_each_wrong_field_of_a_kind_of_tasks_is_named(
    name: str, value: object, reason: str
) -> None:
    kinds = [write_task_kind(TASK), write_task_kind(TASK) | {name: value}]
    with pytest.raises(ProtocolError, match=f"Orders: task kind 1: {reason}"):
        from_bytes(Orders, ORDERS.write({"taskKinds": kinds}))


@pytest.mark.parametrize(("name", "value", "reason"), WRONG_OBJECTS)
def test_each_wrong_field_of_a_kind_of_objects_is_named(
    name: str, value: object, reason: str
) -> None:
    kinds = [write_object_kind(OBJECT) | {name: value}]
    with pytest.raises(ProtocolError, match=f"Orders: object kind 0: {reason}"):
        from_bytes(Orders, ORDERS.write({"objectKinds": kinds}))


# What users give as texts.
BYTES: Any = b"x"
SOMETHING: Any = object()
NUMBER: Any = 5

WRONG_OURS: list[tuple[TaskKind | ObjectKind, str]] = [
    (ObjectKind(KindId(1), size_hint=-1), "ObjectKind.*cannot be sent: its size hint: -1 is not"),
    (ObjectKind(KindId(1), size_hint=2**70), "its size hint: 1180591620717411303424 is not"),
    (ObjectKind(KindId(1), label=BYTES), "its label: bytes instead of str"),
    (ObjectKind(KindId(1), user=SOMETHING), "its user: object instead of str"),
    (TaskKind(KindId(1), "py/", name=NUMBER), "TaskKind.*sent: its name: int instead of str"),
    (TaskKind(KindId(1), "py/", duration_hint=nan), "its duration hint: nan"),
    (TaskKind(KindId(1), "py/", attempts=Attempts(2**32)), "its tries: 4294967296 is not"),
    (TaskKind(KindId(1), "py/", attempts=Attempts(1, -1)), "its crash tries: -1 is not"),
    (TaskKind(KindId(1), "py/", input_labels=(NUMBER,)), "its input labels: int instead"),
    (TaskKind(KindId(1), "py/", resources=Resources(2**63)), "its resources: 9223372036854775808"),
]


@pytest.mark.parametrize(("kind", "reason"), WRONG_OURS)
def test_what_nobody_would_read_is_refused_by_name_before_it_is_sent(
    kind: TaskKind | ObjectKind, reason: str
) -> None:
    submission = Submission(SessionId(1))
    kinds: list[Any] = (
        submission.task_kinds if isinstance(kind, TaskKind) else submission.object_kinds
    )
    kinds.append(kind)
    with pytest.raises(RefusedError, match=reason):
        to_bytes(submission)


@pytest.mark.parametrize(
    "kind",
    [
        ObjectKind(KindId(1), "half \udce9"),
        ObjectKind(KindId(1), user="half \udce9"),
        TaskKind(KindId(1), "py/", "half \udce9"),
        TaskKind(KindId(1), "py/", input_labels=("half \udce9",)),
        TaskKind(KindId(1), "py/", constraints=Constraints(spread="half \udce9")),
    ],
)
def test_text_that_is_not_utf_8_is_not_sent(kind: TaskKind | ObjectKind) -> None:
    submission = Submission(SessionId(1))
    kinds: list[Any] = (
        submission.task_kinds if isinstance(kind, TaskKind) else submission.object_kinds
    )
    kinds.append(kind)
    with pytest.raises(UnicodeEncodeError):
        to_bytes(submission)
