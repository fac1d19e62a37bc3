"""A submission that comes in pieces is whole, bounded, and never mixed with another one."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.errors import ProtocolError
from rain.base.ids import KindId, ObjectId, SessionId, TaskId
from rain.base.wire import ConstantColumns, Submission, TaskColumns
from rain.rpc.pending import TASK_COST, PendingSubmission

S = SessionId(1)
A, B = ObjectId(1), ObjectId(2)


def constants(*data: bytes) -> Submission:
    ids = [A, B][: len(data)]
    return Submission(S, constants=ConstantColumns(ids, [KindId(1)] * len(data), list(data)))


def test_parts_are_joined_in_their_order() -> None:
    pending = PendingSubmission()
    for number in range(3):
        task = TaskColumns([TaskId(number)], [KindId(1)], [b"c"], [1], [A], [B])
        assert pending.add(Submission(S, tasks=task, kept=[ObjectId(number)]), []) == ""
    whole = pending.take()
    assert isinstance(whole, Submission)
    assert whole.tasks.ids == [0, 1, 2]
    assert whole.kept == [0, 1, 2]
    assert pending.held == 0


@given(st.binary(max_size=50), st.lists(st.integers(0, 50), max_size=5))
def test_uploaded_pieces_take_their_constants_place(data: bytes, cuts: list[int]) -> None:
    pending = PendingSubmission()
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for start, end in itertools.pairwise(edges):
        assert pending.upload(B, start, data[start:end]) == ""
    assert pending.add(constants(b"x", b""), [B]) == ""
    whole = pending.take()
    assert isinstance(whole, Submission)
    assert whole.constants.data == [b"x", data]


def test_an_upload_with_a_hole_is_the_clients_fault() -> None:
    pending = PendingSubmission()
    pending.upload(A, 0, b"abc")
    with pytest.raises(ProtocolError, match="goes on at 4 instead of 3"):
        pending.upload(A, 4, b"e")


@pytest.mark.parametrize(
    ("uploaded", "part"),
    [(A, constants(b"")), (B, constants(b"", b"")), (A, constants(b"x"))],
)
def test_an_upload_that_fits_to_nothing_is_the_clients_fault(
    uploaded: ObjectId, part: Submission
) -> None:
    pending = PendingSubmission()
    if part.constants.data[0]:
        pending.upload(A, 0, b"abc")
    with pytest.raises(ProtocolError, match="nothing fits"):
        pending.add(part, [uploaded])


def test_parts_of_different_sessions_are_the_clients_fault() -> None:
    pending = PendingSubmission()
    pending.add(Submission(S), [])
    with pytest.raises(ProtocolError, match="different sessions"):
        pending.add(Submission(SessionId(2)), [])


def test_what_is_too_much_is_refused_up_to_the_last_part_and_not_beyond() -> None:
    # given: room for ten bytes
    pending = PendingSubmission(10)
    assert pending.upload(A, 0, b"12345678") == ""

    # when: three more come, and what the client sent after them without waiting
    refusal = pending.upload(A, 8, b"9ab")
    assert "larger than 10 bytes" in refusal
    assert pending.upload(A, 11, b"c") == refusal
    assert pending.add(constants(b""), [A]) == refusal

    # then: all of that submission is refused, and the next one starts afresh
    assert pending.take() == refusal
    assert pending.add(constants(b"0123456789"), []) == ""
    assert isinstance(pending.take(), Submission)


def test_tasks_count_beside_their_configs() -> None:
    pending = PendingSubmission(2 * TASK_COST)
    tasks = TaskColumns([TaskId(1), TaskId(2)], [KindId(1)] * 2, [b"", b"x"], [0, 0], [], [])
    assert "larger" in pending.add(Submission(S, tasks=tasks), [])
