"""How urgent tasks are: the b-level, which is the length of the longest chain that starts with one.

The level of a task is its own duration and the largest level of its consumers. New tasks are
entered once, consumers first, and raise the levels of older producers where they make a chain
longer. A level never falls again: what was finished meanwhile is behind the task, not before it.

Levels alone would let a task starve while others with longer chains keep coming. So urgency counts
down with the time at which a task came: a second of waiting weighs as much as one of level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import define

from rain.graph import DataObject, Task
from rain.scheduler.api import News, Plan
from rain.scheduler.toolbox.waiting_list import strangers


@define(eq=False)
class Mark:
    """What our schedulers keep at a task, in its slot `sched`."""

    seconds: float  # its duration, as expected when it came
    level: float
    came: float  # when it was submitted

    @property
    def urgency(self) -> float:
        """Larger goes first."""
        return self.level - self.came

    @property
    def priority(self) -> int:
        """The same for governors, who count in whole numbers: milliseconds."""
        return int(1000 * (self.level - self.came))


def no_transfer(data_object: DataObject) -> float:
    """Data moves in no time."""
    return 0.0


def mark_of(task: Task) -> Mark:
    """The mark of a task that was entered."""
    mark = task.sched
    assert isinstance(mark, Mark), f"{task!r} was never submitted to this scheduler"
    return mark


def urgency(task: Task) -> float:
    """How urgent a task is that was entered."""
    return mark_of(task).urgency


def enter_levels(
    tasks: Sequence[Task],
    plan: Plan,
    make: Callable[[float, float, float], Mark] = Mark,
    transfer: Callable[[DataObject], float] = no_transfer,
) -> None:
    """Marks new tasks, which come with inputs before consumers."""
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
    """Marks what is new, and what came while another scheduler planned."""
    enter_levels(news.submitted, plan, make, transfer)
    others = strangers(news, Mark)
    if others:
        enter_levels(others, plan, make, transfer)


def _largest(data_object: DataObject) -> float:
    """The largest level of the consumers that are known."""
    largest = 0.0
    for consumer in data_object.consumers:
        mark = consumer.sched
        if isinstance(mark, Mark) and mark.level > largest:
            largest = mark.level
    return largest


def _raise_producers(task: Task, transfer: Callable[[DataObject], float]) -> None:
    """Passes the level of a task on to those before it whose longest chain it makes longer."""
    pending = [task]
    while pending:
        task = pending.pop()
        level = mark_of(task).level
        for data_object in task.inputs:
            producer = data_object.producer
            if producer is None or producer.is_done:
                continue
            mark = producer.sched
            if not isinstance(mark, Mark):
                continue  # it came while another scheduler planned
            least = mark.seconds + transfer(data_object) + level
            if mark.level < least:
                mark.level = least
                pending.append(producer)
