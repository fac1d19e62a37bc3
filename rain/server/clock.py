"""The server's clock, and a check whether the server was suspended."""

from __future__ import annotations

import time
from math import inf

from attrs import Factory, define

from rain.base.silence import BEAT

LATE = BEAT
"""Seconds by which a look may be late on a busy machine."""


@define
class Clock:
    """Seconds since 1970 that never jump, whatever happens to the wall clock.

    They start at the wall time of the server's start, or at a later time that was reached before,
    and increase monotonically.
    """

    reached: float = 0.0  # by an earlier server, whose state goes on
    _offset: float = Factory(
        lambda self: max(time.time(), self.reached) - time.monotonic(), takes_self=True
    )

    def now(self) -> float:
        return self._offset + time.monotonic()

    def stopwatch(self) -> float:
        """For durations."""
        return time.perf_counter()


@define
class Pulse:
    """Notices that the server stood still; it is checked in each turn, at least once per heartbeat.

    The process or the machine may have been suspended, or a turn may have taken very long. In that
    time the server received nothing, so peers are not counted as silent.
    """

    seen: float = inf  # before the first look

    def stood_still(self, now: float) -> float:
        """For how many seconds since the last look; 0 if it was only busy for a moment."""
        passed, self.seen = now - self.seen, now
        return passed - BEAT if passed > BEAT + LATE else 0.0
