"""A cheap placement: a task goes to its inputs, else to the governor with the fewest tasks per cpu.

It costs a few microseconds and needs no durations.
"""

from __future__ import annotations

from functools import partial
from heapq import heapify, heapreplace
from math import ceil, inf, sqrt

from rain.base.wire import INLINE_LIMIT
from rain.graph import Governor, Task
from rain.graph.rules import allows
from rain.graph.times import has_time
from rain.scheduler.estimates import Estimates
from rain.scheduler.nearby import Nearby
from rain.scheduler.toolbox.fit import fit, load_of
from rain.scheduler.toolbox.places import LOOKED_AT

WORTH = 5000
"""Bytes of input that weigh as much as one more task per cpu in the queue."""

BLOCK = 64
"""The most neighbours that go to one governor before the next one gets tasks,"""

LARGEST = 512
"""and the most if they are very short,"""

NO_TIME = 0.01
"""seconds that a block of them may take. So an empty task counts as 20 us."""

STRETCH = 0.25
"""The fraction of a block by which blocks may be larger, to include the remainder."""

MESSAGES = 0.0004
"""Seconds that the messages for one block cost the server and a governor."""

SURE = 32
"""Measured durations of a name are trusted after this many tasks."""

UNKNOWN_SIZE = 1024
"""The assumed bytes of an output of unknown size."""


def _bytes_if_placed(task: Task, nearby: Nearby) -> dict[Governor, int] | None:
    """Like `places.bytes_by_governor`, but cheaper, and None if an input has no place yet."""
    local: dict[Governor, int] = {}
    for data_object in task.inputs[:LOOKED_AT]:
        size = data_object.expected_size
        if data_object.data is not None and size <= INLINE_LIMIT:
            continue  # it is sent with the task: near to every governor
        if data_object.is_finished:  # without copies only the server has it: far from all
            for copy in data_object.copies:
                local[copy.governor] = local.get(copy.governor, 0) + (size or UNKNOWN_SIZE)
            continue
        producer = data_object.producer
        if producer is None or producer.scheduled is None:
            return None
        local[producer.scheduled] = local.get(producer.scheduled, 0) + (size or UNKNOWN_SIZE)
    if task.kind.near:
        nearby.add_bytes(task, local)
    return local


_NOWHERE: dict[Governor, int] = {}

Entry = tuple[float, int, int, Governor]
"""The (perhaps outdated) fit of a governor (see `fit`), and itself."""


def _scarce_load(task: Task, governor: Governor) -> float:
    """Planned tasks divided by how many such tasks fit there at once: two gpus run two of them."""
    return len(governor.scheduled) / task.kind.resources.times_in(governor.resources)


def done_in_no_time(task: Task, estimates: Estimates) -> int:
    """How many such tasks finish before others could take a share of them; at least one."""
    learned = task.session.learned.get(task.kind.id)
    if learned is None or learned.finished < SURE:
        return 1
    return max(int(NO_TIME / _at_least(estimates.duration(task))), 1)


def worth_a_message(task: Task, count: int, estimates: Estimates) -> int:
    """How many of `count` such tasks should go to one governor together; at least one.

    Smaller blocks mean more messages, which cost server time; with larger blocks the governor that
    gets the last one ends later. The sum of both costs is least when they are equal.
    """
    seconds = _at_least(estimates.duration(task))
    least = int(sqrt(count * MESSAGES / seconds))
    return max(min(least, done_in_no_time(task, estimates)), 1)


def _at_least(seconds: float) -> float:
    """The duration of a task, but at least the governor's overhead per task."""
    return max(seconds, NO_TIME / LARGEST)


