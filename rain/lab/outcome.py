"""The outcome of a run in the lab."""

from __future__ import annotations

from attrs import define, field, frozen


@frozen
class Placement:
    """Where and when a task ran, in seconds since the first submit."""

    task: int
    governor: int
    start: float
    end: float


@define
class Outcome:
    """The outcome of one graph on one cluster with one scheduler."""

    makespan: float = 0.0  # seconds from the first submit until the server knows that all is done
    moved: int = 0  # bytes that governors have fetched
    transfers: int = 0
    peak_stored: int = 0  # bytes in the stores of all governors together, at most
    peak_governor: int = 0  # bytes in the store of one governor, at most
    turns: int = 0  # of the server
    scheduler_runs: int = 0
    scheduler_seconds: float = 0.0  # real time spent in the plugin, not virtual time
    digest: str = ""  # of all events in order; tells whether two runs are equal
    placements: list[Placement] = field(factory=list)
