"""Whether what was sampled grows: a line through the samples, and how sure its slope is."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import mean

from attrs import frozen

BLOCKS = 12
"""As many means of neighbours take the place of the samples: one sample says much about the next
one, and the bound of a slope must not count them as many witnesses."""

WARM_PART = 0.25
"""The first part is left out: caches fill, and Python's memory finds its size."""

STUDENT = 2.228
"""The quantile of Student's distribution that 95 % of slopes of 12 means stay within."""


@frozen
class Slope:
    """The growth for each unit of work, and what 95 % of such lines stay within of it."""

    growth: float
    bound: float

    def is_above(self, limit: float) -> bool:
        """Whether it surely grows by more than the limit."""
        return self.growth - self.bound > limit


def fitted(work: Sequence[float], seen: Sequence[float]) -> Slope | None:
    """The line by least squares; None if there are too few samples."""
    first = int(len(work) * WARM_PART)
    work, seen = work[first:], seen[first:]
    length = len(work) // BLOCKS
    if not length or work[0] == work[-1]:
        return None
    x = [mean(work[place : place + length]) for place in range(0, length * BLOCKS, length)]
    y = [mean(seen[place : place + length]) for place in range(0, length * BLOCKS, length)]
    middle, level = mean(x), mean(y)
    spread = sum((one - middle) ** 2 for one in x)
    growth = sum((one - middle) * (other - level) for one, other in zip(x, y, strict=True)) / spread
    rest = sum(
        (other - level - growth * (one - middle)) ** 2 for one, other in zip(x, y, strict=True)
    )
    return Slope(growth, STUDENT * sqrt(rest / (BLOCKS - 2) / spread))
