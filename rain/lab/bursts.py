"""Test scenes for scaling rules: work that arrives in bursts, and batch systems in which jobs wait.

Everything is generated from a seed, so that all rules get the same trials.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from random import Random

from attrs import frozen

from rain.base.resources import ONE_CPU, Resources


@frozen
class Arrival:
    """Equal tasks that are submitted together."""

    time: float
    count: int
    seconds: float  # of each
    resources: Resources = ONE_CPU
    name: str = "work"


@frozen
class Weather:
    """How long a batch system lets jobs wait, and how long governors take to start."""

    wait: Callable[[int], float]  # of the job of that number
    start: float = 2.0
    time_limit: float = inf  # of each job
    killed: frozenset[int] = frozenset()  # jobs that end by themselves
    killed_after: float = inf


@frozen
class Scene:
    """One trial."""

    name: str
    arrivals: tuple[Arrival, ...]
    weather: Weather
    cpus: int = 4  # of each governor
    most: int = 20


def _at_once(_: int) -> float:
    return 0.0


def _queue(seed: int, mean: float) -> Callable[[int], float]:
    return lambda number: Random(f"{seed} {number}").expovariate(1 / mean)


def scenes(seed: int = 1) -> list[Scene]:
    """The set in which rules are compared."""
    draw = Random(seed)
    quick, slow = Weather(_at_once), Weather(_queue(seed, 45.0))
    pauses = [sum(draw.uniform(20, 200) for _ in range(number)) for number in range(1, 9)]
    return [
        Scene("one burst of short tasks", (Arrival(0, 4000, 0.5),), quick),
        Scene("one burst of long tasks", (Arrival(0, 120, 120),), quick),
        Scene("one long task", (Arrival(0, 1, 300),), quick),
        Scene("a trickle", tuple(Arrival(5.0 * n, 1, 2) for n in range(120)), quick),
        Scene("bursts now and then", tuple(Arrival(t, 300, 3) for t in pauses), quick),
        Scene("waves", tuple(Arrival(90.0 * n, 200, 4) for n in range(8)), quick),
        Scene("a burst, and a queue", (Arrival(0, 400, 30),), slow),
        Scene("bursts, and a queue", tuple(Arrival(t, 300, 3) for t in pauses), slow),
        Scene(
            "sizes apart",
            (Arrival(0, 500, 0.2, name="small"), Arrival(1, 20, 240, name="large")),
            quick,
        ),
        Scene(
            "jobs end before the work",
            (Arrival(0, 600, 30),),
            Weather(_at_once, time_limit=240.0),
        ),
        Scene(
            "jobs are killed",
            (Arrival(0, 600, 10),),
            Weather(_at_once, killed=frozenset({1, 3, 5}), killed_after=20.0),
        ),
    ]
