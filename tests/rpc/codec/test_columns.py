"""Columns that do not fit together are refused by name, ours as well as those of a peer."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

from rain.base.errors import InvariantError, ProtocolError
from rain.base.ids import KindId, ObjectId, SessionId, TaskId
from rain.base.wire.answers import Delivery, WaitAnswer
from rain.base.wire.orders import AssignedTasks, LentObjects, Orders, PlacedObjects
from rain.base.wire.submission import ConstantColumns, Submission, TaskColumns
from rain.base.wire.update import FinishedTasks, Monitoring, Update
from rain.rpc import schema
from rain.rpc.capnproto.layout import Layout
from rain.rpc.codec import from_bytes, to_bytes
from rain.rpc.codec.orders import write_orders
from rain.rpc.codec.submission import SubmitPart, write_submit
from rain.rpc.codec.update import write_update

TASK, OBJECT, KIND = TaskId(1), ObjectId(2), KindId(3)


@pytest.mark.parametrize(
    "value",
    [
        Submission(SessionId(1), tasks=TaskColumns([TASK], [], [b""], [0], [], [])),
        Submission(SessionId(1), tasks=TaskColumns([TASK], [KIND], [b""], [2], [OBJECT], [])),
        Submission(SessionId(1), constants=ConstantColumns([OBJECT], [KIND], [])),
        Orders(objects=PlacedObjects([OBJECT], [KIND], [""], [], [""], [b""])),
        Orders(lent=LentObjects([OBJECT], [], [""], [b""])),
        Orders(lent=LentObjects([OBJECT], [KIND], [], [b""])),
        Orders(tasks=AssignedTasks([TASK], [], [KIND], [0], [b""], [0], [], [])),
        Orders(tasks=AssignedTasks([TASK], [1], [KIND], [0], [b""], [1], [], [])),
        Update(finished=FinishedTasks([TASK], [1], [0.5], [], [], [])),
        Update(finished=FinishedTasks([TASK], [1], [0.5], [1], [], [])),
        WaitAnswer(delivery=Delivery([OBJECT], [], [""], [b""])),
    ],
    ids=lambda value: type(value).__name__,
)
def test_columns_of_our_own_that_do_not_fit_are_never_sent(value: object) -> None:
    with pytest.raises(InvariantError, match="a message of our own is wrong"):
        to_bytes(value)


ORDERS, UPDATE = Layout.of(schema.governor.Orders), Layout.of(schema.governor.Update)
SUBMISSION = Layout.of(schema.client.Submission)
ANSWER = Layout.of(schema.client.ClientService.schema.methods["wait"].result_type)

TWO, THREE = [1, 2], [1, 2, 3]
NUMBERED: dict[str, Any] = {"ids": TWO, "kinds": TWO}
NEW_TASKS = NUMBERED | {"inputCounts": [0, 1], "inputs": [7], "outputs": [8]}
DELIVERED: dict[str, Any] = {"ids": TWO, "sizes": TWO}
ASSIGNED = NUMBERED | {"runs": TWO, "inputCounts": [0, 1], "inputs": [7], "outputs": [8]}
FINISHED: dict[str, Any] = {
    "ids": TWO,
    "runs": TWO,
    "durations": [0.5, 1.5],
    "outputCounts": [1, 0],
}
WHOLE = FINISHED | {"sizes": [5]}
LENGTHS, COUNTS = "the columns have different lengths", "do not add up to how many there are"
NOBODY = "there are outputs, but no task"
SAMPLE: dict[str, Any] = {"interfaces": ["eth0"], "received": [1], "sent": [2]}


def tasks(**wrong: object) -> dict[str, Any]:
    return {"tasks": ASSIGNED | wrong}


def finished(**wrong: object) -> dict[str, Any]:
    return {"finished": WHOLE | wrong}


WRONG: list[tuple[type[Any], Layout, dict[str, Any], str]] = [
    (Orders, ORDERS, {"stopTasks": TWO}, f"stopped tasks: {LENGTHS}"),
    (Orders, ORDERS, {"stopRuns": TWO}, f"stopped tasks: {LENGTHS}"),
    *(
        (Orders, ORDERS, tasks(**{name: THREE}), "assigned tasks")
        for name in ("ids", "kinds", "runs", "priorities", "inputCounts", "inputs")
    ),
    (Orders, ORDERS, tasks(configs=[b"x"]), f"assigned tasks: {LENGTHS}"),
    (Orders, ORDERS, tasks(inputs=[]), COUNTS),
    (Orders, ORDERS, {"tasks": {"outputs": TWO}}, NOBODY),
    (Orders, ORDERS, {"tasks": {"inputs": TWO}}, COUNTS),
    *(
        (Orders, ORDERS, {"placed": NUMBERED | {"sizes": TWO} | {name: column}}, "placed objects")
        for name, column in (
            *(("ids", THREE), ("kinds", []), ("sizes", [1]), ("contentTypes", ["x"])),
            *(("sources", ["a", "b", "c"]), ("data", [b"x"])),
        )
    ),
    *(
        (Orders, ORDERS, {"lent": NUMBERED | {name: column}}, "lent objects")
        for name, column in (
            *(("ids", THREE), ("kinds", [1]), ("contentTypes", ["x"]), ("data", [b"x"])),
        )
    ),
    (Update, UPDATE, {"startedTasks": TWO}, f"started tasks: {LENGTHS}"),
    *(
        (Update, UPDATE, finished(**{name: THREE}), "finished tasks")
        for name in ("ids", "runs", "durations", "outputCounts", "sizes")
    ),
    (Update, UPDATE, finished(data=[b"x", b"y"]), f"outputs of finished tasks: {LENGTHS}"),
    (Update, UPDATE, {"finished": {"sizes": TWO}}, COUNTS),
    (Update, UPDATE, finished(sizes=[-1]), "the size of an output is below zero"),
    *(
        (Update, UPDATE, finished(durations=[0.5, seconds]), "is no number of seconds")
        for seconds in (nan, inf, -inf, -0.5, 1e300)
    ),
    *(
        (Update, UPDATE, finished(starts=[0.5, seconds]), "a time is no number of seconds")
        for seconds in (nan, inf, -inf, 1e300)
    ),
    (Update, UPDATE, finished(starts=[0.5]), f"finished tasks: {LENGTHS}"),
    (Update, UPDATE, {"startedTimes": [0.5]}, f"started tasks: {LENGTHS}"),
    (Update, UPDATE, {"time": nan}, "a time is no number of seconds"),
    (Update, UPDATE, {"monitoring": [SAMPLE | {"sent": []}]}, f"monitoring: {LENGTHS}"),
    (Update, UPDATE, {"monitoring": [SAMPLE | {"memUsage": 101}]}, "more than 100 percent"),
    (Update, UPDATE, {"monitoring": [SAMPLE | {"cpuUsage": [200]}]}, "more than 100 percent"),
    *(
        (Submission, SUBMISSION, {"tasks": NEW_TASKS | {name: column}}, "submitted tasks")
        for name, column in (
            *(("ids", THREE), ("kinds", [1]), ("inputCounts", THREE), ("inputs", [])),
            ("configs", [b"x"]),
        )
    ),
    (Submission, SUBMISSION, {"tasks": {"outputs": TWO}}, NOBODY),
    (Submission, SUBMISSION, {"constants": {"ids": TWO}}, f"submitted constants: {LENGTHS}"),
    (Submission, SUBMISSION, {"constants": NUMBERED | {"data": [b"x"]}}, "submitted constants"),
    *(
        (WaitAnswer, ANSWER, {"answer": {"delivery": DELIVERED | {name: column}}}, "delivery")
        for name, column in (
            *(("ids", THREE), ("sizes", []), ("contentTypes", ["x"]), ("data", [b"x"])),
        )
    ),
]


@pytest.mark.parametrize(
    ("kind", "layout", "fields", "reason"), WRONG, ids=[str(row[2])[:60] for row in WRONG]
)
def test_columns_that_do_not_fit_are_the_senders_fault(
    kind: type[Any], layout: Layout, fields: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ProtocolError, match=reason):
        from_bytes(kind, layout.write(fields))


def placed() -> Orders:
    return Orders(objects=PlacedObjects([OBJECT], [KIND], [""], [3], [""], [b""]))


def lent() -> Orders:
    return Orders(lent=LentObjects([OBJECT], [KIND], [""], [b""]))


def assigned() -> Orders:
    return Orders(tasks=AssignedTasks([TASK], [1], [KIND], [0], [b""], [0], [], []))


@pytest.mark.parametrize(
    ("make", "where", "absent"),
    [
        (placed, "placed", {"contentTypes", "sources", "data"}),
        (lent, "lent", {"contentTypes", "data"}),
        (assigned, "tasks", {"priorities", "configs"}),
    ],
)
def test_a_column_without_anything_in_it_is_empty(
    make: Callable[[], Orders], where: str, absent: set[str]
) -> None:
    assert write_orders(make())[where].keys().isdisjoint(absent)
    assert from_bytes(Orders, to_bytes(make())) == make()


def test_results_that_are_elsewhere_take_no_column() -> None:
    update = Update(finished=FinishedTasks([TASK], [1], [0.5], [1], [10**9], [b""]))
    assert "data" not in write_update(update)["finished"]
    assert from_bytes(Update, to_bytes(update)) == update


def test_numbers_that_may_wait_for_long_are_packed() -> None:
    """A list of them takes five times the memory."""
    value = Submission(
        SessionId(1),
        tasks=TaskColumns([TASK], [KIND], [b"x"], [1], [OBJECT], [OBJECT]),
        constants=ConstantColumns([OBJECT], [KIND], [b"y"]),
        kept=[OBJECT],
    )
    read = from_bytes(Submission, to_bytes(value))
    assert read == value
    for column in (
        *(read.tasks.ids, read.tasks.kinds, read.tasks.input_counts, read.tasks.inputs),
        *(read.tasks.outputs, read.constants.ids, read.constants.kinds, read.kept),
    ):
        assert isinstance(column, array)
    assert write_submit(SubmitPart(read, (), last=True))["tasks"]["ids"] is read.tasks.ids
    assert from_bytes(Submission, to_bytes(read)) == value


def test_a_sample_of_a_machine_is_of_columns_too() -> None:
    sample = Monitoring((1, 2), 3, ("eth0",), (4,), (5,))
    assert from_bytes(Update, to_bytes(Update(monitoring=[sample]))).monitoring == [sample]
