"""Random numbers of the graph families: seeded by name and number, the same in every process."""

from __future__ import annotations

from random import Random

from rain.base.resources import Resources
from rain.lab.workload import MIB, Workload


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


class Making:
    """A workload that grows, with the numbers that it draws."""

    def __init__(self, name: str, seed: int) -> None:
        self.workload = Workload(name)
        self.draw = Draw(name, seed)

    def task(self, name: str, mean: float, deviation: float, *inputs: int, cpus: int = 1) -> int:
        """A task whose duration is drawn."""
        duration = self.draw.normal(mean, deviation) if deviation else mean
        return self.workload.add_task(
            name, duration, inputs=inputs, expected=mean, resources=Resources(cpus)
        )

    def output(self, task: int, size: float, deviation: float = 0.0) -> int:
        """One more output of a task, in MiB."""
        drawn = self.draw.normal(size, deviation) if deviation else size
        return self.workload.add_object(drawn * MIB, task, expected=size * MIB)
