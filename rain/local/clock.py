"""The clock of a local cluster, which counts turns and does not measure time.

Every turn is one step of the clock. While a call runs, the clock stands still, however long
somebody stays in a debugger. So nothing counts as silent or slow, and two runs of a program have
the same times. If nothing can run before a certain time, the clock is set to that time.
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
