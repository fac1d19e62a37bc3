"""The best fit: chooses among governors that are otherwise equally good.

The governor with the smallest load comes first, and of equally loaded ones the smallest, so that
large governors stay free for tasks that fit nowhere else. Then tasks of 1 to 6 cpus on governors of
1 to 6 cpus all start at once, in any order of arrival.
"""

from __future__ import annotations

from rain.graph import Governor

Fit = tuple[float, int, int]
"""The load of a governor, its cpus, and its number; the smallest is the best."""


def fit(load: float, governor: Governor) -> Fit:
    """The fit of a governor. The scheduler chooses what it takes as the load."""
    return load, governor.cpus, governor.number


def load_of(governor: Governor) -> float:
    """Planned tasks per cpu."""
    return len(governor.scheduled) / (governor.cpus or 1)
