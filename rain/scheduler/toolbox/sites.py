"""Predicts when the cpus of each governor become free.

A site is a governor with a time for each of its cpus: the end of the work planned for it. Planning
a task updates the times at once; deviations (tasks that ended earlier or later) are corrected when
they matter.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush, heapreplace

from attrs import Factory, define

from rain.base.resources import MEMORY
from rain.base.states import TaskRow
from rain.graph import Governor, Task
from rain.scheduler.toolbox.levels import Mark
from rain.scheduler.toolbox.slots import kept

MANY = 64
"""With more tasks than this on a governor only their sum is used, not the end of each."""

EXPRESS = 0.001
"""The assumed seconds of a task from the express lane."""

OVERDUE = 0.1
"""An overdue task is assumed to run on for this fraction of its time so far."""


FEW = 16
"""Entries of a heap that need not be looked at for old ones."""

CANCELLED = 0.1
"""The assumed seconds until a cancelled task has ended, which seldom cleans up for long."""


@define(eq=False)
class Site:
    """A governor and its times, which are sorted: the k-th says when k cpus are free."""

    governor: Governor
    slots: list[float]
    work: float = 0.0  # seconds times cpus of all unfinished planned tasks
    planned: int = 0  # the number of these tasks; all others came through the express lane
    download: float = 0.0  # the end of all planned downloads
    upload: float = 0.0
    last: float = 0.0  # when the last waiting task will start
    looked: int = -1  # the run in which the slots were last computed from its tasks
    # Of planned tasks that are known to need much memory: their ends, and the bytes.
    holds: dict[Task, tuple[float, int]] = Factory(dict)

    @property
    def cpus(self) -> int:
        """The number of slots, at least one."""
        return len(self.slots)

    def start(self, cpus: int, now: float) -> float:
        """When this many cpus are free at once."""
        return max(self.slots[cpus - 1], now) if cpus else now

    def has_memory(self, need: int, now: float) -> float:
        """When the tasks that are planned here leave a task this memory.

        What needs more than the governor has starts when nothing else holds any.
        """
        memory = _memory(self)
        if not memory or not need:
            return now
        self.forget_ended()
        held, time = sum(need for _, need in self.holds.values()), now
        for end, freed in sorted(self.holds.values()):
            if held + need <= memory:
                break
            held -= freed
            time = max(end, now + OVERDUE)
        return time

    def forget_ended(self) -> None:
        """Tasks that have ended with their session hold no memory."""
        for task in [task for task in self.holds if task.is_done or not task.is_known]:
            del self.holds[task]

    def book(self, cpus: int, start: float, seconds: float) -> None:
        """Books cpus for this time."""
        slots = self.slots
        self.last = max(self.last, start)
        if cpus == 1:
            del slots[0]
            insort(slots, start + seconds)
        elif cpus:
            slots[:cpus] = [start + seconds] * cpus
            slots.sort()

    def compute_slots(self, now: float) -> None:
        """Computes the slots from the governor's tasks."""
        governor, count = self.governor, self.cpus
        if len(governor.scheduled) > MANY + count:
            express = EXPRESS * (len(governor.scheduled) - self.planned)
            self.last = now + (self.work + express) / count
            self.slots = [self.last] * count
            return
        self.slots = [0.0] * count  # free since any time
        self.last = now
        waiting: list[Task] = []
        for task in governor.scheduled:
            if task.row is TaskRow.CANCELLING:
                self.book(min(task.cpus, count), now, CANCELLED)
            elif task.row is TaskRow.RUNNING:
                self.book(min(task.cpus, count), now, _left(task, now))
            elif task.row is not TaskRow.BLOCKED:  # it takes no cpus
                waiting.append(task)
        waiting.sort(key=lambda task: (task.missing > 0, -task.priority, task.order))
        for task in waiting:
            cpus = min(task.cpus, count)
            self.book(cpus, self.start(cpus, now), _seconds(task))


def _memory(site: Site) -> int:
    return site.governor.offered.amount(MEMORY)


def _seconds(task: Task) -> float:
    mark = kept(task, Mark)
    return 0.0 if mark is None else mark.seconds


def _left(task: Task, now: float) -> float:
    """The remaining seconds of a running task."""
    passed = now - task.started
    return max(_seconds(task) - passed, OVERDUE * passed)


