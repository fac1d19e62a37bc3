"""The state of a cluster at one moment, from which the policy decides how many governors it should
have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import inf

from attrs import frozen

from rain.base.resources import Resources
from rain.base.wire.demand import Need


def joined(needs: Iterable[Need]) -> list[Need]:
    """Joins the needs that have the same resources."""
    found: dict[Resources, Need] = {}
    for need in needs:
        known = found.get(need.resources)
        found[need.resources] = need if known is None else known.joined(need)
    return list(found.values())


@frozen
class GovernorKind:
    """Governors that are started in the same way, and how many there may be of them."""

    name: str
    resources: Resources | None  # of each; None before it is known what a job gets
    least: int = 0
    most: int = 1
    largest: int = 1  # how many times these resources one job may ask for, if few jobs are better
    seconds: float = inf  # how long each may live
    idle: float | None = None  # seconds without a task after which one is let go; None as all

    def slots(self, need: Need) -> int:
        """How many tasks with this need run at once on one of them; 0 for none."""
        there = self.resources
        if there is None:  # whatever a job gets, it is no resource with a name
            return 0 if any(name != "memory" for name, _ in need.resources.others) else 1
        return need.resources.times_in(there) if need.resources.fits(there) else 0

    def lasts(self, need: Need, lost: float) -> bool:
        """Whether such a task ends in the time of a governor, which loses `lost` seconds of it."""
        return need.shortest <= self.seconds - lost

    def size_for(self, need: Need) -> int:
        """The size that a governor needs for a single task with this need."""
        sizes = range(1, self.largest + 1)
        return next(size for size in sizes if self.slots_of(need, size))

    def slots_of(self, need: Need, size: int) -> int:
        """How many tasks with this need run at once on a governor that is `size` times as large."""
        there = self.resources
        if there is None or size == 1:
            return self.slots(need)
        larger = Resources(
            there.cpus * size, tuple((name, amount * size) for name, amount in there.others)
        )
        return need.resources.times_in(larger) if need.resources.fits(larger) else 0


class Stage(StrEnum):
    """The stages of a governor that was asked for."""

    QUEUED = "queued"  # its job waits in the batch system
    STARTING = "starting"  # its job runs, and it has not joined the cluster
    READY = "ready"
    LEAVING = "leaving"  # it drains, or was told to


@frozen
class Hired:
    """A governor that was asked for and has not ended."""

    name: str
    kind: str
    stage: Stage
    size: int = 1  # how many times the resources of its kind
    idle: float = 0.0  # seconds for which it has had no task; 0 while it has any
    left: float = inf  # seconds until the time of its job is over
    sole: bool = False  # it alone has data that somebody needs
    outdated: bool = False  # its kind has changed since it was asked for, or was removed


@frozen
class Picture:
    """The kinds, the needs and the governors. Governors are in the order of their requests."""

    kinds: Sequence[GovernorKind]
    needs: Sequence[Need] = ()
    hired: Sequence[Hired] = ()


def kind_for(need: Need, kinds: Sequence[GovernorKind]) -> GovernorKind | None:
    """The kind for tasks with this need: the one that fits and has the fewest scarce resources.

    So governors with gpus are started only for tasks that need gpus, if there are other kinds.
    """
    fitting = [kind for kind in kinds if kind.most and kind.slots_of(need, kind.largest)]
    return min(fitting, key=_scarce, default=None)  # of equal ones the first


def _scarce(kind: GovernorKind) -> int:
    there = () if kind.resources is None else kind.resources.others
    return sum(1 for name, amount in there if amount and name != "memory")
