"""The results of all systems and turns."""

from collections.abc import Sequence
from enum import Enum

from attrs import Factory, define, frozen

from bench.runners import OURS, SYSTEMS
from bench.summary import Summary, summarize, times_faster


class Unit(Enum):
    """The unit in which a quantity is shown."""

    TASKS_PER_SECOND = "tasks/s"
    MILLISECONDS = "ms a task"


@frozen
class Quantity:
    """Something whose seconds are measured on every system."""

    name: str
    tasks: int = 1  # the seconds are for all of them together
    unit: Unit = Unit.MILLISECONDS


@define
class Results:
    """All measurements: seconds by system and quantity, one for each turn."""

    quantities: tuple[Quantity, ...]
    systems: tuple[str, ...]
    seconds: dict[str, dict[str, list[float]]] = Factory(dict)
    details: dict[str, dict[str, list[object]]] = Factory(dict)
    problems: dict[str, list[str]] = Factory(dict)  # by system: the failures of turns

    def add(self, system: str, name: str, seconds: float | None, detail: object = None) -> None:
        if seconds is not None:
            self.seconds.setdefault(system, {}).setdefault(name, []).append(seconds)
        if detail is not None:
            self.details.setdefault(system, {}).setdefault(name, []).append(detail)

    def fail(self, system: str, problem: str) -> None:
        """Notes that a turn of the system has failed; the last line of `problem` says why."""
        self.problems.setdefault(system, []).append(problem)

    def reasons(self) -> list[str]:
        """Why figures are missing: one line for each system with a failed turn."""
        return [f"{name}: {found[-1].splitlines()[-1]}" for name, found in self.problems.items()]

    def of(self, system: str, quantity: Quantity) -> list[float]:
        """The seconds of every turn that has measured this quantity."""
        return self.seconds.get(system, {}).get(quantity.name, [])

    def summary(self, system: str, quantity: Quantity) -> Summary | None:
        seconds = self.of(system, quantity)
        return summarize(seconds) if seconds else None

    def limits(self) -> tuple[str, ...]:
        return tuple(name for name in self.systems if SYSTEMS[name].is_limit)

    def ratio(self, quantity: Quantity) -> float | None:
        """How many times faster Rain is than the best peer, by the medians."""
        peers = [name for name in self.systems if name != OURS.name and name not in self.limits()]
        return self._times_faster(quantity, peers)

    def ratio_to(self, other: str, quantity: Quantity) -> float | None:
        """How many times faster Rain is than another system."""
        return self._times_faster(quantity, [other])

    def _times_faster(self, quantity: Quantity, others: Sequence[str]) -> float | None:
        ours = self.summary(OURS.name, quantity)
        if ours is None:
            return None
        summaries = [self.summary(name, quantity) for name in others]
        return times_faster(ours.median, [one.median for one in summaries if one])
