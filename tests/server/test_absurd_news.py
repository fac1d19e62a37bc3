"""What a governor says may be readable and still make no sense: that is its fault."""

from __future__ import annotations

from math import inf, nan

import pytest

from rain.base.errors import ProtocolError
from rain.base.ids import TaskId
from rain.base.wire.update import FinishedTasks, Update
from rain.rpc.codec import from_bytes, to_bytes

TASKS = [TaskId(1), TaskId(2), TaskId(3)]


@pytest.mark.parametrize("seconds", [nan, inf, -inf, -1.0, 1e300])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_duration_that_is_none_is_the_governors_fault(seconds: float, place: int) -> None:
    durations = [0.5, 0.0, 3.0]
    durations[place] = seconds
    update = Update(finished=FinishedTasks(TASKS, [1] * 3, durations, [0] * 3, [], []))
    with pytest.raises(ProtocolError, match="no number of seconds"):
        from_bytes(Update, to_bytes(update))


def test_a_size_below_zero_is_the_governors_fault() -> None:
    update = Update(finished=FinishedTasks(TASKS[:1], [1], [0.5], [1], [-1], [b""]))
    with pytest.raises(ProtocolError, match="below zero"):
        from_bytes(Update, to_bytes(update))
