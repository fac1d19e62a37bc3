"""Governors with free cpus, for schedulers that plan only what can start at once."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heapreplace

from rain.graph import Governor, Task
from rain.graph.rules import allows, suits
from rain.graph.times import has_time
from rain.scheduler.toolbox.fit import Fit, fit


class Rooms:
    """The free cpus of each governor, and a heap with the best fit first.

    Free cpus only decrease, so entries of the heap are corrected when they reach the top.
    """

    def __init__(self, governors: Iterable[Governor]) -> None:
        self._governors = governors
        self._free = {
            governor: governor.cpus - governor.active_cpus
            for governor in governors
            if governor.active_cpus < max(governor.cpus, 1)
        }
        self._heap = [(*self._fit(found), found) for found in self._free]
        heapify(self._heap)

    def __bool__(self) -> bool:
        return bool(self._free)

    def choose(self, task: Task, local: dict[Governor, int]) -> Governor | None:
        """The governor with room that has most of the task's bytes, then the best fit."""
        free, kind = self._free, task.kind
        if kind.resources.others or kind.constraints is not None:
            candidates = (found for found in free if self._fits(task, found))
        else:
            candidates = (found for found in local if self._has_cpus(task, found))
        chosen = min(
            candidates, key=lambda found: (-local.get(found, 0), self._fit(found)), default=None
        )
        if chosen is None and not kind.resources.others and kind.constraints is None:
            chosen = self._top()
            if chosen is not None and not self._has_cpus(task, chosen):
                fitting = (found for found in free if self._has_cpus(task, found))
                chosen = min(fitting, key=self._fit, default=None)
        return chosen

    def _fit(self, governor: Governor) -> Fit:
        """The load is the part of its cpus that is taken."""
        return fit(-self._free[governor] / (governor.cpus or 1), governor)

    def _has_cpus(self, task: Task, governor: Governor) -> bool:
        """Whether it fits, if only cpus matter for it."""
        return task.cpus <= self._free.get(governor, -1) and has_time(task, governor)

    def _fits(self, task: Task, governor: Governor) -> bool:
        return task.cpus <= self._free[governor] and allows(task, governor, self._governors)

    def _top(self) -> Governor | None:
        heap = self._heap
        while heap:
            load, _, _, governor = heap[0]
            if governor not in self._free:
                heappop(heap)
                continue
            now = self._fit(governor)
            if now[0] == load:
                return governor
            heapreplace(heap, (*now, governor))
        return None

    def take(self, task: Task, governor: Governor) -> None:
        """Notes that the task was planned there."""
        self._free[governor] -= task.cpus
        if self._free[governor] <= 0:
            del self._free[governor]

    def keep_for(self, task: Task) -> None:
        """Reserves all governors on which tasks like this one could run."""
        self._free = {found: room for found, room in self._free.items() if not suits(task, found)}
