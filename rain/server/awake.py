"""Whether the server expects to hear something at once, so that going to sleep would not pay.

Who computes one short task after the other answers in less time than it takes to wake up a process
and the cpu for it. With more than one in hand, the cpus are better left to those who work.
"""

from __future__ import annotations

from attrs import define, field

from rain.graph import Task
from rain.server.state import State

ONE_BY_ONE = 4
"""So many turns with one task at most, that is, two tasks, show that there are more to come."""


@define
class Expectation:
    """Looks at every turn that has said something."""

    seconds: float  # within which an answer is worth waiting for; 0 for never
    _alone: int = field(init=False, default=0)  # turns until now with one task in hand at most

    def after_turn(self, state: State) -> bool:
        """Whether what was just said will most likely be answered in time."""
        if not self.seconds:
            return False
        in_hand = _in_hand(state)
        if len(in_hand) > 1 or len(state.waits) > 1 or state.growing:
            self._alone = 0
            return False
        self._alone += 1
        if self._alone <= ONE_BY_ONE:
            return False
        return not in_hand or state.estimates.duration(in_hand[0]) <= self.seconds


def _in_hand(state: State) -> list[Task]:
    """What governors were told to run; of several tasks no more than two."""
    found: list[Task] = []
    for governor in state.graph.governors.values():
        for task in governor.assigned:
            found.append(task)
            if len(found) > 1:
                return found
    return found
