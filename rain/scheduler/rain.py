"""The default scheduler: data first, then balance; the original Rain heuristic made incremental.

The original looks at every pair of a ready task and a governor with free cpus, and prefers large
tasks and governors that have the task's inputs. Here every task is looked at once, when it is
submitted: it goes where most of its input bytes are or will be, and without such inputs to the
governor with the fewest planned tasks per cpu. What that leaves unbalanced is moved later, when
a governor has run out of work and others have tasks waiting.
"""

from __future__ import annotations

from functools import partial
from heapq import heapify, heapreplace

from rain.base.wire import INLINE_LIMIT
from rain.graph import Governor, Graph, Task
from rain.graph.rules import allows
from rain.scheduler.api import News, Plan
from rain.scheduler.toolbox.balance import feed_hungry

LOOKED_AT = 64
"""How many inputs of a task count for its place; a merge of thousands need not read them all."""

WORTH = 5000
"""How many bytes of a ready task's inputs weigh as much as one more task per cpu before it."""

UNKNOWN_SIZE = 1024
"""Bytes that an output is taken for while nothing is known about it."""


class RainScheduler:
    """Keeps the tasks that it could not plan yet: none fits, or a producer is not planned."""

    def __init__(self) -> None:
        self._unplanned: dict[Task, None] = {}

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        """Plans what is new, then feeds the hungry."""
        self._collect(news)
        governors = list(graph.governors.values())
        if not governors:
            return
        if self._unplanned:
            self._plan_all(graph, governors, plan)
        if len(governors) > 1:
            feed_hungry(governors, plan)

    def _collect(self, news: News) -> None:
        if news.unplanned:
            # Tasks come back in any order; inputs must come before consumers.
            again = {**self._unplanned, **dict.fromkeys(news.submitted), **news.unplanned}
            self._unplanned = dict.fromkeys(sorted(again, key=lambda task: task.order))
        else:
            self._unplanned.update(dict.fromkeys(news.submitted))

    def _plan_all(self, graph: Graph, governors: list[Governor], plan: Plan) -> None:
        loads = _Loads(governors)
        left: dict[Task, None] = {}
        for task in self._unplanned:
            if task.scheduled is not None or graph.tasks.get(task.id) is not task or task.is_done:
                continue
            governor = self._choose(task, loads)
            if governor is None:
                left[task] = None
            else:
                plan.assign(task, governor)
        self._unplanned = left

    def _choose(self, task: Task, loads: _Loads) -> Governor | None:
        local = _bytes_by_governor(task)
        if local is None:
            return None  # a producer has no place yet
        fitting = [found for found in local if allows(task, found, loads.governors)]
        least = loads.least(task)
        if not fitting or least is None:
            return least
        if task.missing:  # planned ahead: it follows its inputs, and so a chain stays together
            return max(fitting, key=lambda found: (local[found], -_load(found), -found.number))
        return max(
            (*fitting, least),
            key=lambda found: (local.get(found, 0) - WORTH * _load(found), -found.number),
        )


def _bytes_by_governor(task: Task) -> dict[Governor, int] | None:
    """How many bytes of the task's inputs are, or will be, on which governor."""
    local: dict[Governor, int] = {}
    for data_object in task.inputs[:LOOKED_AT]:
        places = data_object.scheduled
        size = data_object.expected_size
        if data_object.data is not None and size <= INLINE_LIMIT:
            continue  # it travels with the task: near to everybody
        if not places:
            if data_object.is_finished:
                continue  # only the server has it: far from everybody
            return None
        for governor in places:
            local[governor] = local.get(governor, 0) + (size or UNKNOWN_SIZE)
    return local


def _load(governor: Governor) -> float:
    return len(governor.scheduled) / max(governor.cpus, 1)


def _scarce_load(task: Task, governor: Governor) -> float:
    """Planned tasks by how many such as this one fit there at once: two gpus run two of them."""
    return len(governor.scheduled) / task.kind.resources.times_in(governor.resources)


class _Loads:
    """Governors by load, as a heap whose entries are corrected when they surface."""

    def __init__(self, governors: list[Governor]) -> None:
        self.governors = governors
        self._heap = [(_load(governor), governor.number, governor) for governor in governors]
        heapify(self._heap)

    def least(self, task: Task) -> Governor | None:
        """The least loaded governor that could run the task."""
        resources = task.kind.resources
        governor = self._top()
        if not resources.others and allows(task, governor, self.governors):
            return governor
        fitting = [entry[2] for entry in self._heap if allows(task, entry[2], self.governors)]
        load = partial(_scarce_load, task) if resources.others else _load
        return min(fitting, key=lambda found: (load(found), found.number), default=None)

    def _top(self) -> Governor:
        while True:
            noted, number, governor = self._heap[0]
            load = _load(governor)
            if load == noted:
                return governor
            heapreplace(self._heap, (load, number, governor))
