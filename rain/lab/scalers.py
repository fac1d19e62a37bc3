"""The scaling rules that the lab compares: ours, and those of other systems as we understand them.

Nothing here is code of others. `Adaptive` does what Dask's adaptive clusters do: it wants as many
workers as finish the known work in some seconds, requests them at once, cancels requests at once
when they are not needed, and closes workers that were idle at a few looks in a row. `Backlog` does
what the automatic allocation of HyperQueue does: while tasks wait for room, it keeps a few jobs in
the queue, and an idle worker ends by itself after a while.
"""

from __future__ import annotations

from math import ceil

from attrs import Factory, define

from rain.base.wire.demand import Need
from rain.lab.scaling import KIND, ScalingOrders
from rain.scaling.memory import ScalingMemory
from rain.scaling.picture import Hired, Picture, Stage
from rain.scaling.policy import Rules, decide


@define
class Rain:
    """Ours: the very policy that the scaler of a cluster uses."""

    rules: Rules = Factory(Rules)
    name: str = "rain"
    memories: dict[str, ScalingMemory] = Factory(lambda: {KIND: ScalingMemory()})

    def look(self, picture: Picture, now: float) -> ScalingOrders:
        found = decide(picture, self.rules, self.memories, now)
        self.memories = found.memories
        return ScalingOrders([one.size for one in found.start], found.drain, found.cancel)

    def started(self, seconds: float) -> None:
        self.memories[KIND] = self.memories[KIND].started(seconds)


@define
class Adaptive:
    """The rule of Dask's adaptive clusters."""

    finish: float = 5.0  # its target_duration
    looks: int = 3  # its wait_count
    unknown: float = 0.5
    name: str = "dask's adaptive"
    closing: dict[str, int] = Factory(dict)

    def look(self, picture: Picture, now: float) -> ScalingOrders:
        (kind,) = picture.kinds
        hired = [one for one in picture.hired if one.stage is not Stage.LEAVING]
        target = self._target(picture, hired)
        target = max(kind.least, min(target, kind.most))
        if target > len(hired):
            self.closing.clear()
            room = kind.most - len(picture.hired)
            return ScalingOrders([1] * min(target - len(hired), room))
        surplus = len(hired) - target
        not_there = [one.name for one in reversed(hired) if one.stage is not Stage.READY]
        cancel = not_there[:surplus]
        idle = [one.name for one in hired if one.stage is Stage.READY and one.idle > 0]
        idle = idle[: surplus - len(cancel)]
        self.closing = {name: self.closing.get(name, 0) + 1 for name in idle}
        drain = [name for name, seen in self.closing.items() if seen >= self.looks]
        return ScalingOrders((), drain, cancel)

    def _target(self, picture: Picture, hired: list[Hired]) -> int:
        (kind,) = picture.kinds
        occupancy = tasks = waiting = 0.0
        for need in picture.needs:
            slots = max(1, kind.slots(need))
            occupancy += (need.seconds + need.unknown * self.unknown + need.occupied) / slots
            tasks += (need.waiting + need.running) / slots
            waiting += need.waiting
        target = min(ceil(occupancy / self.finish), ceil(tasks))
        busy = sum(one.stage is Stage.READY and not one.idle for one in hired)
        return max(target, busy, 1 if waiting else 0)

    def started(self, seconds: float) -> None:
        pass


@define
class Backlog:
    """The rule of HyperQueue's automatic allocation."""

    idle: float = 60.0  # its idle timeout, which is 300 unless told otherwise
    backlog: int = 1
    name: str = "hyperqueue's allocator"

    def look(self, picture: Picture, now: float) -> ScalingOrders:
        (kind,) = picture.kinds
        hired = picture.hired
        queued = sum(one.stage is Stage.QUEUED for one in hired)
        coming = sum(one.stage in {Stage.QUEUED, Stage.STARTING} for one in hired)
        slots = [max(1, kind.slots(need)) for need in picture.needs]
        unplaced = sum(map(_waits, picture.needs, slots))
        missing = ceil(unplaced) - coming
        room = kind.most - len(hired)
        start = max(0, min(self.backlog - queued, missing, room))
        rest = [one.name for one in hired if one.stage is Stage.READY and one.idle >= self.idle]
        return ScalingOrders([1] * start, rest)

    def started(self, seconds: float) -> None:
        pass


def _waits(need: Need, slots: int) -> float:
    return need.waiting / slots
