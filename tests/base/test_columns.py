"""Values whose columns do not fit together are their sender's fault, in one line."""

from __future__ import annotations

from typing import Protocol

import pytest

from rain.base.errors import ProtocolError
from rain.base.ids import KindId, ObjectId, SessionId, TaskId
from rain.base.wire.answers import Delivery
from rain.base.wire.orders import AssignedTasks, Orders, PlacedObjects
from rain.base.wire.submission import ConstantColumns, Submission, TaskColumns
from rain.base.wire.update import FinishedTasks, Update

TASK, OBJECT, KIND = TaskId(1), ObjectId(2), KindId(3)


class Checked(Protocol):
    def check(self) -> None: ...


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (TaskColumns([TASK], [], [b""], [0]), "submitted tasks: .* different lengths"),
        (TaskColumns([TASK], [KIND], [b""], [2], [OBJECT]), "submitted tasks: the input counts"),
        (ConstantColumns([OBJECT], [KIND], []), "submitted constants: .* different lengths"),
        (PlacedObjects([OBJECT], [KIND], [""], [1], [], [b""]), "placed objects: .* different"),
        (AssignedTasks([TASK], [1], [KIND], [0], [b""], []), "assigned tasks: .* different"),
        (AssignedTasks([TASK], [1], [KIND], [0], [b""], [1]), "assigned tasks: the input counts"),
        (Orders(stop_ids=[TASK]), "stopped tasks: .* different lengths"),
        (FinishedTasks([TASK], [], [0.1], [0]), "finished tasks: .* different lengths"),
        (FinishedTasks([TASK], [1], [0.1], [1], [5], []), "outputs of finished tasks"),
        (FinishedTasks([TASK], [1], [0.1], [1]), "finished tasks: the output counts"),
        (Update(started_ids=[TASK]), "started tasks: .* different lengths"),
        (Delivery([OBJECT], [], [], []), "delivery: .* different lengths"),
    ],
)
def test_columns_that_do_not_fit_together_are_told(value: Checked, complaint: str) -> None:
    with pytest.raises(ProtocolError, match=complaint):
        value.check()


def test_a_value_checks_its_parts() -> None:
    bad_tasks = TaskColumns([TASK], [], [], [])
    with pytest.raises(ProtocolError):
        Submission(SessionId(1), tasks=bad_tasks).check()
    with pytest.raises(ProtocolError):
        Orders(tasks=AssignedTasks([TASK])).check()
    with pytest.raises(ProtocolError):
        Update(finished=FinishedTasks([TASK])).check()


def test_empty_values_are_in_order() -> None:
    for value in (Orders(), Update(), Delivery(), TaskColumns(), PlacedObjects()):
        value.check()


def test_the_length_of_a_constant_is_known_wherever_its_bytes_are() -> None:
    here = ConstantColumns([OBJECT], [KIND], [b"data"])
    sent_ahead = ConstantColumns([OBJECT, OBJECT], [KIND, KIND], [b"data", b""], [4, 10**9])
    assert here.lengths() == [4]
    assert sent_ahead.lengths() == [4, 10**9]
