"""The urgency of tasks: the b-level, the length of the longest chain that starts with a task.

The level of a task is its own duration plus the largest level of its consumers. New tasks are
entered once, consumers first, and raise the levels of older producers if they make a chain longer.
A level never falls: finished tasks are predecessors, which do not count.

With levels alone a task could starve while others with longer chains keep arriving. So the time of
arrival is subtracted: a second of waiting weighs as much as a second of level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import define

from rain.graph import DataObject, Task
from rain.scheduler.api import News, Plan
from rain.scheduler.toolbox.slots import kept, surely_kept
from rain.scheduler.toolbox.waiting_list import strangers


@define(eq=False)
class Mark:
    """The data of our schedulers in the slot `sched` of a task."""

    seconds: float  # its expected duration at arrival
    level: float
    came: float  # when it was submitted

    @property
    def urgency(self) -> float:
        """The urgency; larger goes first."""
        return self.level - self.came

    @property
    def priority(self) -> int:
        """The urgency as a priority for governors, in whole milliseconds."""
        return int(1000 * (self.level - self.came))


def no_transfer(data_object: DataObject) -> float:
    """Ignores transfers: data moves in no time."""
    return 0.0


def mark_of(task: Task) -> Mark:
    """The mark of an entered task."""
    return surely_kept(task, Mark)


def urgency(task: Task) -> float:
    """The urgency of an entered task."""
    return mark_of(task).urgency


def enter_levels(
    tasks: Sequence[Task],
    plan: Plan,
    make: Callable[[float, float, float], Mark] = Mark,
    transfer: Callable[[DataObject], float] = no_transfer,
) -> None:
    """Marks new tasks, given with producers before consumers."""
    duration, now = plan.estimates.duration, plan.now
    for task in reversed(tasks):
        seconds = duration(task)
        longest = 0.0
        for output in task.outputs:
            if output.consumers:
                chain = transfer(output) + _largest(output)
                longest = max(longest, chain)
        task.sched = make(seconds, seconds + longest, now)
    for task in tasks:
        if task.inputs:
            _raise_producers(task, transfer)


def enter_news(
    news: News,
    plan: Plan,
    make: Callable[[float, float, float], Mark] = Mark,
    transfer: Callable[[DataObject], float] = no_transfer,
) -> None:
    """Marks new tasks, and tasks that arrived while another scheduler planned."""
    enter_levels(news.submitted, plan, make, transfer)
    others = strangers(news, Mark)
    if others:
        enter_levels(others, plan, make, transfer)


def _largest(data_object: DataObject) -> float:
    """The largest level of the marked consumers."""
    largest = 0.0
    for consumer in data_object.consumers:
        mark = kept(consumer, Mark)
        if mark is not None and mark.level > largest:
            largest = mark.level
    return largest


def _raise_producers(task: Task, transfer: Callable[[DataObject], float]) -> None:
    """Raises the levels of producers whose longest chain the task makes longer."""
    pending = [task]
    while pending:
        task = pending.pop()
        level = mark_of(task).level
        for data_object in task.inputs:
            producer = data_object.producer
            if producer is None or producer.is_done:
                continue
            mark = kept(producer, Mark)
            if mark is None:
                continue  # it arrived while another scheduler planned
            least = mark.seconds + transfer(data_object) + level
            if mark.level < least:
                mark.level = least
                pending.append(producer)
