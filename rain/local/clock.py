"""The time of a local cluster: it is counted and not measured.

Every turn takes a step. While a call runs, no time goes by, however long somebody looks at it in a
debugger: so nobody counts as silent or as slow, and two runs of a program have the same times. When
nothing can run before some time, the clock is set to that time.
"""

from __future__ import annotations

import time

from attrs import Factory, define

STEP = 0.001
"""Seconds that a turn takes."""

DURATION = 0.1
"""Seconds that a call is said to have taken.

It is so long that the governor queues no call behind another one: each begins in its turn.
"""


@define
class Steps:
    """Seconds since 1970; starts with the present."""

    now: float = Factory(time.time)

    def step(self) -> float:
        """A turn begins; gives its time."""
        self.now += STEP
        return self.now

    def jump(self, due: float) -> float:
        """Nothing happens before that time; gives the seconds that have gone by."""
        gone = max(due - self.now, STEP)
        self.now += gone
        return gone
