"""A sketch of many durations: how many there were of about each length, and their quantiles.

Durations are counted in buckets, each of which is a tenth longer than the one before. So a quantile
is right within five percent, whatever the order of the values, and the sketch never has more than
some hundred numbers. Nothing is random: a server that replays its turns gets the same sketch.
"""

from __future__ import annotations

from math import log, sqrt

from attrs import Factory, define

STEP = 1.1
"""How many times a bucket is as long as the one before it."""

SHORTEST = 1e-4
"""Seconds of the first bucket; what is shorter counts there."""

LAST = 250
"""The last bucket, of about seventy days; what is longer counts there."""

_PER_STEP = 1 / log(STEP)


@define(eq=False)
class Durations:
    """Counts by bucket."""

    count: int = 0
    buckets: dict[int, int] = Factory(dict)

    def add(self, seconds: float) -> None:
        """One more duration."""
        self.count += 1
        place = int(min(log(seconds / SHORTEST) * _PER_STEP, LAST)) if seconds > SHORTEST else 0
        self.buckets[place] = self.buckets.get(place, 0) + 1

    def quantile(self, fraction: float) -> float:
        """The duration, in seconds, that this fraction of them did not exceed; 0 if there are
        none.
        """
        left = fraction * self.count
        place = 0
        for place in sorted(self.buckets):
            left -= self.buckets[place]
            if left <= 0:
                break
        else:
            if not self.buckets:
                return 0.0
        return SHORTEST * STEP**place * sqrt(STEP)