class Loads:
    """Governors by load, as a heap whose entries are corrected when they reach the top.

    The heap is built on the second query: for a single task a linear search is enough.
    """

    def __init__(self, governors: list[Governor]) -> None:
        self.governors = governors
        self._heap: list[Entry] = []
        self._asked = False
        self._there: dict[Governor, None] = {}  # the governors, as a set
        self._nearby = Nearby(governors)

    def choose(self, task: Task) -> Governor | None:
        """The governor with its inputs, unless it is overloaded; None if it has no place yet."""
        reads = task.inputs or task.kind.near
        local = _bytes_if_placed(task, self._nearby) if reads else _NOWHERE
        if local is None:
            return None  # a producer has no place yet
        if not local:
            return self.least(task)
        if len(local) == 1 and task.missing:  # the usual case
            (only,) = local
            there = self._there = self._there or dict.fromkeys(self.governors)
            if only in there and allows(task, only, self.governors):
                return only
        there = self._there = self._there or dict.fromkeys(self.governors)
        fitting = [
            found for found in local if found in there and allows(task, found, self.governors)
        ]
        if fitting and task.missing:  # it follows its inputs, and so a chain stays together
            most = max(map(local.__getitem__, fitting))
            nearest = [found for found in fitting if local[found] == most]
            if len(nearest) == 1:
                return nearest[0]
            return max(nearest, key=lambda found: (local[found], -load_of(found), -found.number))
        least = self.least(task)
        if not fitting or least is None:
            return least
        return max(
            (*fitting, least),
            key=lambda found: (local.get(found, 0) - WORTH * load_of(found), -found.number),
        )

    def deal(
        self, task: Task, count: int, all_of_them: int, estimates: Estimates
    ) -> list[tuple[Governor, int]]:
        """Distributes `count` tasks like this one without inputs to the least loaded governors.

        They go in blocks, because neighbours often have a common consumer and a block needs only
        one message. Empty if no governor fits.
        """
        fitting = _all_that_fit(task, self.governors)
        if len(fitting) < 2:
            return [(governor, count) for governor in fitting]
        even = min(count // (2 * len(fitting)), BLOCK)
        block = max(even, worth_a_message(task, all_of_them, estimates))
        if count > block:  # distribute the remainder over the blocks
            most = max(block, done_in_no_time(task, estimates))
            block = -(-count // ceil(max(count / block - STRETCH, count / most)))
        idle = [governor for governor in fitting if not governor.scheduled]
        if count <= block * len(idle):  # each gets at most one block, the smallest first
            idle.sort(key=lambda found: found.cpus)
            first = [(governor, block) for governor in idle[: count // block]]
            left = count % block
            return [*first, (idle[len(first)], left)] if left else first
        heap = _by_load(fitting)
        planned = {governor: len(governor.scheduled) for governor in fitting}
        dealt: list[tuple[Governor, int]] = []
        while count:
            _, cpus, number, governor = heap[0]
            some = min(block, count)
            dealt.append((governor, some))
            planned[governor] += some
            count -= some
            heapreplace(heap, (planned[governor] / (cpus or 1), cpus, number, governor))
        return dealt

    def least(self, task: Task) -> Governor | None:
        """The least loaded governor that can run the task."""
        kind = task.kind
        resources = kind.resources
        if not resources.others:
            governor = self._top()
            usual = kind.constraints is None and governor.left == inf
            if usual and resources.cpus <= governor.cpus:
                return governor
            if allows(task, governor, self.governors):
                return governor
        fitting = [found for found in self.governors if allows(task, found, self.governors)]
        load = partial(_scarce_load, task) if resources.others else load_of
        return min(fitting, key=lambda found: fit(load(found), found), default=None)

    def nearest(self, task: Task, local: dict[Governor, int]) -> Governor | None:
        """The governor with most of these bytes, however busy it is; else the least loaded."""
        there = self._there = self._there or dict.fromkeys(self.governors)
        near = [found for found in local if found in there and allows(task, found, self.governors)]
        if not near:
            return self.least(task)
        most = max(map(local.__getitem__, near))
        return min(
            (found for found in near if local[found] == most),
            key=lambda found: fit(load_of(found), found),
        )

    def _top(self) -> Governor:
        governors = self.governors
        if len(governors) == 1:
            return governors[0]
        if not self._asked:
            self._asked = True
            chosen, least = governors[0], inf
            for governor in governors:  # of equal ones the smallest, then the oldest
                load = len(governor.scheduled) / (governor.cpus or 1)
                if load < least or (load == least and governor.cpus < chosen.cpus):
                    chosen, least = governor, load
            return chosen
        if not self._heap:
            self._heap = _by_load(governors)
        while True:
            noted, cpus, number, governor = self._heap[0]
            load = load_of(governor)
            if load == noted:
                return governor
            heapreplace(self._heap, (load, cpus, number, governor))


def _all_that_fit(task: Task, governors: list[Governor]) -> list[Governor]:
    """The governors that may run the task."""
    kind = task.kind
    if kind.constraints is None and not kind.resources.others:  # the usual case
        cpus = kind.resources.cpus
        return [found for found in governors if cpus <= found.cpus and has_time(task, found)]
    return [found for found in governors if allows(task, found, governors)]


def _by_load(governors: list[Governor]) -> list[Entry]:
    """A heap, the least loaded first."""
    heap = [(len(one.scheduled) / (one.cpus or 1), one.cpus, one.number, one) for one in governors]
    heapify(heap)
    return heap
