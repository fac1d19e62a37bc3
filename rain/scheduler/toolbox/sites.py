"""When the cpus of each governor get free, as far as that can be foreseen.

A site is a governor with a time for each of its cpus: when that cpu will have done what is planned
for it. The times follow from the plan: planning a task moves them on at once, and what has turned
out otherwise (tasks that ended earlier or later) is looked at when it matters.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush, heapreplace

from attrs import define

from rain.base.states import TaskRow
from rain.graph import Governor, Task
from rain.scheduler.toolbox.levels import Mark

MANY = 64
"""Of so many tasks on a governor only the sum matters, not when each of them ends."""

EXPRESS = 0.001
"""Seconds that each task counts for that was planned at first sight."""

OVERDUE = 0.1
"""A task that runs for longer than expected will run for this part of its time so far."""


@define(eq=False)
class Site:
    """A governor and its times; they are sorted, so that the k-th says when k cpus are free."""

    governor: Governor
    slots: list[float]
    work: float = 0.0  # seconds times cpus of all that is planned there and not finished
    planned: int = 0  # how many tasks that is; all others there came by the express lane
    download: float = 0.0  # when the network will have brought, and taken, what is planned
    upload: float = 0.0
    last: float = 0.0  # when the last of the tasks that wait there will start
    looked: int = -1  # the run in which the slots were last computed from what is there

    @property
    def cpus(self) -> int:
        """How many slots there are, at least one."""
        return len(self.slots)

    def start(self, cpus: int, now: float) -> float:
        """When so many cpus are free together."""
        return max(self.slots[cpus - 1], now) if cpus else now

    def book(self, cpus: int, start: float, seconds: float) -> None:
        """So many cpus have something to do then."""
        slots = self.slots
        self.last = max(self.last, start)
        if cpus == 1:
            del slots[0]
            insort(slots, start + seconds)
        elif cpus:
            slots[:cpus] = [start + seconds] * cpus
            slots.sort()

    def look(self, now: float) -> None:
        """Computes the slots from the tasks that are there."""
        governor, count = self.governor, self.cpus
        if len(governor.scheduled) > MANY + count:
            express = EXPRESS * (len(governor.scheduled) - self.planned)
            self.last = now + (self.work + express) / count
            self.slots = [self.last] * count
            return
        self.slots = [0.0] * count  # free for ever so long
        self.last = now
        waiting: list[Task] = []
        for task in governor.scheduled:
            if task.row is TaskRow.RUNNING:
                self.book(min(task.cpus, count), now, _left(task, now))
            else:
                waiting.append(task)
        waiting.sort(key=lambda task: (task.missing > 0, -task.priority, task.order))
        for task in waiting:
            cpus = min(task.cpus, count)
            self.book(cpus, self.start(cpus, now), _seconds(task))


def _seconds(task: Task) -> float:
    mark = task.sched
    return mark.seconds if isinstance(mark, Mark) else 0.0


def _left(task: Task, now: float) -> float:
    """How long a running task will still run."""
    passed = now - task.started
    return max(_seconds(task) - passed, OVERDUE * passed)


class Sites:
    """The sites of all governors, and which of them is free first."""

    def __init__(self) -> None:
        self._sites: dict[Governor, Site] = {}
        self._soonest: dict[int, _Soonest] = {}
        self._run = 0
        self.cpus = 0  # of all of them
        self.real_cpus = 0  # the same, if those without any do not count as one

    def __len__(self) -> int:
        return len(self._sites)

    def __iter__(self) -> Iterator[Site]:
        return iter(self._sites.values())

    def __getitem__(self, governor: Governor) -> Site:
        return self._sites[governor]

    def get(self, governor: Governor) -> Site | None:
        """The site of a governor, unless that has left."""
        return self._sites.get(governor)

    def begin_run(self, governors: Iterable[Governor], *, changed: bool) -> None:
        """The scheduler runs; `changed`: governors have come or gone, or begun or ended a rest."""
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

    def look(self, site: Site, now: float) -> None:
        """Makes sure that the times of a site are true, once in a run."""
        if site.looked != self._run:
            site.looked = self._run
            before = site.slots
            site.look(now)
            if site.slots != before:
                self._changed(site)

    def look_again(self, site: Site, now: float) -> None:
        """Something was taken away there, or was booked only to see what would be."""
        site.look(now)
        self._changed(site)

    def _changed(self, site: Site) -> None:
        for soonest in self._soonest.values():
            soonest.add(site)

    def first(self, cpus: int, now: float) -> Site | None:
        """Where so many cpus are free first; None when no governor has so many."""
        soonest = self._soonest.get(cpus)
        if soonest is None:
            soonest = self._soonest[cpus] = _Soonest(self._sites.values(), cpus)
        while True:
            site = soonest.first()
            if site is None or site.looked == self._run or site.start(cpus, now) > now:
                return site
            self.look(site, now)  # it should be free by now; perhaps it is not


class _Soonest:
    """Sites by when so many cpus are free, as a heap whose entries are corrected on the way.

    Each site has one entry that counts, known by its version; older ones go when they surface.
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
        """The site that is free first; among equals one that has little to do, and fits best."""
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
