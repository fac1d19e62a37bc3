"""Notices that the server stood still.

It was stopped, its machine was, or a turn took very long. Meanwhile it could hear nobody, so that
time is nobody's silence.
"""

from __future__ import annotations

from math import inf

from attrs import define

from rain.base.silence import BEAT

LATE = BEAT
"""Seconds by which a look may be late on a busy machine."""


@define
class Pulse:
    """It is looked at in each turn, and at least once in each beat."""

    seen: float = inf  # before the first look

    def stood_still(self, now: float) -> float:
        """For how many seconds since the last look; 0 if it was only busy for a moment."""
        passed, self.seen = now - self.seen, now
        return passed - BEAT if passed > BEAT + LATE else 0.0
