"""What the systems have shown in all turns."""

from collections.abc import Sequence
from enum import Enum

from attrs import Factory, define, frozen

from bench.runners import OURS, SYSTEMS
from bench.summary import Summary, summarize, times_faster


class Unit(Enum):
    """How the time of a quantity is best read."""

    TASKS_PER_SECOND = "tasks/s"
    MILLISECONDS = "ms a task"


@frozen
class Quantity:
    """Something that takes seconds, on every system."""

    name: str
    tasks: int = 1  # the seconds are theirs together
    unit: Unit = Unit.MILLISECONDS


@define
class Results:
    """All that was measured: seconds by system and quantity, one for each turn."""

    quantities: tuple[Quantity, ...]
    systems: tuple[str, ...]
    seconds: dict[str, dict[str, list[float]]] = Factory(dict)
    details: dict[str, dict[str, list[object]]] = Factory(dict)
    problems: dict[str, list[str]] = Factory(dict)  # by system: turns that did not come to an end

    def add(self, system: str, name: str, seconds: float | None, detail: object = None) -> None:
        if seconds is not None:
            self.seconds.setdefault(system, {}).setdefault(name, []).append(seconds)
        if detail is not None:
            self.details.setdefault(system, {}).setdefault(name, []).append(detail)

    def fail(self, system: str, problem: str) -> None:
        """A turn of the system did not come to its end; the last line says why."""
        self.problems.setdefault(system, []).append(problem)

    def reasons(self) -> list[str]:
        """Why figures are missing: one line for each system of which a turn has failed."""
        return [f"{name}: {found[-1].splitlines()[-1]}" for name, found in self.problems.items()]

    def of(self, system: str, quantity: Quantity) -> list[float]:
        """The seconds of every turn that has shown them."""
        return self.seconds.get(system, {}).get(quantity.name, [])

    def summary(self, system: str, quantity: Quantity) -> Summary | None:
        seconds = self.of(system, quantity)
        return summarize(seconds) if seconds else None

    def limits(self) -> tuple[str, ...]:
        return tuple(name for name in self.systems if SYSTEMS[name].is_limit)

    def ratio(self, quantity: Quantity) -> float | None:
        """How many times faster ours is than the better peer, by the medians."""
        peers = [name for name in self.systems if name != OURS.name and name not in self.limits()]
        return self._times_faster(quantity, peers)

    def ratio_to(self, other: str, quantity: Quantity) -> float | None:
        """How many times faster ours is than one of the others."""
        return self._times_faster(quantity, [other])

    def _times_faster(self, quantity: Quantity, others: Sequence[str]) -> float | None:
        ours = self.summary(OURS.name, quantity)
        if ours is None:
            return None
        summaries = [self.summary(name, quantity) for name in others]
        return times_faster(ours.median, [one.median for one in summaries if one])
