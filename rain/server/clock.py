"""The server's clock, and how it notices that the server stood still."""

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

    They are the wall time when the server started, or a later time that was reached, and go on
    monotonically from there.
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
    """Notices that the server stood still; it is looked at in each turn, at least once in a beat.

    The server was stopped, its machine was, or a turn took very long. Meanwhile it could hear
    nobody, so that time is nobody's silence.
    """

    seen: float = inf  # before the first look

    def stood_still(self, now: float) -> float:
        """For how many seconds since the last look; 0 if it was only busy for a moment."""
        passed, self.seen = now - self.seen, now
        return passed - BEAT if passed > BEAT + LATE else 0.0
