"""Random numbers of the graph families: seeded by name and number, the same in every process."""

from __future__ import annotations

from random import Random

from rain.base.resources import Resources
from rain.lab.workload import MIB, Workload


class Draw:
    """Draws durations and sizes."""

    def __init__(self, name: str, seed: int) -> None:
        # A text is hashed with SHA-512, so each family gets different numbers.
        self.random = Random(f"{name}/{seed}")

    def normal(self, mean: float, deviation: float) -> float:
        """A normally distributed number, drawn again until it is above 0."""
        while True:
            number = self.random.normalvariate(mean, deviation)
            if number > 0:
                return number


class Making:
    """A workload under construction, with its random numbers."""

    def __init__(self, name: str, seed: int) -> None:
        self.workload = Workload(name)
        self.draw = Draw(name, seed)

    def task(self, name: str, mean: float, deviation: float, *inputs: int, cpus: int = 1) -> int:
        """Adds a task with a random duration."""
        duration = self.draw.normal(mean, deviation) if deviation else mean
        return self.workload.add_task(
            name, duration, inputs=inputs, expected=mean, resources=Resources(cpus)
        )

    def output(self, task: int, size: float, deviation: float = 0.0) -> int:
        """Adds an output to a task; `size` is in MiB."""
        drawn = self.draw.normal(size, deviation) if deviation else size
        return self.workload.add_object(drawn * MIB, task, expected=size * MIB)
