"""Searches the shortest tasks with 50 % efficiency. No I/O.

Disturbances can only make a run less efficient. So a length that was sufficient once is sufficient,
but one that was not is tried again before the search ends there.
"""

import math

from attrs import define, field, frozen

HALF = 0.5
SHORTEST, LONGEST = 20, 200_000  # microseconds: the range of the search
STRIDE = 4  # factor between lengths until the result is bracketed
SMALL_STRIDE = 1.5  # the factor after a length has proved sufficient on the second try
CLOSE_ENOUGH = 1.1  # the search ends when the ratio of its bounds is below this
MOST_TRIES = 24  # a system with varying results gets the best result so far


@frozen
class Point:
    """The efficiency with tasks of one length."""

    microseconds: int
    efficiency: float


def _within_range(microseconds: int | None) -> int | None:
    return microseconds and min(max(microseconds, SHORTEST), LONGEST)


@define
class Search:
    """Chooses the next length to try, given the efficiencies so far.

    The length is changed from its start until the result is bracketed between two lengths; then
    the interval is bisected geometrically, and the result is interpolated between its ends.
    """

    length: int | None = field(converter=_within_range)
    """The next length to try, in microseconds; None when the search is over."""

    _low: Point | None = field(default=None, init=False)  # not sufficient
    _high: Point | None = field(default=None, init=False)  # sufficient
    _stride: float = field(default=STRIDE, init=False)
    _tries: int = field(default=0, init=False)

    @property
    def answer(self) -> float | None:
        """The length with 50 % efficiency; None while no length was sufficient."""
        low, high = self._low, self._high
        if low is None or high is None:
            return float(high.microseconds) if high else None
        part = (HALF - low.efficiency) / (high.efficiency - low.efficiency)
        return low.microseconds + part * (high.microseconds - low.microseconds)

    def note(self, efficiency: float) -> None:
        """Notes the efficiency of the length that was tried."""
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
        last = LONGEST if efficiency < HALF else SHORTEST  # the end of the range
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
