"""The express lane: tasks that are over before a better plan for them would be made.

A task of microseconds that reads and makes little may run anywhere, and only the cost of planning
it counts. So it is planned at first sight, the moment it comes.

What needs something scarce beside cpus goes this way, too, and is dealt out by that.

Of new functions nobody knows how long they take. As many of their tasks as keep every cpu busy go
through the lane; the others are kept back until the first of them have ended, which is soon if
they are tiny. Then they follow, or turn out to be worth a plan.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from attrs import Factory, define

from rain.base.ids import KindId
from rain.graph import Governor, Session, Task
from rain.graph.data_object import expected_bytes
from rain.graph.task import DONE
from rain.scheduler.api import Plan
from rain.scheduler.estimates import Estimates
from rain.scheduler.toolbox.loads import Loads
from rain.scheduler.toolbox.shares import Share, Shares
from rain.scheduler.toolbox.transfers import Note
from rain.scheduler.toolbox.waiting_list import needs_plan

TINY = 0.005
"""Seconds: tasks that take longer are worth a plan,"""

LIGHT = 1_000_000
"""and so are those that read or make more bytes."""

SURE = 0.1
"""Seconds: a function whose tasks took so long at first is not tiny. Below that they may have been
slow only because an executor had just started, until so many have ended:"""

ENOUGH = 32

FIRST = 128
"""So many tasks of unknown duration are planned for each cpu: a governor is told of as many at once
as this, so some are left for it when it has sent its first news."""

AT_ONCE = 1024
"""So many tasks are planned in one run: whoever else asks the server something waits no longer than
that, and so many keep a few governors busy until the next run."""

FOR_EACH = 64
AT_MOST = 8192
"""With many governors it is so many for each of them, but no more than that in all: a message to a
governor costs as much as ten tasks, so it shall tell of more."""


class Sight(NamedTuple):
    """What can be said today, at first sight, of the tasks of one kind."""

    passes: bool  # whether they take the express lane
    known: bool  # whether the user, or earlier tasks of this name, have said how long they take
    seconds: float


def look_at(task: Task, estimates: Estimates) -> Sight:
    """What can be said of tasks like this one."""
    kind = task.kind
    learned = task.session.learned.get(kind.id)
    if kind.duration_hint:
        known, seconds = True, kind.duration_hint
    elif learned is None or not learned.finished:
        known, seconds = False, estimates.duration(task)
    else:
        seconds = learned.seconds / learned.finished
        known = seconds < TINY or seconds >= SURE or learned.finished >= ENOUGH
    if kind.resources.others:
        passes = True  # by what is scarce: the times of cpus say nothing of it
    elif kind.constraints is not None or (known and seconds >= TINY):
        passes = False
    else:
        size = 0
        for output in task.outputs:
            size += estimates.size(output)
        passes = size <= LIGHT
    return Sight(passes, known, seconds)


class Sights:
    """The kinds in one run of a scheduler: several ask, and nothing changes meanwhile."""

    def __init__(self, estimates: Estimates) -> None:
        self._estimates = estimates
        self.found: dict[KindId, Sight] = {}

    def of(self, task: Task) -> Sight:
        """What can be said of tasks of its kind."""
        kind = task.kind.id
        found = self.found.get(kind)
        if found is None:
            found = self.found[kind] = look_at(task, self._estimates)
        return found


@define
class Line:
    """The tasks of one session in one run, and its place among all sessions."""

    tasks: deque[Task]
    share: Share


class Express:
    """The tasks in the lane that have no governor yet, by their sessions."""

    def __init__(self, shares: Shares) -> None:
        self.lines: dict[Session, deque[Task]] = {}  # none is empty
        self._shares = shares

    def add(self, tasks: Iterable[Task]) -> None:
        """Takes tasks in, inputs before consumers. `listed` is set: nobody else plans them."""
        session: Session | None = None
        line: deque[Task] = deque()
        for task in tasks:
            if task.session is not session:
                session = task.session
                line = self.lines.setdefault(session, deque())
            line.append(task)

    def enter(self, tasks: Iterable[Task], sights: Sights, now: float) -> list[Task]:
        """Takes new tasks in, inputs before consumers, with their notes; returns the others.

        One note is enough for all of a kind, as long as nothing but their like has come.
        """
        others: list[Task] = []
        line: deque[Task] = deque()
        session, kind, note = None, None, None
        for task in tasks:
            if task.kind is not kind:
                kind = task.kind
                passes, _, seconds = sights.of(task)
                note = Note(seconds, seconds, now, now, None, True) if passes else None
            if note is None:
                others.append(task)
                continue
            task.sched = note
            if task.session is not session:
                session = task.session
                line = self.lines.setdefault(session, deque())
            line.append(task)
        return others

    def forget(self, sessions: Iterable[Session]) -> None:
        """Sessions have ended."""
        for session in sessions:
            self.lines.pop(session, None)

    def plan(
        self, governors: list[Governor], cpus: int, sights: Sights, plan: Plan
    ) -> tuple[list[Task], list[Task]]:
        """Plans what can go at once: those that were, and those that do not belong here.

        No more than a run has, from every session its share; the others are for the next run.
        `cpus` are those of all governors.
        """
        run = _Run(plan, sights, Loads(governors), max(cpus, 1))
        at_once = min(max(AT_ONCE, FOR_EACH * len(governors)), AT_MOST)
        shares = self._shares
        shares.look(governors, plan.now)
        for session, tasks in list(self.lines.items()):
            share = shares.of(session)
            run.go_along(Line(tasks, share), max(at_once // len(self.lines), 1))
            shares.last = min(shares.last, share.ready)
            if not tasks:
                del self.lines[session]
        return run.planned, run.refused


@define
class _Run:
    """One run along the lines."""

    plan: Plan
    sights: Sights
    loads: Loads
    cpus: int  # of all governors, at least one
    planned: list[Task] = Factory(list)
    refused: list[Task] = Factory(list)

    def go_along(self, line: Line, count: int) -> None:
        """Plans so many tasks of a line, or as far as to the first that is kept back.

        Later tasks have lower priorities, by what was planned before them, so that who has come
        with very many at once does not make everybody else wait for all of them. Those that wait
        for inputs are counted apart and go first, so that few objects are alive at a time.
        """
        waiting = line.tasks
        while waiting and count:
            tasks = [waiting.popleft()]
            kind = tasks[0].kind
            while waiting and len(tasks) < count and waiting[0].kind is kind:
                tasks.append(waiting.popleft())
            count -= len(tasks)
            kept_back = self._plan_kind(line, tasks)
            if kept_back:
                waiting.extendleft(reversed(kept_back))
                return
        if waiting:
            self.plan.run_again()

    def _plan_kind(self, line: Line, tasks: list[Task]) -> list[Task]:
        """Plans tasks of one kind; returns those from the first that is kept back."""
        kind = tasks[0].kind
        passes, known, seconds = self.sights.found.get(kind.id) or self.sights.of(tasks[0])
        if not passes:
            self.refused += [task for task in tasks if needs_plan(task)]
            return []
        cpus, others, share = kind.resources.cpus, kind.resources.others, line.share
        step = 1000.0 * seconds * cpus / self.cpus
        known_tasks = tasks[0].session.tasks  # kinds are those of one session
        # Nothing but cpus counts for where they go, and there is one for everybody.
        together = (
            not others and kind.constraints is None and len(tasks) >= len(self.loads.governors)
        )
        alike: list[Task] = []
        for place, task in enumerate(tasks):
            if (
                task.scheduled is not None
                or task.row in DONE
                or known_tasks.get(task.id) is not task
            ):
                continue  # it needs no plan any more
            if together and not task.inputs:
                alike.append(task)
                continue
            if alike:
                kept_back = self._deal(line, alike, step, known=known)
                alike = []
                if kept_back:
                    return [*kept_back, *tasks[place:]]
            if not task.inputs:
                governor = self.loads.least(task)
            else:
                governor = self.loads.choose(task) if others or _is_light(task) else None
            if governor is None:
                self.refused.append(task)
            elif task.missing:
                self.plan.assign(task, governor, int(share.missing))
                self.planned.append(task)
                share.missing -= step
            elif known or not cpus or self._room(governor):
                self.plan.assign(task, governor, int(share.ready))
                self.planned.append(task)
                share.ready -= step
            else:
                return tasks[place:]
        return self._deal(line, alike, step, known=known) if alike else []

    def _deal(self, line: Line, tasks: list[Task], step: float, *, known: bool) -> list[Task]:
        """Plans tasks of one kind that read nothing, together for each governor.

        Returns those that are kept back.
        """
        cpus = tasks[0].cpus
        if known or not cpus:
            count = len(tasks)
        else:
            fitting = [governor for governor in self.loads.governors if governor.cpus >= cpus]
            rooms = sum([-(-self._room(governor) // cpus) for governor in fitting])
            count = min(rooms, len(tasks)) if fitting else len(tasks)
        if not count:
            return tasks
        whole = len(tasks) + len(line.tasks)
        dealt = self.loads.deal(tasks[0], count, whole, self.plan.estimates)
        if not dealt:
            self.refused += tasks
            return []
        shares: dict[Governor, tuple[list[Task], list[int]]] = {}
        start, ready = 0, line.share.ready
        for governor, some in dealt:
            end = start + some
            share = shares.setdefault(governor, ([], []))
            share[0].extend(tasks[start:end])
            share[1].extend(_priorities(ready, step, range(start, end)))
            start = end
        line.share.ready = ready - step * count
        for governor, (share_tasks, priorities) in shares.items():
            self.plan.assign_all(share_tasks, governor, priorities)
        self.planned += tasks[:count]
        return tasks[count:]

    def _room(self, governor: Governor) -> int:
        """For how many cpus' worth of tasks of unknown duration there is room."""
        return max(FIRST * governor.cpus - governor.active_cpus, 0)


def _priorities(ready: float, step: float, places: range) -> list[int]:
    """Each a step lower than the one before; in whole milliseconds many are the same."""
    if int(ready - step * places[0]) == (last := int(ready - step * places[-1])):
        return [last] * len(places)
    return [int(ready - step * place) for place in places]


def _is_light(task: Task) -> bool:
    """Whether its inputs are few bytes."""
    return expected_bytes(task.inputs) <= LIGHT
