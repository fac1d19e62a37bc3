"""HEFT: every task is planned when it is submitted, in the order of rank.

The rank is the length of the longest path to an end of the graph, including transfers. Each task
goes where it would end first; it may fill a gap between earlier bookings if the gap is long enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import Factory, define

from rain.graph import Governor, Graph, Task
from rain.graph.rules import allows
from rain.scheduler.api import News, Plan
from rain.scheduler.toolbox.fit import fit
from rain.scheduler.toolbox.levels import Mark, enter_news, mark_of, urgency
from rain.scheduler.toolbox.places import LOOKED_AT, has_place, travels_along
from rain.scheduler.toolbox.slots import kept, surely_kept
from rain.scheduler.toolbox.transfers import LATENCY
from rain.scheduler.toolbox.waiting_list import WaitingList, needs_plan

REMEMBERED = 256
"""The latest bookings of a governor that are searched for gaps."""


@define(eq=False)
class Rank(Mark):
    """A mark with the planned end of the task."""

    end: float = 0.0


@define(eq=False)
class Calendar:
    """The bookings of a governor's cpus: start, end and cpus."""

    cpus: int
    bookings: list[tuple[float, float, int]] = Factory(list)
    full_until: float = 0.0

    def first_gap(self, cpus: int, ready: float, seconds: float) -> float:
        """The earliest time from which `cpus` cpus are free for `seconds`."""
        earliest = max(ready, self.full_until)
        starts = [earliest, *(end for _, end, _ in self.bookings if end > earliest)]
        return next(
            start for start in sorted(starts) if self._is_free(cpus, start, start + seconds)
        )

    def _is_free(self, cpus: int, start: float, end: float) -> bool:
        """Whether the cpus are free all the time; usage only grows at the start of a booking."""
        inside = [booking for booking in self.bookings if booking[0] < end and booking[1] > start]
        moments = [start, *(booking[0] for booking in inside if booking[0] > start)]
        room = self.cpus - cpus
        return all(
            sum(taken for begin, until, taken in inside if begin <= moment < until) <= room
            for moment in moments
        )

    def book(self, cpus: int, start: float, end: float) -> None:
        """Books cpus for this time."""
        self.bookings.append((start, end, cpus))
        if len(self.bookings) > REMEMBERED:
            self.bookings.sort(key=lambda booking: booking[1])
            oldest = self.bookings.pop(0)
            self.full_until = max(self.full_until, oldest[1])


class HeftScheduler:
    """Keeps a calendar for each governor."""

    def __init__(self) -> None:
        self._waiting = WaitingList(urgency)
        self._calendars: dict[Governor, Calendar] = {}

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        """Plans all new tasks by rank; planned tasks never move."""
        estimates = plan.estimates
        enter_news(news, plan, Rank, lambda output: estimates.transfer(estimates.size(output)))
        for governor in news.left:
            self._calendars.pop(governor, None)
        for governor in graph.governors.values():
            self._calendars.setdefault(governor, Calendar(max(governor.cpus, 1)))
        for tasks in (news.submitted, news.unplanned):
            self._waiting.add(task for task in tasks if needs_plan(task))
        there = list(graph.governors.values())
        held = [task for task in self._waiting.take() if not self._place(task, there, plan)]
        self._waiting.add(held)

    def _place(self, task: Task, there: list[Governor], plan: Plan) -> bool:
        """Plans a task where it will end first, if that can be computed yet."""
        governors = plan.graph.governors.values()
        fitting = [governor for governor in there if allows(task, governor, governors)]
        if not fitting or not has_place(task):
            return False
        seconds = mark_of(task).seconds
        arrives = _arrival(task, plan)

        def start_on(governor: Governor) -> float:
            calendar = self._calendars[governor]
            return calendar.first_gap(min(task.cpus, calendar.cpus), arrives(governor), seconds)

        governor = min(fitting, key=lambda found: fit(start_on(found), found))
        start = start_on(governor)
        plan.assign(task, governor, mark_of(task).priority)
        self._calendars[governor].book(task.cpus, start, start + seconds)
        surely_kept(task, Rank).end = start + seconds
        return True


def _arrival(task: Task, plan: Plan) -> Callable[[Governor], float]:
    """Returns a function that says when all inputs will be on a governor."""
    estimates = plan.estimates
    wanted: list[tuple[Sequence[Governor], float, float]] = []
    for data_object in task.inputs[:LOOKED_AT]:
        producer = data_object.producer
        made = plan.now
        if producer is not None and not data_object.is_finished:
            rank = kept(producer, Rank)
            made = made if rank is None else max(made, rank.end)
        travels = travels_along(data_object)
        seconds = 0.0 if travels else estimates.transfer(estimates.size(data_object))
        wanted.append((data_object.scheduled, made, seconds))
    for near in task.kind.near:
        seconds = LATENCY + estimates.transfer(near.size)
        wanted.append((plan.nearby.governors(near), plan.now, seconds))

    def arrives(governor: Governor) -> float:
        return max(
            (made if governor in places else made + transfer for places, made, transfer in wanted),
            default=plan.now,
        )

    return arrives
