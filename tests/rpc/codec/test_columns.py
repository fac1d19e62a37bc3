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
    LentObjects,
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
    look_up,
    number_texts,
    read_numbers,
    read_seconds,
    write_numbers,
    write_seconds,
)
from rain.rpc.codec.words import write_words


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_numbers_arrive_as_they_were_sent(numbers: list[int]) -> None:
    assert read_numbers(write_numbers(numbers)).tolist() == numbers


@given(st.lists(st.floats(allow_nan=False), max_size=20))
def test_seconds_arrive_as_they_were_sent(seconds: list[float]) -> None:
    assert read_seconds(write_seconds(seconds)) == seconds


@pytest.mark.parametrize(
    ("write", "value", "expected"),
    [
        (write_numbers, -2, "feffffffffffffff"),
        (write_seconds, 1.0, "000000000000f03f"),
    ],
)
def test_the_lowest_byte_comes_first(
    write: Callable[[list[Any]], bytes], value: float, expected: str
) -> None:
    assert write([value]).hex() == expected


def test_a_machine_with_the_other_order_turns_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    written = write_numbers([258]), write_seconds([0.5])
    monkeypatch.setattr(columns, "_NATIVE", False)
    assert read_numbers(written[0][::-1]).tolist() == [258]
    assert read_seconds(written[1][::-1]) == [0.5]


few_texts = st.lists(st.sampled_from(["", "a", "b"]), min_size=3, max_size=3)


@given(few_texts, few_texts)
def test_texts_that_have_numbers_are_looked_up_again(ones: list[str], others: list[str]) -> None:
    columns, table = number_texts(ones, others)
    assert [look_up("it", column, table, 3) for column in columns] == [ones, others]
    assert sorted(table) == sorted({*ones, *others} - {""})


def test_a_column_of_empty_texts_takes_no_numbers() -> None:
    columns, table = number_texts(["", ""], ["a", ""])
    assert columns == [[], [1, 0]]
    assert table == ["a"]


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
    """On the wire they follow each other, so it would be read as something else."""
    with pytest.raises(InvariantError, match="a message of our own is wrong"):
        to_bytes(value)


def plain(numbers: list[int], data: bytes = b"") -> bytes:
    return write_words(write_numbers(numbers), [data])


LENGTHS = "columns have other lengths"
NO_LENGTHS = "does not say how long its columns are"
DATA = "data has another length"
COUNTS = "do not add up"
TEXTS = "a column of texts does not fit"
ROWS = "a column does not fit to its rows"
SECOND = bytes(8)
NEGATIVE = "below zero"
LAST = 1  # the last part of a submission
ORDERED = 7 * [0]

