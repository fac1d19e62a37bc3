"""The express lane: tasks that are over before a better plan for them would be made.

A task of microseconds that reads and makes little may run anywhere, and only the cost of planning
it counts. So it is planned at first sight, the moment it comes.

What needs something scarce beside cpus goes this way, too, and is dealt out by that.

Of new functions nobody knows how long they take. As many of their tasks as keep every cpu busy go
through the lane; the others are kept back until the first of them have ended, which is soon if
they are tiny. Then they follow, or turn out to be worth a plan.
"""

from __future__ import annotations

from collections.abc import Iterable

from rain.graph import Governor, Session, Task
from rain.scheduler.api import Plan
from rain.scheduler.estimates import Estimates
from rain.scheduler.toolbox.loads import Loads
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


LEAD = 1000.0
"""Milliseconds: tasks that use data up go so much before those that make new data."""


def may_pass(task: Task, estimates: Estimates) -> bool:
    """Whether tasks of this kind take the express lane, as far as can be said today."""
    kind = task.kind
    if kind.resources.others:
        return True  # by what is scarce: the times of cpus say nothing of it
    if kind.constraints is not None:
        return False
    if estimates.duration(task) >= TINY and is_known(task):
        return False
    return sum([estimates.size(output) for output in task.outputs]) <= LIGHT


def is_known(task: Task) -> bool:
    """Whether the user, or earlier tasks of this name, have said how long it takes."""
    if task.kind.duration_hint:
        return True
    learned = task.session.learned.get(task.kind.id)
    mean = None if learned is None else learned.mean_seconds
    if learned is None or mean is None:
        return False
    return mean < TINY or mean >= SURE or learned.finished >= ENOUGH


class Express:
    """The tasks in the lane that have no governor yet, by their sessions."""

    def __init__(self) -> None:
        self._waiting: dict[Session, list[Task]] = {}

    @property
    def keeps(self) -> bool:
        """Whether tasks wait here."""
        return bool(self._waiting)

    def add(self, tasks: Iterable[Task]) -> None:
        """Takes tasks in, inputs before consumers. `listed` is set: nobody else plans them."""
        session: Session | None = None
        line: list[Task] = []
        for task in tasks:
            if task.session is not session:
                session = task.session
                line = self._waiting.setdefault(session, [])
            line.append(task)

    def forget(self, sessions: Iterable[Session]) -> None:
        """Sessions have ended."""
        for session in sessions:
            self._waiting.pop(session, None)

    def plan(self, governors: list[Governor], plan: Plan) -> tuple[list[Task], list[Task]]:
        """Plans what can go at once: those that were, and those that do not belong here."""
        planned: list[Task] = []
        refused: list[Task] = []
        loads = Loads(governors)
        waiting, self._waiting = self._waiting, {}
        for session, line in waiting.items():
            done = _plan_line(line, loads, plan, planned, refused)
            if done < len(line):
                self._waiting[session] = line[done:]
        return planned, refused


def _plan_line(
    line: list[Task], loads: Loads, plan: Plan, planned: list[Task], refused: list[Task]
) -> int:
    """Goes along the tasks of a session, as far as to the first that is kept back.

    Later tasks have lower priorities, by what was planned before them, so that who has come with
    very many at once does not make everybody else wait for all of them. Those that wait for inputs
    are counted apart and go first, so that few objects are alive at a time.
    """
    graph, estimates = plan.graph, plan.estimates
    cpus = max(sum([governor.cpus for governor in loads.governors]), 1)
    ready, missing = -1000.0 * plan.now, LEAD - 1000.0 * plan.now
    kind, passes, known, step = None, False, False, 0.0
    for done, task in enumerate(line):
        if not needs_plan(graph, task):
            continue
        if task.kind is not kind:
            kind = task.kind
            passes, known = may_pass(task, estimates), is_known(task)
            step = 1000.0 * estimates.duration(task) * task.cpus / cpus
        governor = loads.choose(task) if passes and _is_light(task) else None
        if governor is None:
            refused.append(task)
            continue
        if task.missing:
            plan.assign(task, governor, int(missing))
            missing -= step
        elif known or governor.active_cpus < FIRST * governor.cpus or not task.cpus:
            plan.assign(task, governor, int(ready))
            ready -= step
        else:
            return done
        planned.append(task)
    return len(line)


def _is_light(task: Task) -> bool:
    """Whether its inputs are few bytes, or do not matter."""
    if task.kind.resources.others or not task.inputs:
        return True
    return sum([found.expected_size for found in task.inputs]) <= LIGHT


def give_note(tasks: Iterable[Task], plan: Plan) -> None:
    """Notes for tasks that come with nothing but their like: one is enough for all of a kind."""
    kind, note = None, None
    for task in tasks:
        if task.kind is not kind:
            kind = task.kind
            seconds = plan.estimates.duration(task)
            note = Note(seconds, seconds, plan.now, end=plan.now, listed=True)
        task.sched = note
