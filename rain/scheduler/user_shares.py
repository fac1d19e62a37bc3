"""Gives users their shares of the cpus, with any scheduler, which need not know about users.

While several users have work, their tasks are held back, and the scheduler gets each task when it
is its turn: as many as keep all cpus busy, and a few more. So whatever order the scheduler chooses,
and however many tasks it plans ahead, users get cpus by their weights.

The turns are those of start-time fair queueing. Each session has a place, which moves back by the
expected work of each task that is let on, times its pace (`paces`); the first place goes next.

When the second user comes, and when only one user is left, all tasks are gone through, some in each
run (`Walk`). Tasks that governors would begin last are withdrawn first, so that governors have work
in the meantime.
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
"""Seconds for which this goes on with a single user: others may come back, and each beginning has
to examine all tasks.
"""

MOVES, LOOKS = 1000, 5000
"""Tasks that one run withdraws or gives to the scheduler at most, and at which it looks."""

_WITHDRAWN = (TaskRow.PLANNED, TaskRow.QUEUED)
_WAITS = (TaskRow.READY, TaskRow.QUEUED, TaskRow.ASSIGNED)
_TAKES = (*_WAITS, TaskRow.RUNNING)
"""The rows of tasks that take cpus. Other tasks wait for inputs or tasks, or were asked back."""


@define(eq=False)
class Line:
    """The tasks of a session that the scheduler has not got yet."""

    place: float
    kept: dict[Task, bool] = Factory(dict)  # whether they are listed as ready
    ready: list[tuple[int, int, TaskId]] = Factory(list)  # those of them without missing inputs


@define(eq=False)
class Walk:
    """The tasks of some sessions, of which each run takes some."""

    left: list[Task]  # the next one last
    moves: int = 0  # of this run, as its caller counts them

    def __bool__(self) -> bool:
        return bool(self.left)

    def some(self) -> Iterator[Task]:
        """The tasks of one run."""
        self.moves = 0
        end = max(len(self.left) - LOOKS, 0)
        while len(self.left) > end and self.moves < MOVES:
            yield self.left.pop()


@define(eq=False)
class UserShares:
    """The lines of all sessions."""

    is_on: bool = False
    _withdrawn: Walk | None = None  # while tasks are withdrawn, the newest first
    _asked: list[Governor] = Factory(list)  # are asked for tasks after that
    _given: Walk | None = None  # while one user is left, who gets all tasks on, the oldest first
    _paces: Paces = Factory(Paces)
    lines: dict[Session, Line] = Factory(dict)
    _let_on: dict[Task, int] = Factory(dict)  # after how many cpus' worth of others, in that order
    _count: int = 0  # of these cpus
    _last: float = 0.0  # the place of the task that was let on last
    _several_at: float = 0.0  # when more than one user had work

    def are_due(self, graph: Graph, news: News) -> bool:
        """Whether several users have work, or tasks are kept back."""
        return self.is_on or bool(news.submitted and _several(graph))

    def is_to_begin(self, graph: Graph) -> bool:
        """Whether turns are due, and the scheduler has more tasks than it may."""
        return not self.is_on or (self._given is not None and _several(graph))

    def begin(self, graph: Graph, news: News) -> None:
        """From now on all tasks but the next ones of each governor are withdrawn.

        The scheduler must forget all tasks: it may keep some of them itself.
        """
        self._forget(news)
        self.is_on, self._given = True, None
        self._let_on = {
            task: self._count
            for governor in graph.governors.values()
            for task in governor.assigned
            if not is_nested(task)
        }
        self._withdrawn = Walk(_tasks_of(graph))
        self._asked = list(graph.governors.values())

    def take(self, graph: Graph, news: News, plan: Plan) -> None:
        """Takes tasks out of the news for the scheduler, and puts those in that are let on."""
        self._paces.recount(graph, news, plan.now)
        self._forget(news)
        if self._given is not None:
            self._give_on(self._given, news, plan)
            return
        for task in (*news.submitted, *news.unplanned):
            self._keep(task)
        for task in news.ready:
            self._hear_of_ready(task, plan)
        self.hide(news)
        if self._withdrawn is not None:
            self._withdraw(graph, self._withdrawn, plan)
        news.unplanned.update(dict.fromkeys(self._next(graph.governors.values(), plan)))
        if _several(graph):
            self._several_at = plan.now
        elif self._withdrawn is None and (
            not self._waits() or plan.now > self._several_at + PATIENCE
        ):
            self._given = Walk(_tasks_of(graph)[::-1])
            self._give_on(self._given, news, plan)
        if self.is_on:
            plan.run_soon()

    def _withdraw(self, graph: Graph, walk: Walk, plan: Plan) -> None:
        """Withdraws some more tasks, and when all are, asks some governors for theirs."""
        for task in walk.some():
            if task.is_done or task in self._let_on or not task.is_known or is_nested(task):
                continue
            if task.row in _WITHDRAWN:
                plan.take_back(task)
                walk.moves += 1
            elif task.scheduled is not None:
                self._let_on[task] = self._count
                continue
            self._keep(task)
        while self._asked and not walk and walk.moves < MOVES:
            governor = self._asked.pop()
            if graph.governors.get(governor.id) is governor:
                walk.moves += _ask_back(governor, plan)
        if walk or self._asked:
            plan.run_again()
        else:
            self._withdrawn = None

    def _give_on(self, walk: Walk, news: News, plan: Plan) -> None:
        """Only one user is left: gives the scheduler some more of the tasks that were held back."""
        self.hide(news)
        for task in walk.some():
            line = self.lines.get(task.session)
            if line is not None and line.kept.pop(task, None) is not None and needs_plan(task):
                news.unplanned[task] = None
                walk.moves += 1
        if walk:
            plan.run_again()
            return
        self.is_on, self._given, self._last = False, None, 0.0
        self.lines, self._let_on, self._count = {}, {}, 0

    def hide(self, news: News) -> None:
        """Takes those that are kept out of the news."""
        news.submitted = [task for task in news.submitted if not self._keeps(task)]
        news.ready = [task for task in news.ready if not self._keeps(task)]
        for task in [task for task in news.unplanned if self._keeps(task)]:
            del news.unplanned[task]

    def contradictions(self, news: News) -> Iterator[str]:
        """Contradictions, for the checker; empty unless there is a bug. The news must not be taken
        yet.
        """
        fresh = {*news.submitted, *news.unplanned, *news.ready}
        given = {*self._given.left} if self._given is not None else ()
        for line in self.lines.values():
            listed = {task_id for _, _, task_id in line.ready}
            for task in line.kept:
                if task in given:
                    continue
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


def _tasks_of(graph: Graph) -> list[Task]:
    """Of all sessions with work; those of each session in order."""
    return [
        task for one in graph.sessions.values() if one.unfinished for task in one.tasks.values()
    ]


def _ask_back(governor: Governor, plan: Plan) -> int:
    """Asks a governor for the tasks that it would begin last; returns how many there are."""
    if governor.is_behind:
        return 0
    waiting = [
        task for task in governor.assigned if task.row is TaskRow.ASSIGNED and not is_nested(task)
    ]
    waiting.sort(key=lambda task: (-task.priority, task.order))
    late = waiting[LEAD * max(governor.cpus, 1) :]
    for task in late:
        plan.take_back(task)
    return len(late)


def _waits_for_cpus(task: Task, largest: int) -> bool:
    """Whether it only waits for cpus, which others use."""
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
