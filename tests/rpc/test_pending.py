"""A submission that comes in pieces is whole, bounded, and never mixed with another one."""

from collections.abc import Iterable
from typing import cast

import pytest
from attrs import AttrsInstance, fields

from rain.base.errors import ProtocolError
from rain.base.ids import KindId, ObjectId, SessionId, TaskId
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.wire.submission import (
    ConstantColumns,
    ContentColumns,
    DigestColumns,
    KeyColumns,
    Submission,
    TaskColumns,
)
from rain.rpc.codec import through_the_wire
from rain.rpc.pending import KIND_COST, REFERENCE_COST, TASK_COST, PendingSubmission

S = SessionId(1)
A, B = ObjectId(1), ObjectId(2)
COLUMNS = (TaskColumns, ConstantColumns, ContentColumns, KeyColumns, DigestColumns)


def a_pending(uploads: dict[ObjectId, int], limit: int = 1 << 30) -> PendingSubmission:
    return PendingSubmission(uploads.__getitem__, limit)


def constants(*data: bytes) -> Submission:
    ids = [A, B][: len(data)]
    return Submission(S, constants=ConstantColumns(ids, [KindId(1)] * len(data), list(data)))


def test_parts_are_joined_in_their_order() -> None:
    pending = a_pending({})
    for number in range(3):
        task = TaskColumns([TaskId(number)], [KindId(1)], [b"c"], [1], [A], [B])
        pending.add(Submission(S, tasks=task, kept=[ObjectId(number)]), [])
    whole, _ = pending.take()
    assert isinstance(whole, Submission)
    assert whole.tasks.ids == [0, 1, 2]
    assert whole.kept == [0, 1, 2]
    assert pending.held == 0


def test_sizes_tell_what_was_uploaded() -> None:
    pending = a_pending({B: 1000})
    pending.add(constants(b"x", b""), [B])
    whole, uploaded = pending.take()
    assert isinstance(whole, Submission)
    assert whole.constants.sizes == [1, 1000]
    assert uploaded == [B]
    assert pending.take()[1] == []


@pytest.mark.parametrize(
    ("uploaded", "part"),
    [(B, constants(b"")), (A, constants(b"x"))],
)
def test_an_upload_that_fits_to_nothing_is_the_clients_fault(
    uploaded: ObjectId, part: Submission
) -> None:
    pending = a_pending({A: 3})
    with pytest.raises(ProtocolError, match="nothing fits"):
        pending.add(part, [uploaded])


@pytest.mark.parametrize(
    "part",
    [
        Submission(S, object_kinds=[ObjectKind(KindId(1), user="x" * 600)]),
        Submission(S, task_kinds=[TaskKind(KindId(1), "py/", user="x" * 600)]),
    ],
)
def test_kinds_count_as_much_as_they_are_long_and_what_each_takes_beside(part: Submission) -> None:
    pending = a_pending({}, limit=2000)
    pending.add(through_the_wire(part), [])
    assert not pending.refusal
    assert KIND_COST + 600 < pending.held < KIND_COST + 800
    pending.add(through_the_wire(part), [])
    assert "larger than 2000 bytes" in pending.refusal


def test_parts_of_different_sessions_are_the_clients_fault() -> None:
    pending = a_pending({})
    pending.add(Submission(S), [])
    with pytest.raises(ProtocolError, match="different sessions"):
        pending.add(Submission(SessionId(2)), [])


def test_what_is_too_much_is_refused_up_to_the_last_part_and_not_beyond() -> None:
    # given: room for ten bytes
    pending = a_pending({}, 10)
    pending.add(constants(b"12345678"), [])
    assert not pending.refusal

    # when: three more come, and what the client sent after them without waiting
    pending.add(constants(b"9ab"), [])
    refusal = pending.refusal
    assert "larger than 10 bytes" in refusal
    pending.add(constants(b"c"), [])

    # then: all of that submission is refused, and the next one starts afresh
    assert pending.take() == (refusal, [])
    pending.add(constants(b"0123456789"), [])
    assert isinstance(pending.take()[0], Submission)


def test_tasks_count_beside_their_configs() -> None:
    pending = a_pending({}, 2 * TASK_COST)
    tasks = TaskColumns([TaskId(1), TaskId(2)], [KindId(1)] * 2, [b"", b"x"], [0, 0], [], [])
    pending.add(Submission(S, tasks=tasks), [])
    assert "larger" in pending.refusal


def test_references_count_too() -> None:
    pending = a_pending({}, 10 * REFERENCE_COST)
    inside = ContentColumns([1], [11], [ObjectId(number) for number in range(11)])
    pending.add(Submission(S, contents=inside), [])
    assert "larger" in pending.refusal


def full_part(number: int) -> Submission:
    """One entry in each column."""
    task, made, kind = TaskId(number), ObjectId(100 + number), KindId(200 + number)
    return Submission(
        S,
        [TaskKind(kind, "py/")],
        [ObjectKind(kind)],
        TaskColumns([task], [kind], [b"%d" % number], [1], [made], [made]),
        ConstantColumns([made], [kind], [b"%d" % number]),
        [made],
        contents=ContentColumns([task], [1], [made]),
        keys=KeyColumns([task], [b"%d" % number], [1], [made]),
        digests=DigestColumns([made], [b"%d" % number]),
    )


def lists_of(columns: AttrsInstance) -> dict[str, list[object]]:
    """All lists in a submission, by their names."""
    found: dict[str, list[object]] = {}
    for one in fields(type(columns)):
        value: object = getattr(columns, one.name)
        if isinstance(value, COLUMNS):
            found |= {f"{one.name}.{name}": entries for name, entries in lists_of(value).items()}
        elif not isinstance(value, int):
            found[one.name] = list(cast("Iterable[object]", value))
    return found


def test_nothing_of_any_part_is_missing_in_the_whole() -> None:
    pending = a_pending({})
    for number in (1, 2):
        pending.add(full_part(number), [])
    whole, _ = pending.take()
    assert isinstance(whole, Submission)
    first, second = lists_of(full_part(1)), lists_of(full_part(2))
    first["constants.sizes"] = second["constants.sizes"] = [1]
    assert lists_of(whole) == {name: first[name] + second[name] for name in first}
    assert all(first.values()), "a column that the test does not fill"
