"""The search for the shortest tasks that keep the cpus busy with tasks for half of the time. Pure.

What disturbs a run only makes it less efficient. So a length that was enough is enough; but one
that was not is tried once more before the search ends there.
"""

import math

from attrs import define, field, frozen

HALF = 0.5
SHORTEST, LONGEST = 20, 200_000  # microseconds: what is searched
STRIDE = 4  # by how much the length changes until the answer lies between two lengths
SMALL_STRIDE = 1.5  # the same, after a length has turned out to be enough after all
CLOSE_ENOUGH = 1.1  # the search ends when its ends are so near to each other
MOST_TRIES = 24  # a system that is never twice the same gets the best that is known by then


@frozen
class Point:
    """How well the cpus were used with tasks of one length."""

    microseconds: int
    efficiency: float


def _within_range(microseconds: int | None) -> int | None:
    return microseconds and min(max(microseconds, SHORTEST), LONGEST)


@define
class Search:
    """Says which length to try next, and hears how efficient it was.

    The length is changed from its start on until the answer lies between two lengths; then the
    interval is halved, by ratio, and the answer lies on the line between its ends.
    """

    length: int | None = field(converter=_within_range)
    """What is to be tried next, in microseconds; None when the search is over."""

    _low: Point | None = field(default=None, init=False)  # not enough
    _high: Point | None = field(default=None, init=False)  # enough
    _stride: float = field(default=STRIDE, init=False)
    _tries: int = field(default=0, init=False)

    @property
    def answer(self) -> float | None:
        """Where half of the time is spent in tasks; None while no length was enough."""
        low, high = self._low, self._high
        if low is None or high is None:
            return float(high.microseconds) if high else None
        part = (HALF - low.efficiency) / (high.efficiency - low.efficiency)
        return low.microseconds + part * (high.microseconds - low.microseconds)

    def note(self, efficiency: float) -> None:
        """That of the length that was to be tried."""
        assert self.length is not None
        point = Point(self.length, efficiency)
        is_second_try = self._low is not None and self._low.microseconds == self.length
        self._tries += 1
        if efficiency < HALF:
            self._low = point
        else:
            self._high = point
            if is_second_try:
                self._low, self._stride = None, SMALL_STRIDE
        last = LONGEST if efficiency < HALF else SHORTEST  # there is nothing beyond
        is_over = self._tries == MOST_TRIES or point.microseconds == last
        self.length = None if is_over else self._next(point, is_second_try)

    def _next(self, point: Point, is_second_try: bool) -> int | None:
        low, high = self._low, self._high
        if high is None:
            return min(round(point.microseconds * self._stride), LONGEST)
        if low is None:
            return max(round(point.microseconds / self._stride), SHORTEST)
        if high.microseconds > low.microseconds * CLOSE_ENOUGH:
            middle = round(math.sqrt(low.microseconds * high.microseconds))
            if middle not in {low.microseconds, high.microseconds}:
                return middle
        return None if is_second_try else low.microseconds
