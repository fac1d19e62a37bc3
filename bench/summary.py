"""What repeated measurements say together."""

from collections.abc import Iterable, Sequence
from statistics import median, quantiles

from attrs import frozen


@frozen
class Summary:
    """The middle of some measurements, and how far they lie apart."""

    median: float
    low: float
    high: float

    @property
    def spread(self) -> float:
        """The whole range as a part of the median: 0.1 is "within ten per cent"."""
        return (self.high - self.low) / self.median if self.median else 0.0


def summarize(seconds: Sequence[float]) -> Summary:
    return Summary(median=median(seconds), low=min(seconds), high=max(seconds))


def times_faster(ours: float, peers: Iterable[float]) -> float | None:
    """How many times faster than the best peer; None when there is no peer."""
    best = min(peers, default=None)
    if best is None or not ours:
        return None
    return best / ours


def middle_of(more: Sequence[float]) -> str:
    """The median of how much more it was, and the middle half of them."""
    if len(more) < 2:
        return f"{more[0]:+.0%}"
    low, middle, high = quantiles(more, n=4, method="inclusive")
    return f"{middle:+.0%} ({low:+.0%} to {high:+.0%})"
