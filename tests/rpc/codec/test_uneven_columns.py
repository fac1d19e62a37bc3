"""Whichever columns of our own do not fit together: they are not sent, and nothing is left out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
from attrs import evolve

from rain.base.errors import InvariantError
from rain.base.ids import KindId, ObjectId, SessionId, TaskId
from rain.base.wire.answers import Delivery, WaitAnswer
from rain.base.wire.orders import AskedRuns, AssignedTasks, Orders, PlacedObjects
from rain.base.wire.submission import ConstantColumns, Submission, TaskColumns
from rain.base.wire.update import FinishedTasks, Monitoring, Update
from rain.rpc.codec import split, to_bytes

TASKS, OBJECTS = [TaskId(1), TaskId(2)], [ObjectId(3), ObjectId(4)]
KINDS, DATA = [KindId(5), KindId(6)], [b"some", b"data"]
ONES = [1, 1]


def orders() -> Orders:
    return Orders(
        stop_ids=[*TASKS],
        stop_runs=[*ONES],
        asked=AskedRuns([*TASKS], [*ONES]),
        objects=PlacedObjects([*OBJECTS], [*KINDS], ["", "a"], [4, 4], ["", ""], [*DATA]),
        tasks=AssignedTasks(
            *([*TASKS], [*ONES], [*KINDS], [*ONES], [*DATA], [*ONES]), [*OBJECTS], [*OBJECTS]
        ),
    )


def update() -> Update:
    finished = FinishedTasks([*TASKS], [*ONES], [0.5, 0.5], [*ONES], [4, 4], [*DATA])
    return Update([*TASKS], [*ONES], finished, returned_ids=[*TASKS], returned_runs=[*ONES])


def submission() -> Submission:
    return Submission(
        SessionId(1),
        tasks=TaskColumns([*TASKS], [*KINDS], [*DATA], [*ONES], [*OBJECTS], [*OBJECTS]),
        constants=ConstantColumns([*OBJECTS], [*KINDS], [*DATA]),
    )


def answer() -> WaitAnswer:
    return WaitAnswer(delivery=Delivery([*OBJECTS], [4, 4], ["", "a"], [*DATA]))


COLUMNS: list[tuple[Callable[[], Any], str, str]] = [
    # What has the columns, where, and which are equally long there.
    (orders, "", "stop_ids stop_runs"),
    (orders, "asked", "ids runs"),
    (update, "", "returned_ids returned_runs"),
    (orders, "objects", "ids kinds content_types sizes sources data"),
    (orders, "tasks", "ids runs kinds priorities configs input_counts"),
    (update, "", "started_ids started_runs"),
    (update, "finished", "ids runs durations output_counts"),
    (update, "finished", "sizes data"),
    (submission, "tasks", "ids kinds configs input_counts"),
    (submission, "constants", "ids kinds data"),
    (answer, "delivery", "ids sizes content_types data"),
]

PAIRS = [
    pytest.param(make, where, longer, shorter, id=f"{make.__name__}-{where}-{longer}-{shorter}")
    for make, where, names in COLUMNS
    for longer, shorter in permutations(names.split(), 2)
]


def group(value: Any, where: str) -> Any:
    return getattr(value, where) if where else value


def lengthen(columns: Any, name: str) -> None:
    column = getattr(columns, name)
    column.append(column[-1])


def sends(value: Any) -> list[bytes]:
    """The messages that it becomes."""
    parts = [value]
    if isinstance(value, Orders):
        parts = [*split.split_orders(value)]
    elif isinstance(value, Submission):
        parts = split.split_submission(value)
    elif isinstance(value, Update):
        parts = [split.slim_update(value)]
    else:
        parts = [evolve(value, delivery=split.slim_delivery(value.delivery))]
    return [*map(to_bytes, parts)]


@pytest.mark.parametrize("make", [orders, update, submission, answer])
def test_columns_that_fit_are_sent(make: Callable[[], Any]) -> None:
    assert sends(make())


@pytest.mark.parametrize(("make", "where", "longer", "shorter"), PAIRS)
def test_a_column_that_is_longer_than_another_is_never_sent(
    make: Callable[[], Any], where: str, longer: str, shorter: str
) -> None:
    value = make()
    columns = group(value, where)
    lengthen(columns, longer)
    with pytest.raises(InvariantError, match="a message of our own is wrong"):
        to_bytes(value)

    getattr(columns, shorter).pop()  # now as many numbers as if all were well
    with pytest.raises(InvariantError, match="a message of our own is wrong"):
        to_bytes(value)


@pytest.mark.parametrize(("make", "where", "filled", "empty"), PAIRS)
def test_one_column_alone_is_never_sent(
    make: Callable[[], Any], where: str, filled: str, empty: str
) -> None:
    value = make()
    columns = group(value, where)
    for attribute in columns.__attrs_attrs__:
        name = attribute.name
        if name != filled:
            setattr(columns, name, type(getattr(columns, name))())
    with pytest.raises(InvariantError, match="a message of our own is wrong"):
        to_bytes(value)


@pytest.mark.parametrize(
    "value",
    [
        Orders(tasks=AssignedTasks(outputs=[*OBJECTS])),
        Orders(tasks=AssignedTasks(inputs=[*OBJECTS])),
        Submission(SessionId(1), tasks=TaskColumns(outputs=[*OBJECTS])),
        Submission(SessionId(1), tasks=TaskColumns(inputs=[*OBJECTS])),
    ],
)
def test_inputs_and_outputs_of_no_task_are_never_sent(value: object) -> None:
    with pytest.raises(InvariantError, match="a message of our own is wrong"):
        to_bytes(value)


@pytest.mark.parametrize(("make", "where", "longer", "shorter"), PAIRS)
def test_columns_that_do_not_fit_are_not_cut_either(
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[], Any],
    where: str,
    longer: str,
    shorter: str,
) -> None:
    """The parts might fit, and what is left over would be lost."""
    for limit in ("PART_BYTES", "PART_ROWS", "INLINE_BYTES"):
        monkeypatch.setattr(split, limit, 1)
    value = make()
    lengthen(group(value, where), longer)
    with pytest.raises(InvariantError, match="a message of our own is wrong"):
        sends(value)


def test_a_sample_of_a_machine_that_does_not_fit_is_never_sent() -> None:
    sample = Monitoring((1,), 1, ("eth0", "eth1"), (1, 2), (1,))
    with pytest.raises(InvariantError, match="monitoring: the columns have different lengths"):
        to_bytes(Update(monitoring=[sample]))
