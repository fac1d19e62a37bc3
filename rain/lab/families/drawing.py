"""Random numbers of the graph families: seeded by name and number, the same in every process."""

from __future__ import annotations

from random import Random


class Draw:
    """Draws durations and sizes."""

    def __init__(self, name: str, seed: int) -> None:
        # A text seeds by its SHA-512, so that no two families have the same numbers.
        self.random = Random(f"{name}/{seed}")

    def normal(self, mean: float, deviation: float) -> float:
        """A normal number, drawn again until it is above 0."""
        while True:
            number = self.random.normalvariate(mean, deviation)
            if number > 0:
                return number
