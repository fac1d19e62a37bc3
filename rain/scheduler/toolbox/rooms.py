"""Governors with free cpus, for schedulers that plan only what can start at once."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heapreplace

from rain.base.kinds import TaskKind
from rain.graph import Governor, Task
from rain.graph.rules import allows, suits


class Rooms:
    """The free cpus of each governor, and a heap with the most free cpus first.

    Free cpus only decrease, so entries of the heap are corrected when they reach the top.
    """

    def __init__(self, governors: Iterable[Governor]) -> None:
        self._governors = governors
        self._free = {
            governor: governor.cpus - governor.active_cpus
            for governor in governors
            if governor.active_cpus < max(governor.cpus, 1)
        }
        self._heap = [(-room, found.number, found) for found, room in self._free.items()]
        heapify(self._heap)

    def __bool__(self) -> bool:
        return bool(self._free)

    def choose(self, task: Task, local: dict[Governor, int]) -> Governor | None:
        """The governor with room that has most of the task's bytes, then most free cpus."""
        free, kind = self._free, task.kind
        if kind.resources.others or kind.constraints is not None:
            candidates = (found for found in free if self._fits(task, found))
        else:
            candidates = (found for found in local if task.cpus <= free.get(found, -1))
        chosen = max(
            candidates,
            key=lambda found: (local.get(found, 0), free[found], -found.number),
            default=None,
        )
        if chosen is None and not kind.resources.others and kind.constraints is None:
            most = self._most()
            chosen = most if most is not None and task.cpus <= free[most] else None
        return chosen

    def _fits(self, task: Task, governor: Governor) -> bool:
        return task.cpus <= self._free[governor] and allows(task, governor, self._governors)

    def _most(self) -> Governor | None:
        heap, free = self._heap, self._free
        while heap:
            room, number, governor = heap[0]
            now = free.get(governor)
            if now is None:
                heappop(heap)
            elif now == -room:
                return governor
            else:
                heapreplace(heap, (-now, number, governor))
        return None

    def take(self, task: Task, governor: Governor) -> None:
        """Notes that the task was planned there."""
        self._free[governor] -= task.cpus
        if self._free[governor] <= 0:
            del self._free[governor]

    def keep_for(self, kind: TaskKind) -> None:
        """Reserves all governors on which tasks of this kind could ever run."""
        self._free = {found: room for found, room in self._free.items() if not suits(kind, found)}
