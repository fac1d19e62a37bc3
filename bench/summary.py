"""Summaries of repeated measurements."""

from collections.abc import Iterable, Sequence
from statistics import median, quantiles

from attrs import frozen


@frozen
class Summary:
    """The median and the range of measurements."""

    median: float
    low: float
    high: float

    @property
    def spread(self) -> float:
        """The range as a fraction of the median."""
        return (self.high - self.low) / self.median if self.median else 0.0


def summarize(seconds: Sequence[float]) -> Summary:
    return Summary(median=median(seconds), low=min(seconds), high=max(seconds))


def times_faster(ours: float, peers: Iterable[float]) -> float | None:
    """How many times faster than the best peer; None if there is no peer."""
    best = min(peers, default=None)
    if best is None or not ours:
        return None
    return best / ours


def middle_of(more: Sequence[float]) -> str:
    """The median of the relative differences and their interquartile range."""
    if len(more) < 2:
        return f"{more[0]:+.0%}"
    low, middle, high = quantiles(more, n=4, method="inclusive")
    return f"{middle:+.0%} ({low:+.0%} to {high:+.0%})"
