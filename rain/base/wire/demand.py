"""The demand of a cluster: the needs of tasks that could run, how busy governors are, and who
starts more.
"""

from __future__ import annotations

from attrs import evolve, frozen

from rain.base.governors import GovernorRow
from rain.base.ids import GovernorId
from rain.base.resources import ONE_CPU, Resources


@frozen
class Need:
    """Tasks that need the same resources, and about the same time if that is long."""

    resources: Resources = ONE_CPU
    waiting: int = 0  # tasks that could run and do not
    seconds: float = 0.0  # that those of them will take whose durations are known
    unknown: int = 0  # those of them whose durations are not
    running: int = 0
    occupied: float = 0.0  # seconds until these have ended, of each at most those asked for
    shortest: float = 0.0  # seconds of the shortest that waits; 0 if it takes no minute

    def joined(self, other: Need) -> Need:
        """Both together."""
        return evolve(
            self,
            waiting=self.waiting + other.waiting,
            seconds=self.seconds + other.seconds,
            unknown=self.unknown + other.unknown,
            running=self.running + other.running,
            occupied=self.occupied + other.occupied,
            shortest=min(self.shortest, other.shortest),
        )


@frozen
class Load:
    """A governor, and what would be lost with it."""

    governor: GovernorId
    resources: Resources = ONE_CPU
    tasks: int = 0  # that it was told to run
    row: GovernorRow = GovernorRow.WORKS
    has_sole_copies: bool = False  # of data that somebody needs; told of those without tasks


@frozen
class Demand:
    """All of it."""

    needs: tuple[Need, ...] = ()
    loads: tuple[Load, ...] = ()
