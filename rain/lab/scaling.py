"""Simulates a rule of scaling in virtual time: tasks arrive, governors start, work, idle and end.

The cluster is simple on purpose. Tasks start in order where there is room, and data takes no time.
The results are when governors were there, and what they cost.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any, Protocol

from attrs import Factory, define, field, frozen

from rain.base.resources import Resources
from rain.base.wire.demand import Need
from rain.lab.bursts import Arrival, Scene
from rain.scaling.picture import GovernorKind, Hired, Picture, Stage, joined

KIND = "governors"

SIGHT = 15.0
"""Seconds ahead that running tasks are looked at."""


@frozen
class ScalingOrders:
    """What a rule wants done."""

    start: Sequence[int] = ()  # sizes
    drain: Sequence[str] = ()
    cancel: Sequence[str] = ()


class ScalingRule(Protocol):
    """A rule of scaling. It is called periodically and may have state."""

    name: str

    def look(self, picture: Picture, now: float) -> ScalingOrders:
        """What to do now."""
        ...

    def started(self, seconds: float) -> None:
        """A governor has joined this many seconds after it was requested."""
        ...


@define(eq=False)
class _Task:
    arrival: Arrival
    began: float = 0.0
    run: int = 0  # a run that was lost ends as another number


@define(eq=False)
class _Job:
    name: str
    number: int
    size: int
    asked: float
    stage: Stage = Stage.QUEUED
    began: float = inf  # when its time began, which is paid
    ended: float = inf
    room: int = 0  # cpus
    idle_since: float = inf
    tasks: list[_Task] = Factory(list)


@frozen
class PlayedScaling:
    """The results of one simulation."""

    scaler: str
    scene: str
    makespan: float  # until the last task has ended
    paid: float  # seconds of governors, each size for itself
    starts: int
    flaps: int  # governors given back so soon, or asked for again though no work has come since
    most: int  # jobs at once
    again: int  # runs of tasks that were lost with their governors


@define(eq=False)
class _World:
    scene: Scene
    scaler: ScalingRule
    every: float
    idle: float
    drain_seconds: float = 25.0
    now: float = 0.0
    jobs: list[_Job] = Factory(list)
    waiting: deque[_Task] = Factory(deque)
    left: int = 0  # tasks that have not ended
    known: dict[str, tuple[int, float]] = Factory(dict)  # finished, and their seconds
    flaps: int = 0
    again: int = 0
    most: int = 0
    last_end: float = 0.0
    given_back: float = -inf  # when,
    came: float = -inf  # and when work came, or governors were lost
    _events: list[tuple[float, int, Callable[[Any], None], object]] = Factory(list)
    _numbers: count[int] = field(factory=count)

    def play(self) -> PlayedScaling:
        for arrival in self.scene.arrivals:
            self.left += arrival.count
            self._at(arrival.time, self._arrive, arrival)
        self._at(0.0, self._look, None)
        while self._events:
            self.now, _, what, about = heappop(self._events)
            what(about)
        ended = [job for job in self.jobs if job.began < inf]
        paid = sum((min(job.ended, self.now) - job.began) * job.size for job in ended)
        return PlayedScaling(
            self.scaler.name,
            self.scene.name,
            self.last_end,
            paid,
            len(self.jobs),
            self.flaps,
            self.most,
            self.again,
        )

    def _at(self, time: float, what: Callable[[Any], None], about: object) -> None:
        heappush(self._events, (time, next(self._numbers), what, about))

    def _arrive(self, arrival: Arrival) -> None:
        self.waiting.extend(_Task(arrival) for _ in range(arrival.count))
        self.came = self.now
        self._place()

    def _look(self, _: object) -> None:
        living = [job for job in self.jobs if job.ended == inf]
        orders = self.scaler.look(self._picture(living), self.now)
        for job in living:
            if job.name in orders.cancel or job.name in orders.drain:
                self._give_back(job)
        for size in orders.start:
            self._start(size)
        if self.left or any(job.ended == inf for job in self.jobs):
            self._at(self.now + self.every, self._look, None)

    def _give_back(self, job: _Job) -> None:
        if self.now - job.asked < self.idle:
            self.flaps += 1
        self.given_back = self.now
        job.stage = Stage.LEAVING
        if not job.tasks:
            self._end(job)

    def _start(self, size: int) -> None:
        if self.now - self.given_back < self.idle and self.came < self.given_back:
            self.flaps += 1
        number = len(self.jobs) + 1
        job = _Job(f"governor-{number}", number, size, self.now)
        self.jobs.append(job)
        self.most = max(self.most, sum(job.ended == inf for job in self.jobs))
        self._at(self.now + self.scene.weather.wait(number), self._begin, job)

    def _begin(self, job: _Job) -> None:
        if job.ended < inf:
            return
        weather = self.scene.weather
        job.stage, job.began = Stage.STARTING, self.now
        self._at(self.now + weather.start, self._join, job)
        if weather.time_limit < inf:
            self._at(self.now + weather.time_limit - 5 - self.drain_seconds, self._leave, job)
            self._at(self.now + weather.time_limit, self._lose, job)
        if job.number in weather.killed:
            self._at(self.now + weather.killed_after, self._lose, job)

    def _join(self, job: _Job) -> None:
        if job.ended < inf:
            return
        job.stage, job.room = Stage.READY, self.scene.cpus * job.size
        job.idle_since = self.now
        self.scaler.started(self.now - job.asked)
        self._place()

    def _leave(self, job: _Job) -> None:
        if job.ended < inf:
            return
        job.stage = Stage.LEAVING
        self.came = self.now  # what it would have done waits for others
        if not job.tasks:
            self._end(job)

    def _lose(self, job: _Job) -> None:
        if job.ended < inf:
            return
        self.came = self.now
        self.again += len(job.tasks)
        for task in job.tasks:
            task.run += 1
        self.waiting.extendleft(job.tasks)
        job.tasks = []
        self._end(job)
        self._place()

    def _end(self, job: _Job) -> None:
        job.ended = self.now

    def _place(self) -> None:
        for job in self.jobs:
            if job.stage is not Stage.READY or job.ended < inf:
                continue
            while self.waiting and self.waiting[0].arrival.resources.cpus <= job.room:
                task = self.waiting.popleft()
                task.began = self.now
                job.tasks.append(task)
                job.room -= task.arrival.resources.cpus
                job.idle_since = inf
                self._at(self.now + task.arrival.seconds, self._finish, (job, task, task.run))

    def _finish(self, about: tuple[_Job, _Task, int]) -> None:
        job, task, run = about
        if task.run != run:
            return
        job.tasks.remove(task)
        job.room += task.arrival.resources.cpus
        finished, seconds = self.known.get(task.arrival.name, (0, 0.0))
        self.known[task.arrival.name] = (finished + 1, seconds + task.arrival.seconds)
        self.left -= 1
        self.last_end = self.now
        if not job.tasks:
            job.idle_since = self.now
            if job.stage is Stage.LEAVING:
                self._end(job)
        self._place()

    def _picture(self, living: list[_Job]) -> Picture:
        scene = self.scene
        kind = GovernorKind(
            KIND,
            Resources(scene.cpus),
            most=scene.most,
            seconds=scene.weather.time_limit,
        )
        hired = [
            Hired(
                job.name,
                KIND,
                job.stage,
                job.size,
                max(0.0, self.now - job.idle_since),
                scene.weather.time_limit - (self.now - job.began) if job.began < inf else inf,
            )
            for job in living
        ]
        return Picture([kind], self._needs(living), hired)

    def _needs(self, living: list[_Job]) -> list[Need]:
        expected = {arrival.name: self._expected(arrival.name) for arrival in self.scene.arrivals}
        found: list[Need] = []
        for arrival, tasks in Counter(task.arrival for task in self.waiting).items():
            seconds = expected[arrival.name]
            known, unknown = (0.0, tasks) if seconds is None else (seconds * tasks, 0)
            found.append(Need(arrival.resources, tasks, known, unknown))
        for task in (task for job in living for task in job.tasks):
            seconds = expected[task.arrival.name]
            rest = SIGHT if seconds is None else seconds - (self.now - task.began)
            occupied = max(0.0, min(rest, SIGHT))
            found.append(Need(task.arrival.resources, running=1, occupied=occupied))
        return joined(found)

    def _expected(self, name: str) -> float | None:
        """The known duration of a name; before one has finished, how long one has run so far."""
        finished, seconds = self.known.get(name, (0, 0.0))
        if finished:
            return seconds / finished
        began = [task.began for job in self.jobs for task in job.tasks if task.arrival.name == name]
        longest = self.now - min(began, default=self.now)
        return longest if longest > 1.0 else None


def play(
    scene: Scene, scaler: ScalingRule, *, every: float = 1.0, idle: float = 60.0
) -> PlayedScaling:
    """Simulates a scene until all tasks have ended and all governors have left."""
    return _World(scene, scaler, every, idle).play()
