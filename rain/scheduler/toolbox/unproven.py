"""Plans tasks again that were planned before the duration of their kind was known.

Their durations are unknown, so each counts as a millisecond of its session's share, and a hundred
of them wait for each cpu. If they take longer, they delay the tasks of other sessions. So when one
of them has ended, or runs for much longer than assumed, those that still wait lose their plans, if
another session also has work, or if their outputs are read by tasks without a plan, which would
come after all of them. They are planned again with the duration that is known now.

Until a task of a kind has ended, the time that one has been running counts as its duration.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice

from attrs import define

from rain.base.ids import KindId
from rain.base.states import TaskRow
from rain.graph import Governor, Session, Task
from rain.scheduler.api import Plan
from rain.scheduler.toolbox.express import SURE, look_at

OFF = 4
"""Tasks are planned again when they take this many times as long as they were counted."""

_WAITING = (TaskRow.QUEUED, TaskRow.PLANNED, TaskRow.ASSIGNED)


@define
class UnprovenTasks:
    """The planned tasks of one kind that have not ended."""

    tasks: deque[Task]
    seconds: float  # for which each was counted


class Unproven:
    """The kinds of which no task has ended, by kind."""

    def __init__(self) -> None:
        self.watches: dict[KindId, UnprovenTasks] = {}

    def add(self, tasks: Iterable[Task], seconds: float) -> None:
        """Tasks of one kind were planned, and each was counted for these seconds."""
        first, *others = tasks
        watch = self.watches.get(first.kind.id)
        if watch is None:
            watch = self.watches[first.kind.id] = UnprovenTasks(deque(), seconds)
        watch.tasks += (first, *others)
        watch.seconds = min(watch.seconds, seconds)

    def forget(self, sessions: Iterable[Session]) -> None:
        """Sessions have ended."""
        ended = frozenset(sessions)
        for kind, watch in list(self.watches.items()):
            if watch.tasks[0].session in ended:
                del self.watches[kind]

    def take_wrong(self, cpus: int, plan: Plan) -> list[tuple[list[Task], float]]:
        """Learns from running tasks; returns those that were counted for too little, by kind.

        With them comes what each was counted for. They are watched no more.
        """
        wrong: list[tuple[list[Task], float]] = []
        contended = _is_contended(plan.graph.sessions.values())
        for kind, watch in list(self.watches.items()):
            tasks = watch.tasks
            while tasks and (tasks[0].is_done or not tasks[0].is_known):
                tasks.popleft()
            if not tasks:
                del self.watches[kind]
                continue
            _learn_from_running(list(islice(tasks, cpus)), plan)
            sight = look_at(tasks[0], plan.estimates)
            if not sight.known:
                continue
            if sight.seconds <= OFF * watch.seconds:
                if tasks[0].session.learned[kind].finished:
                    del self.watches[kind]
            elif contended or _hold_up(tasks[-1]):
                del self.watches[kind]
                wrong.append((list(tasks), watch.seconds))
        return wrong


def _hold_up(task: Task) -> bool:
    """Whether it makes data for tasks that have no plan yet, and would come after all such."""
    return any(
        consumer.scheduled is None for output in task.outputs for consumer in output.consumers
    )


def _is_contended(sessions: Iterable[Session]) -> bool:
    """Whether more than one session has work."""
    return len(list(islice((found for found in sessions if found.unfinished), 2))) > 1


def _learn_from_running(tasks: Sequence[Task], plan: Plan) -> None:
    """Tasks of one kind take at least as long as the longest of these has run."""
    learned = tasks[0].session.learned[tasks[0].kind.id]
    if not learned.finished:
        started = [task.started for task in tasks if task.row is TaskRow.RUNNING]
        longest = plan.now - min(started, default=plan.now)
        if longest >= SURE:
            learned.least = max(learned.least, longest)


def that_wait(tasks: Iterable[Task]) -> list[Task]:
    """The tasks that can be planned again without a loss, producers before consumers.

    A governor may have started as many as it has cpus without the server knowing it yet.
    """
    spared: dict[Governor, int] = {}
    waiting: list[Task] = []
    for task in sorted(dict.fromkeys(tasks), key=lambda task: (-task.priority, task.order)):
        governor = task.scheduled
        if governor is None or task.row not in _WAITING or not task.is_known:
            continue
        if task.assigned is not None and governor.is_behind:
            continue  # it may have run there meanwhile
        if task.row is TaskRow.ASSIGNED and spared.get(governor, 0) < governor.cpus:
            spared[governor] = spared.get(governor, 0) + task.cpus
        else:
            waiting.append(task)
    return sorted(waiting, key=lambda task: task.order)
