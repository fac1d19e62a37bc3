"""The best fit: which of several governors is chosen that are equal in all that matters more.

The one with the least to do for its size is first, and of equally busy ones the smallest, so that
the large ones stay free for tasks that fit nowhere else. Then tasks of 1 to 6 cpus on governors of
1 to 6 cpus all start at once, in whatever order they come.
"""

from __future__ import annotations

from rain.graph import Governor

Fit = tuple[float, int, int]
"""The load of a governor, its cpus, and its number; the smallest is the best."""


def fit(load: float, governor: Governor) -> Fit:
    """The fit of a governor with this load, which is whatever a scheduler compares."""
    return load, governor.cpus, governor.number


def load_of(governor: Governor) -> float:
    """Planned tasks per cpu."""
    return len(governor.scheduled) / (governor.cpus or 1)
