"""A group: the tasks of one name in a session that may run twice at a time (see `lateness`)."""

from __future__ import annotations

from math import inf

from attrs import Factory, define

from rain.base.ids import TaskId
from rain.base.quantiles import Durations


@define(eq=False)
class Group:
    """How many there are, how long they have taken, and which of them run."""

    submitted: int = 0  # without those that have failed, or stand in for others
    finished: int = 0
    durations: Durations = Factory(Durations)
    running: dict[TaskId, int] = Factory(dict)  # whose starts were told, with the numbers of runs
    limit: float = inf  # seconds after which one of these is late, when it was last computed,
    limit_until: int = 0  # which is done again when this number of them have finished