WRONG: list[tuple[type[Any], bytes, str]] = [
    # Seven lengths; one task has six numbers, and a config.
    (Orders, plain([]), NO_LENGTHS),
    (Orders, plain(ORDERED[1:]), NO_LENGTHS),
    (Orders, plain([*ORDERED, 5]), NO_LENGTHS),
    (Orders, plain([1, *ORDERED[1:]]), LENGTHS),
    (Orders, plain([-1, *ORDERED[1:]]), LENGTHS),
    (Orders, plain([-1, 0, 1, 0, 0, 0, 0]), LENGTHS),
    (Orders, plain([0, 1, 0, 0, 0, 0, 0, 9]), LENGTHS),
    (Orders, plain([0, 0, 0, 1, 0, 0, 0, 9, 1, 9, 0, 0]), LENGTHS),
    (Orders, plain([0, 0, 0, 1, 0, 0, 0, 9, 1, 9, 0, 1, 0]), DATA),
    (Orders, plain([0, 0, 0, 1, 0, 0, 0, 9, 1, 9, 0, 1, 0], b"xy"), DATA),
    (Orders, plain([0, 0, 0, 1, 0, 0, 0, 9, 1, 9, 0, -1, 0]), DATA),
    (Orders, plain([0, 0, 0, 2, 0, 0, 0, 8, 9, 1, 1, 9, 9, 0, 0, -1, 1, 0, 0]), DATA),
    (Orders, plain([0, 0, 0, 1, 0, 0, 0, 9, 1, 9, 0, 0, 1]), COUNTS),
    (Orders, plain([0, 0, 0, 1, 1, 0, 0, 9, 1, 9, 0, 0, 0, 8]), COUNTS),
    (Orders, plain([0, 0, 0, 0, 1, 0, 0, 8]), COUNTS),
    (Orders, plain([0, 0, 0, 2, 1, 0, 0, 8, 9, 1, 1, 9, 9, 0, 0, 0, 0, -1, 2, 7]), NEGATIVE),
    (Orders, plain(ORDERED, b"data of nobody"), DATA),
    # Of placed objects four lengths; one has three numbers and up to three more.
    (Orders, plain([0, 0, 0, 0, 0, 0, 3, 1, 0, 0]), NO_LENGTHS),
    (Orders, plain([0, 0, 0, 0, 0, 0, 6, 1, 0, 0, 0, 9, 9]), LENGTHS),
    (Orders, plain([0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 9]), LENGTHS),
    (Orders, plain([0, 0, 0, 0, 0, 0, 8, 1, 1, 0, 0, 9, 9, 0, 1]), TEXTS),
    (Orders, plain([0, 0, 0, 0, 0, 0, 8, 1, 0, 1, 0, 9, 9, 0, -1]), TEXTS),
    (Orders, plain([0, 0, 0, 0, 0, 0, 9, 1, 2, 0, 0, 9, 9, 0, 0, 0]), TEXTS),
    (Orders, plain([0, 0, 0, 0, 0, 0, 8, 1, 0, 0, 1, 9, 9, 0, 1]), DATA),
    (Orders, plain([0, 0, 0, 0, 0, 0, 9, 1, 0, 0, 2, 9, 9, 2, 1, 1], b"xy"), "lengths"),
    # What is left are how many numbers speak of kinds, these, and those about lent objects.
    (Orders, plain([*ORDERED, -1]), NO_LENGTHS),
    (Orders, plain([*ORDERED, 2, 0]), NO_LENGTHS),
    (Orders, plain([*ORDERED, 1, 1]), NO_LENGTHS),
    (Orders, plain([*ORDERED, 1, -1]), NO_LENGTHS),
    (Orders, plain([*ORDERED, 2, 1, 3], b"xy"), DATA),
    (Orders, plain([*ORDERED, 2, 1, 2], b"xyz"), DATA),
    (Orders, plain([*ORDERED, 3, 1, -1, 3], b"xy"), DATA),
    (Orders, plain([*ORDERED, 2, 1, 2], b"xy"), "orders: task kind 0: "),
    (Orders, plain([*ORDERED, 2, 0, 2], b"xy"), "orders: object kind 0: "),
    # Of lent objects four lengths; one has an id and up to three more numbers.
    (Orders, plain([*ORDERED, 0, 1, 0, 0]), NO_LENGTHS),
    (Orders, plain([*ORDERED, 0, 1, 1, 0, 1, 9]), LENGTHS),
    (Orders, plain([*ORDERED, 0, 1, 0, 0, 0, 9]), ROWS),
    (Orders, plain([*ORDERED, 0, 1, 1, 0, 0, 9, 9]), ROWS),
    (Orders, plain([*ORDERED, 0, 3, 2, 0, 0, 9, 9, 9, 8, 8]), ROWS),
    (Orders, plain([*ORDERED, 0, 1, 1, 0, 1, 9, 9, 1]), DATA),
    (Orders, plain([*ORDERED, 0, 2, 1, 0, 1, 9, 9, 9, -1]), DATA),
    (Orders, plain([*ORDERED, 0, 1, 1, 1, 1, 9, 9, 1, 0]), TEXTS),
    # Five lengths; one finished task has three numbers and a duration, one output two.
    (Update, plain([0, 0, 0, 0]), NO_LENGTHS),
    (Update, plain([1, 0, 0, 0, 0, 9]), LENGTHS),
    (Update, plain([0, 1, 0, 0, 0, 9, 1], SECOND), LENGTHS),
    (Update, plain([0, 1, 0, 0, 0, 9, 1, 0]), DATA),
    (Update, plain([0, 1, 0, 0, 0, 9, 1, 0], SECOND[1:]), DATA),
    (Update, plain([0, 1, 0, 0, 0, 9, 1, 1], SECOND), COUNTS),
    (Update, plain([0, 0, 1, 0, 0, 5, 0]), COUNTS),
    (Update, plain([0, 2, 1, 0, 0, 8, 9, 1, 1, -1, 2, 5, 0], 2 * SECOND), NEGATIVE),
    (Update, plain([0, 1, 1, 0, 0, 9, 1, 1, 5, 5], SECOND + b"1234"), DATA),
    (Update, plain([0, 0, 0, 2, 0, 9]), LENGTHS),
    # The number of the request, what it asks, the session, and seven lengths.
    (Submission, plain([5]), NO_LENGTHS),
    (Submission, plain([5, LAST, 1]), NO_LENGTHS),
    (Submission, plain([5, LAST, 1, 0, 1, 0, 0, 0, 0, 0, 9, 9, 0]), LENGTHS),
    (Submission, plain([5, LAST, 1, 0, 1, 0, 0, 0, 0, 0, 9, 9, 3, 0], b"x"), DATA),
    (Submission, plain([5, LAST, 1, 0, 1, 0, 0, 0, 0, 0, 9, 9, 0, 1]), COUNTS),
    (Submission, plain([5, LAST, 1, 0, 0, 0, 0, 1, 0, 0, 9, 9]), LENGTHS),
    (Submission, plain([5, LAST, 1, 0, 0, 0, 0, 1, 0, 0, 9, 9, 1]), DATA),
    (Submission, plain([5, LAST, 1, 0, 0, 0, 0, 0, 0, 2, 9]), LENGTHS),
    (Submission, plain([5, LAST, 1, -1, 0, 0, 0, 0, 0, 1]), LENGTHS),
    # What is left speaks of kinds.
    (Submission, plain([5, LAST, 1, 0, 0, 0, 0, 0, 0, 0, 1]), NO_LENGTHS),
    (Submission, plain([5, LAST, 1, 0, 0, 0, 0, 0, 0, 0, -1]), NO_LENGTHS),
    (Submission, plain([5, LAST, 1, 0, 0, 0, 0, 0, 0, 0, 1, 3], b"xy"), DATA),
    (Submission, plain([5, LAST, 1, 0, 0, 0, 0, 0, 0, 0, 1, -1, 3], b"xy"), DATA),
    (Submission, plain([5, LAST, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2], b"xy"), "task kind 0: "),
    (Submission, plain([5, LAST, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2], b"xy"), "object kind 0: "),
    # The number of the request, and what it asks.
    (Submission, plain([5, 8, 0, 0]), NO_LENGTHS),
    (Submission, plain([5, 8, 0, 2, 0], b"x"), DATA),
    (Submission, plain([5, 8, 2, 0, 0]), "there is no choice number 2"),
    (Submission, plain([5, 8, -1, 0, 0]), "there is no choice number -1"),
    (Submission, plain([5, 8, 0, 1, 0], b"\xff"), "can't decode byte 0xff"),
    (Submission, plain([5, 9]), NO_LENGTHS),
    (Submission, plain([5, 99, 1]), "nobody can ask for number 99"),
    (Submission, plain([5, 11, 1]), NO_LENGTHS),
    (Submission, plain([5, 11, 1, 0, 2, 0, 7]), LENGTHS),
    (Submission, plain([5, -1, 1]), "nobody can ask for number -1"),
    (Submission, plain([5, 2, 1]), NO_LENGTHS),
    (Submission, plain([5, 2, 1, 0, 1, 0]), LENGTHS),
    (Submission, plain([5, 5, 1, -1, 0, 0]), "-1 tasks cannot have been told before"),
    # The number of the request, what is said, and five lengths; one delivered object has three
    # numbers, and may have a content type.
    (WaitAnswer, plain([5]), NO_LENGTHS),
    (WaitAnswer, plain([5, 1, 0, 0, 0, 0]), NO_LENGTHS),
    (WaitAnswer, plain([5, 1, 0, 0, 0, 1, 0, 9, 2]), LENGTHS),
    (WaitAnswer, plain([5, 1, 0, 0, 0, 1, 0, 9, 2, 2]), DATA),
    (WaitAnswer, plain([5, 1, 0, 0, 0, 1, 1, 9, 0, 0, 2]), TEXTS),
    (WaitAnswer, plain([5, 3]), NO_LENGTHS),
    (WaitAnswer, plain([5, 4]), "nobody can say number 4"),
]


@pytest.mark.parametrize(("kind", "content", "reason"), WRONG)
def test_columns_that_do_not_fit_are_the_senders_fault(
    kind: type[Any], content: bytes, reason: str
) -> None:
    with pytest.raises(ProtocolError, match=reason):
        from_bytes(kind, content)


def test_numbers_that_are_cut_off_in_their_middle_are_the_senders_fault() -> None:
    message = schema.common.Orders.new_message(numbers=b"1234567")
    with pytest.raises(ProtocolError, match="multiple of item size"):
        from_bytes(Orders, message.to_bytes())
