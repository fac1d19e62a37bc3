"""Counters of what a session, or a user on one day, has used of a cluster."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define

DAY = 86400.0
"""Seconds of a day; days are those of UTC, counted from 1970."""


@define
class Used:
    """What finished tasks have used, and what was stored. Tasks whose results came from a cache
    have used nothing."""

    tasks: int = 0
    cpu_seconds: float = 0.0
    bytes: int = 0  # of all that they have made
    byte_seconds: float = 0.0  # of what was stored, as long as it was

    def note(self, cpus: int, seconds: Sequence[float], made: int) -> None:
        """Tasks with that many cpus have finished."""
        self.tasks += len(seconds)
        self.cpu_seconds += cpus * sum(seconds)
        self.bytes += made