class Sites:
    """The sites of all governors, with a search for the first free one."""

    def __init__(self) -> None:
        self._sites: dict[Governor, Site] = {}
        self._soonest: dict[int, _Soonest] = {}
        self._run = 0
        self.cpus = 0  # of all of them
        self.real_cpus = 0  # without counting governors without cpus as one

    def __len__(self) -> int:
        return len(self._sites)

    def __iter__(self) -> Iterator[Site]:
        return iter(self._sites.values())

    def __getitem__(self, governor: Governor) -> Site:
        return self._sites[governor]

    def get(self, governor: Governor) -> Site | None:
        """The site of a governor, unless it has left."""
        return self._sites.get(governor)

    def begin_run(self, governors: Iterable[Governor], *, changed: bool) -> None:
        """Starts a run; `changed`: governors have joined, left, or started or ended a rest."""
        self._run += 1
        if changed:
            before = self._sites
            self._sites = {
                governor: before.get(governor) or Site(governor, [0.0] * max(governor.cpus, 1))
                for governor in governors
                if not governor.rests
            }
            self.cpus = sum(site.cpus for site in self._sites.values())
            self.real_cpus = sum(governor.cpus for governor in self._sites)
            self._soonest = {}

    def with_memory(self, cpus: int, need: int, now: float) -> Site | None:
        """A site that has cpus and memory for a task now."""
        for site in self._sites.values():
            is_free = cpus <= site.cpus and site.start(cpus, now) <= now
            if is_free and site.has_memory(need, now) <= now and not 0 < _memory(site) < need:
                return site
        return None

    def refresh(self, site: Site, now: float) -> None:
        """Updates the times of a site, once per run."""
        if site.looked != self._run:
            site.looked = self._run
            before = site.slots
            site.compute_slots(now)
            if site.slots != before:
                self._changed(site)

    def refresh_again(self, site: Site, now: float) -> None:
        """Updates the times again, after a task was removed or booked only as a trial."""
        site.compute_slots(now)
        self._changed(site)

    def _changed(self, site: Site) -> None:
        for soonest in self._soonest.values():
            soonest.add(site)

    def first(self, cpus: int, now: float) -> Site | None:
        """The site where `cpus` cpus are free first; None if no governor has enough."""
        soonest = self._soonest.get(cpus)
        if soonest is None:
            soonest = self._soonest[cpus] = _Soonest(self._sites.values(), cpus)
        while True:
            site = soonest.first()
            if site is None or site.looked == self._run or site.start(cpus, now) > now:
                return site
            self.refresh(site, now)  # predicted to be free by now, which may be wrong


class _Soonest:
    """A heap of sites by the time at which a number of cpus is free; entries are corrected lazily.

    Each site has one valid entry, identified by its version; older entries are dropped at the top.
    Those that never come there, because an idle site stays before them, are dropped when they are
    the most.
    """

    def __init__(self, sites: Iterable[Site], cpus: int) -> None:
        self._place = max(cpus - 1, 0)
        self._versions: dict[Site, int] = {}
        self._heap = [self._entry(site) for site in sites if site.cpus > self._place]
        heapify(self._heap)

    def _entry(self, site: Site) -> tuple[float, int, int, int, int, Site]:
        version = self._versions[site] = self._versions.get(site, 0) + 1
        governor = site.governor
        load = len(governor.scheduled)
        return site.slots[self._place], load, site.cpus, governor.number, version, site

    def first(self) -> Site | None:
        """The site that is free first; of equal ones the least busy, then the best fit."""
        heap, place = self._heap, self._place
        while heap:
            time, load, _, _, version, site = heap[0]
            if version != self._versions[site]:
                heappop(heap)
            elif site.slots[place] == time and len(site.governor.scheduled) <= load:
                return site
            else:
                heapreplace(heap, self._entry(site))
        return None

    def add(self, site: Site) -> None:
        """The times of a site have changed."""
        if site.cpus > self._place:
            heappush(self._heap, self._entry(site))
            if len(self._heap) > FEW + 2 * len(self._versions):
                valid = [one for one in self._heap if one[4] == self._versions[one[5]]]
                self._heap = valid
                heapify(valid)
