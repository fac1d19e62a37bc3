"""Shares of users beside a scheduler that knows nothing of users. Works beside every scheduler.

While several users have work, their tasks are kept back, and the scheduler hears of each of them
when it is its turn: of as many as keep all cpus busy, and a few more. So whatever order the
scheduler chooses, and however many tasks it plans ahead, users get cpus by their weights.

The turns are those of start-time fair queueing. Each session has a place, which moves back by the
expected work of each task that is let on, times its pace (`paces`); the first place goes next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from attrs import Factory, define

from rain.base.ids import TaskId
from rain.base.resources import CPUS
from rain.base.states import TaskRow
from rain.graph import Governor, Graph, Session, Task
from rain.scheduler.api import News, Plan
from rain.scheduler.nested import is_nested
from rain.scheduler.toolbox.paces import Paces
from rain.scheduler.toolbox.waiting_list import needs_plan

LEAD = 2
"""Tasks are let on for this many times the cpus of a governor, so that none waits for a turn."""

FAST = 4
"""Or, if that is more, this factor times the tasks it has finished between two messages."""

SHORTEST = 0.001
"""Seconds that every task counts for at least."""

PATIENCE = 10.0
"""Seconds for which one user alone goes on by turns: others may come back, and a beginning costs a
look at all tasks."""

_WITHDRAWN = (TaskRow.PLANNED, TaskRow.QUEUED)
_WAITS = (TaskRow.READY, TaskRow.QUEUED, TaskRow.ASSIGNED)
_TAKES = (*_WAITS, TaskRow.RUNNING)
"""Others wait for inputs or tasks, or were asked back, and take no cpus."""


@define(eq=False)
class Line:
    """The tasks of a session of which the scheduler has not heard."""

    place: float
    kept: dict[Task, bool] = Factory(dict)  # whether they are listed as ready
    ready: list[tuple[int, int, TaskId]] = Factory(list)  # those of them without missing inputs


@define(eq=False)
class UserShares:
    """The lines of all sessions."""

    is_on: bool = False
    _paces: Paces = Factory(Paces)
    lines: dict[Session, Line] = Factory(dict)
    _let_on: dict[Task, int] = Factory(dict)  # after how many cpus' worth of others, in that order
    _count: int = 0  # of these cpus
    _last: float = 0.0  # the place of the task that was let on last
    _several_at: float = 0.0  # when more than one user had work

    def are_due(self, graph: Graph, news: News) -> bool:
        """Whether several users have work, or tasks are kept back."""
        return self.is_on or bool(news.submitted and _several(graph))

    def begin(self, graph: Graph, plan: Plan) -> None:
        """Withdraws the tasks that nobody has begun, but for the next ones of each governor.

        The scheduler must forget all tasks before: it may keep some of them itself.
        """
        self.is_on = True
        for session in graph.sessions.values():
            for task in session.tasks.values() if session.unfinished else ():
                if task.is_done or is_nested(task):
                    continue
                if task.row in _WITHDRAWN:
                    plan.take_back(task)
                elif task.scheduled is not None:
                    self._let_on[task] = 0
                    continue
                self._keep(task)
        for governor in graph.governors.values():
            _ask_back(governor, plan)

    def take(self, graph: Graph, news: News, plan: Plan) -> None:
        """Takes tasks out of the news for the scheduler, and puts those in that are let on."""
        self._paces.look(graph, news, plan.now)
        self._forget(news)
        for task in (*news.submitted, *news.unplanned):
            self._keep(task)
        for task in news.ready:
            self._hear_of_ready(task, plan)
        self.hide(news)
        news.unplanned.update(dict.fromkeys(self._next(graph.governors.values(), plan)))
        if _several(graph):
            self._several_at = plan.now
        elif not self._waits() or plan.now > self._several_at + PATIENCE:
            self._end(news)
        if self.is_on:
            plan.run_soon()

    def hide(self, news: News) -> None:
        """Takes those that are kept out of the news."""
        news.submitted = [task for task in news.submitted if not self._keeps(task)]
        news.ready = [task for task in news.ready if not self._keeps(task)]
        for task in [task for task in news.unplanned if self._keeps(task)]:
            del news.unplanned[task]

    def contradictions(self, news: News) -> Iterator[str]:
        """What must not be; nothing, unless there is a mistake. The news were not taken yet."""
        fresh = {*news.submitted, *news.unplanned, *news.ready}
        for line in self.lines.values():
            listed = {task_id for _, _, task_id in line.ready}
            for task in line.kept:
                waits = needs_plan(task) and not task.missing and task not in fresh
                if waits and task.id not in listed:
                    yield f"{task!r} is kept from the scheduler, and nothing ends that"
                if task in self._let_on:
                    yield f"{task!r} is kept from the scheduler, which has heard of it"

    def _keeps(self, task: Task) -> bool:
        line = self.lines.get(task.session)
        return line is not None and task in line.kept

    def _keep(self, task: Task) -> None:
        if not needs_plan(task):
            return
        self._let_on.pop(task, None)
        line = self.lines.get(task.session)
        if line is None:
            line = self.lines[task.session] = Line(self._last)
        line.kept.setdefault(task, False)
        if not task.missing:
            self._list(line, task)

    def _list(self, line: Line, task: Task) -> None:
        if line.kept[task]:
            return
        line.kept[task] = True
        if not line.ready:  # what it has not used is lost
            line.place = max(line.place, self._last)
        heappush(line.ready, (-task.kind.priority, task.order, task.id))

    def _hear_of_ready(self, task: Task, plan: Plan) -> None:
        if is_nested(task) or not task.is_known:
            return
        if self._keeps(task):
            self._list(self.lines[task.session], task)
        elif task.row is TaskRow.QUEUED and task not in self._let_on:
            plan.take_back(task)
            self._keep(task)
        elif task.scheduled is not None and task not in self._let_on:
            self._let_on[task] = self._count

    def _forget(self, news: News) -> None:
        for session in news.cleared:
            self.lines.pop(session, None)
        for node in (*news.ended, *news.gone):
            line = self.lines.get(node.session)
            if line is not None and isinstance(node, Task) and not needs_plan(node):
                line.kept.pop(node, None)
        for task in [task for task in self._let_on if task.is_done or not task.is_known]:
            del self._let_on[task]

    def _next(self, governors: Iterable[Governor], plan: Plan) -> Iterator[Task]:
        """The tasks whose turn it is.

        They may overtake one that waits at a governor or with the scheduler, but not for long.
        While cpus are idle, there are always some: what was let on before may not fit there.
        """
        there = [governor for governor in governors if not governor.rests]
        most = sum(max(LEAD * max(one.cpus, 1), FAST * one.pace) for one in there)
        room = most - sum(max(task.cpus, 1) for task in self._let_on if task.row in _TAKES)
        largest = max((one.cpus for one in there), default=0)
        waits = (since for task, since in self._let_on.items() if _waits_for_cpus(task, largest))
        room = min(room, next(waits, self._count) + most - self._count)
        idle = sum(max(one.cpus - one.active_cpus, 0) for one in there)
        lines = {session: line for session, line in self.lines.items() if line.ready}
        while lines and (room > 0 or idle > 0):
            session = min(lines, key=lambda one: lines[one].place)
            line = lines[session]
            _, _, task_id = heappop(line.ready)
            if not line.ready:
                del lines[session]
            task = session.tasks.get(task_id)
            if task is None or task not in line.kept:
                continue
            del line.kept[task]
            if not needs_plan(task):
                continue
            self._let_on[task] = self._count
            cpus = max(task.cpus, 1)
            self._count += cpus
            room, idle = room - cpus, idle - cpus
            self._last = line.place
            work = cpus * max(plan.estimates.duration(task), SHORTEST)
            line.place += work * self._paces.of(session)
            yield task

    def _waits(self) -> bool:
        return any(line.ready for line in self.lines.values())

    def _end(self, news: News) -> None:
        """One user is left: the scheduler hears of all that is kept."""
        kept = [task for line in self.lines.values() for task in line.kept if needs_plan(task)]
        news.unplanned.update(dict.fromkeys(sorted(kept, key=lambda task: task.order)))
        self.is_on, self._last = False, 0.0
        self.lines, self._let_on, self._count = {}, {}, 0


def _ask_back(governor: Governor, plan: Plan) -> None:
    """Asks a governor for what it would begin last."""
    if governor.is_behind:
        return
    waiting = [
        task for task in governor.assigned if task.row is TaskRow.ASSIGNED and not is_nested(task)
    ]
    waiting.sort(key=lambda task: (-task.priority, task.order))
    for task in waiting[LEAD * max(governor.cpus, 1) :]:
        plan.take_back(task)


def _waits_for_cpus(task: Task, largest: int) -> bool:
    """Whether it waits for nothing but its turn on cpus, which others take."""
    kind = task.kind
    return (
        task.row in _WAITS
        and task.cpus <= largest
        and kind.constraints is None
        and all(name == CPUS for name, _ in kind.resources.items())
    )


def _several(graph: Graph) -> bool:
    """Whether more than one user has work."""
    at_work = (one.belongs_to for one in graph.sessions.values() if one.unfinished)
    first = next(at_work, None)
    return any(user != first for user in at_work)
