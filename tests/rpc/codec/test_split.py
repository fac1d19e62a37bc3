"""What is too long for one message becomes several that mean the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.ids import KindId, ObjectId, SessionId, TaskId, pack
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.wire.answers import Delivery
from rain.base.wire.orders import AssignedTasks, Orders, PlacedObjects
from rain.base.wire.submission import Submission
from rain.base.wire.update import FinishedTasks, Update
from rain.rpc.codec import from_bytes, split, to_bytes
from rain.rpc.codec.kinds import weight
from rain.rpc.pending import PendingSubmission
from tests.rpc.values import some_orders, submissions


@pytest.fixture(autouse=True)
def _short_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that small values reach."""
    monkeypatch.setattr(split, "PART_BYTES", 100)
    monkeypatch.setattr(split, "PART_ROWS", 2)
    monkeypatch.setattr(split, "INLINE_BYTES", 10)


def no_upload(object_id: ObjectId) -> int:
    raise AssertionError(f"{object_id} was not uploaded")


@given(submissions)
def test_the_parts_of_a_submission_join_to_the_whole(submission: Submission) -> None:
    pending = PendingSubmission(no_upload)
    parts = split.split_submission(submission)
    for part in parts:
        part.check()
        assert len(part.tasks.ids) + len(part.constants.ids) <= split.PART_ROWS
        pending.add(part, [])
    whole, _ = pending.take()
    assert isinstance(whole, Submission)
    assert whole.constants.sizes == [len(data) for data in submission.constants.data]
    whole.constants.sizes = []
    assert whole == submission


def joined(parts: list[Orders]) -> Orders:
    """What the other side makes of parts that have come over the wire."""
    for part in parts:
        part.check()
    return split.join_orders([from_bytes(Orders, to_bytes(part)) for part in parts])


@given(some_orders())
def test_split_orders_say_the_same_in_the_same_order(orders: Orders) -> None:
    # given: a kind for each task, with outputs that add up, and a number
    orders.number = 7
    count = len(orders.tasks.ids)
    orders.task_kinds = [
        TaskKind(KindId(place), "py/", outputs=(KindId(0),) * place) for place in range(count)
    ]
    orders.tasks.kinds = [KindId(place) for place in range(count)]
    orders.tasks.outputs = [ObjectId(place) for place in range(count) for _ in range(place)]

    # when
    parts = split.split_orders(orders)

    # then: nothing is lost, every part is short, and the last one has the number
    assert [part.number for part in parts] == [0] * (len(parts) - 1) + [7]
    for part in parts:
        rows = len(part.objects.ids) + len(part.lent.ids) + len(part.tasks.ids)
        assert rows <= split.PART_ROWS
    assert joined(parts) == orders


def test_kinds_that_are_long_travel_as_parts_of_their_own() -> None:
    """Those of objects before those of tasks, which name them; and all before their first use."""
    kinds = [ObjectKind(KindId(pack(1, number)), "x" * 25) for number in range(3)]
    task_kind = TaskKind(KindId(pack(1, 9)), "py/", outputs=tuple(kind.id for kind in kinds))
    tasks = AssignedTasks([TaskId(1)], [1], [task_kind.id], [0], [b""], [0], [], [ObjectId(1)] * 3)
    orders = Orders(drops=[ObjectId(5)], task_kinds=[task_kind], object_kinds=[*kinds], tasks=tasks)
    submission = Submission(SessionId(1), [task_kind], [*kinds], kept=[ObjectId(5)])

    parts = split.split_orders(orders)
    parts_of_submission = split.split_submission(submission)

    assert [part.object_kinds for part in parts] == [[], *[[kind] for kind in kinds], [], []]
    assert [part.task_kinds for part in parts] == [[], [], [], [], [task_kind], []]
    assert [len(part.tasks.ids) for part in parts] == [0, 0, 0, 0, 0, 1]
    assert joined(parts) == orders
    assert [len(part.object_kinds) for part in parts_of_submission] == [0, 1, 1, 1, 0]
    assert parts_of_submission[-1].task_kinds == [task_kind]


def test_short_kinds_stay_with_the_first_part() -> None:
    kind = ObjectKind(KindId(pack(1, 9)))
    assert weight(kind) < split.PART_BYTES
    ids = [ObjectId(number) for number in range(3)]
    data = [bytes(60)] * 3
    objects = PlacedObjects(ids, [kind.id] * 3, [""] * 3, [60] * 3, [""] * 3, data)
    parts = split.split_orders(Orders(object_kinds=[kind], objects=objects))
    assert [part.object_kinds for part in parts] == [[kind], [], [], []]


def test_many_megabytes_of_kinds_are_cut_into_messages_that_may_be_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()  # the limits are the real ones
    kinds = [ObjectKind(KindId(pack(1, n)), user="x" * 1_000_000) for n in range(100)]

    parts = split.split_submission(Submission(SessionId(1), object_kinds=kinds))
    orders = split.split_orders(Orders(object_kinds=kinds))

    for part in (*parts, *orders):
        assert len(to_bytes(part)) <= 1.1 * split.PART_BYTES
    assert [kind for part in parts for kind in part.object_kinds] == kinds
    assert [kind for part in orders for kind in part.object_kinds] == kinds


def test_what_fits_is_not_touched() -> None:
    objects = PlacedObjects([ObjectId(1)], [KindId(1)], [""], [3], [""], [b"abc"])
    orders = Orders(objects=objects)
    assert split.split_orders(orders)[0] is orders
    update = Update(finished=FinishedTasks([TaskId(1)], [1], [0.1], [1], [3], [b"abc"]))
    assert split.slim_update(update) is update


def test_inline_data_over_the_limit_stays_with_its_holder() -> None:
    update = Update(
        started_ids=[TaskId(9)],
        finished=FinishedTasks(
            [TaskId(1)], [1], [0.1], [3], [6, 6, 1], [b"123456", b"abcdef", b"x"]
        ),
    )
    slim = split.slim_update(update)
    assert slim.finished.data == [b"123456", b"", b""]
    assert (slim.finished.sizes, slim.started_ids) == ([6, 6, 1], [9])
    delivery = Delivery([ObjectId(1), ObjectId(2)], [6, 6], ["", ""], [b"123456", b"abcdef"])
    assert split.slim_delivery(delivery) == Delivery([ObjectId(1)], [6], [""], [b"123456"])


@given(st.lists(st.integers(0, 40), max_size=12))
def test_ranges_cover_all_rows_once(weights: list[int]) -> None:
    covered = [row for start, end in split.ranges(weights) for row in range(start, end)]
    assert covered == list(range(len(weights)))
