"""Numbers travel as bytes; columns that do not fit together are refused by name."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.errors import InvariantError, ProtocolError
from rain.base.ids import KindId, ObjectId, SessionId, TaskId
from rain.base.wire import (
    AssignedTasks,
    ConstantColumns,
    Delivery,
    FinishedTasks,
    Orders,
    PlacedObjects,
    Submission,
    TaskColumns,
    Update,
    WaitAnswer,
)
from rain.rpc import schema
from rain.rpc.codec import columns, from_bytes, to_bytes
from rain.rpc.codec.columns import (
    read_counts,
    read_numbers,
    read_seconds,
    write_counts,
    write_numbers,
    write_seconds,
)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_numbers_arrive_as_they_were_sent(numbers: list[int]) -> None:
    assert read_numbers(write_numbers(numbers)) == numbers


@given(st.lists(st.integers(0, 2**32 - 1), max_size=20))
def test_counts_arrive_as_they_were_sent(counts: list[int]) -> None:
    assert read_counts(write_counts(counts)) == counts


@given(st.lists(st.floats(allow_nan=False), max_size=20))
def test_seconds_arrive_as_they_were_sent(seconds: list[float]) -> None:
    assert read_seconds(write_seconds(seconds)) == seconds


@pytest.mark.parametrize(
    ("write", "value", "expected"),
    [
        (write_numbers, -2, "feffffffffffffff"),
        (write_counts, 258, "02010000"),
        (write_seconds, 1.0, "000000000000f03f"),
    ],
)
def test_the_lowest_byte_comes_first(
    write: Callable[[list[Any]], bytes], value: float, expected: str
) -> None:
    assert write([value]).hex() == expected


def test_a_machine_with_the_other_order_turns_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    written = write_numbers([258]), write_counts([258]), write_seconds([0.5])
    monkeypatch.setattr(columns, "_NATIVE", False)

    turned = write_numbers([258]), write_counts([258]), write_seconds([0.5])

    assert turned == tuple(content[::-1] for content in written)
    assert read_numbers(turned[0]) == read_counts(turned[1]) == [258]
    assert read_seconds(turned[2]) == [0.5]


TASK, OBJECT, KIND = TaskId(1), ObjectId(2), KindId(3)


@pytest.mark.parametrize(
    "value",
    [
        Submission(SessionId(1), tasks=TaskColumns([TASK], [], [b""], [0], [], [])),
        Submission(SessionId(1), tasks=TaskColumns([TASK], [KIND], [b""], [2], [OBJECT], [])),
        Submission(SessionId(1), constants=ConstantColumns([OBJECT], [KIND], [])),
        Orders(objects=PlacedObjects([OBJECT], [KIND], [""], [], [""], [b""])),
        Orders(tasks=AssignedTasks([TASK], [], [KIND], [0], [b""], [0], [], [])),
        Orders(tasks=AssignedTasks([TASK], [1], [KIND], [0], [b""], [1], [], [])),
        Update(finished=FinishedTasks([TASK], [1], [0.5], [], [], [])),
        Update(finished=FinishedTasks([TASK], [1], [0.5], [1], [], [])),
        WaitAnswer(delivery=Delivery([OBJECT], [], [""], [b""])),
    ],
    ids=lambda value: type(value).__name__,
)
def test_columns_of_our_own_that_do_not_fit_are_never_sent(value: object) -> None:
    """On the wire they follow each other, so it would be read as something else."""
    with pytest.raises(InvariantError, match="a message of our own is wrong"):
        to_bytes(value)


ONE, TWO = write_numbers([1]), write_numbers([1, 2])
ZERO, NONE = write_counts([0]), b""

WRONG: list[tuple[type[Any], dict[str, Any], str]] = [
    (Submission, {"tasks": {"numbers": ONE, "inputCounts": ZERO, "configs": [b""]}}, "lengths"),
    (Submission, {"tasks": {"numbers": TWO, "inputCounts": NONE, "configs": [b""]}}, "lengths"),
    (Submission, {"tasks": {"numbers": TWO, "inputCounts": ZERO, "configs": []}}, "lengths"),
    (
        Submission,
        {"tasks": {"numbers": TWO, "inputCounts": write_counts([1]), "configs": [b""]}},
        "do not add up",
    ),
    (Submission, {"tasks": {"numbers": TWO, "inputCounts": ZERO}}, "lengths"),
    (Submission, {"kept": b"123"}, "multiple of item size"),
    (Submission, {"constants": {"numbers": ONE, "data": [b""]}}, "lengths"),
    (Submission, {"constants": {"numbers": TWO, "data": []}}, "lengths"),
    (Orders, {"tasks": {"numbers": TWO, "counts": ZERO, "configs": [b""]}}, "lengths"),
    (Orders, {"tasks": {"numbers": TWO + ONE, "counts": ZERO, "configs": [b""]}}, "lengths"),
    (
        Orders,
        {"tasks": {"numbers": TWO + ONE, "counts": write_counts([1, 1]), "configs": [b""]}},
        "do not add up",
    ),
    (Orders, {"objects": {"numbers": TWO, "data": [b""]}}, "lengths"),
    (Orders, {"objects": {"numbers": TWO + TWO, "data": [b""]}}, "lengths"),
    (Orders, {"objects": {"numbers": TWO + ONE, "data": [b""], "sources": ["", ""]}}, "lengths"),
    (Orders, {"stopIds": ONE}, "lengths"),
    (Orders, {"drops": b"1234567"}, "multiple of item size"),
    (Update, {"finished": {"numbers": ONE, "counts": ZERO, "durations": ONE}}, "lengths"),
    (Update, {"finished": {"numbers": ONE, "counts": ZERO + ZERO}}, "lengths"),
    (
        Update,
        {"finished": {"numbers": ONE, "counts": write_counts([1, 1]), "durations": ONE}},
        "do not add up",
    ),
    (Update, {"finished": {"numbers": TWO, "counts": ZERO + ZERO, "durations": ONE}}, "lengths"),
    (Update, {"startedAttempts": ZERO}, "lengths"),
    (
        WaitAnswer,
        {"delivery": {"numbers": TWO, "data": [b""], "contentTypes": ["x"] * 2}},
        "lengths",
    ),
    (WaitAnswer, {"delivery": {"numbers": ONE, "data": [b""], "contentTypes": [""]}}, "lengths"),
]


@pytest.mark.parametrize(("kind", "content", "reason"), WRONG)
def test_columns_that_do_not_fit_are_the_senders_fault(
    kind: type[Any], content: dict[str, Any], reason: str
) -> None:
    if kind is Submission:
        message = schema.request.Request.new_message(submit=content)
    elif kind is WaitAnswer:
        message = schema.request.Answer.new_message(waited=content)
    else:
        message = getattr(schema.common, kind.__name__).new_message(**content)

    with pytest.raises(ProtocolError, match=reason):
        from_bytes(kind, message.to_bytes())
