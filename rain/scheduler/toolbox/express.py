"""The express lane: for tasks that are too short to be worth a better plan.

A task of microseconds with small inputs and outputs may run anywhere, and only the cost of planning
it counts. So it is planned at once when it arrives.

Tasks that need scarce resources besides cpus are also planned in this way, distributed by these
resources.

The duration of a new function is unknown. So as many of its tasks as keep every cpu busy go through
the lane; the others are kept back until the first of them have ended, which is soon if they are
tiny. Then the others follow through the lane, or prove to be worth a plan.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from attrs import Factory, define

from rain.base.ids import KindId
from rain.base.kinds import TaskKind
from rain.graph import Governor, Session, Task
from rain.graph.task import NOT_PLANNED
from rain.scheduler.api import Plan
from rain.scheduler.estimates import Estimates
from rain.scheduler.toolbox.accounts import is_root
from rain.scheduler.toolbox.loads import Loads
from rain.scheduler.toolbox.precedence import overtaken
from rain.scheduler.toolbox.shares import Share, Shares
from rain.scheduler.toolbox.transfers import Note
from rain.scheduler.toolbox.waiting_list import needs_plan

TINY = 0.005
"""Seconds; longer tasks are worth a plan,"""

LIGHT = 1_000_000
"""and so are tasks that read or make more bytes than this."""

SURE = 0.1
"""Seconds; a function whose first tasks took this long is not tiny. Below that they may have been
slow only because an executor had just started, until this many have ended:"""

ENOUGH = 32

FIRST = 128
"""Tasks of unknown duration that are planned for each cpu: more than a governor runs until its
first news arrive, so that it does not become idle."""

AT_ONCE = 1024
"""The most tasks planned in one run, so that other clients do not wait long; this many keep a few
governors busy until the next run."""

FOR_EACH = 64
AT_MOST = 8192
"""If there are many governors, the limit is this many for each, but no more than that in total: a
message to a governor costs as much as ten tasks, so it should contain more."""


class Sight(NamedTuple):
    """What is known about the tasks of one kind now."""

    passes: bool  # whether they take the express lane
    known: bool  # whether the duration is known, from the user or from earlier tasks of this name
    seconds: float


def look_at(task: Task, estimates: Estimates) -> Sight:
    """What is known about tasks like this one."""
    kind = task.kind
    learned = task.session.learned.get(kind.id)
    if kind.duration_hint:
        known, seconds = True, kind.duration_hint
    elif learned is None or not learned.finished:
        seconds = estimates.duration(task)
        known = learned is not None and learned.least >= SURE
    else:
        seconds = learned.seconds / learned.finished
        known = seconds < TINY or seconds >= SURE or learned.finished >= ENOUGH
    if kind.resources.others:
        passes = True  # it is placed by its scarce resources, for which cpu times do not matter
    elif kind.constraints is not None or kind.near or (known and seconds >= TINY):
        passes = False
    else:
        size = 0
        for output in task.outputs:
            size += estimates.size(output)
        passes = size <= LIGHT
    return Sight(passes, known, seconds)


class Sights:
    """A cache of sights by kind, valid for one run of a scheduler."""

    def __init__(self, estimates: Estimates) -> None:
        self._estimates = estimates
        self.found: dict[KindId, Sight] = {}

    def of(self, task: Task) -> Sight:
        """The sight of the task's kind."""
        kind = task.kind.id
        found = self.found.get(kind)
        if found is None:
            found = self.found[kind] = look_at(task, self._estimates)
        return found


@define
class Line:
    """Tasks of one session and priority in one run, and the session's place on the scale."""

    tasks: deque[Task]
    share: Share


Watch = Callable[[list[Task], float], None]
"""A function that is told of planned tasks of one kind, whose duration is not known."""


class Express:
    """The tasks in the lane that have no governor yet, by session."""

    def __init__(self, shares: Shares, watch: Watch) -> None:
        # By priority; without empty entries.
        self.lines: dict[Session, dict[int, deque[Task]]] = {}
        self._shares = shares
        self._watch = watch

    def add(self, tasks: Iterable[Task]) -> None:
        """Adds tasks, producers before consumers. Sets `listed`: only the lane plans them."""
        kind: TaskKind | None = None
        line: deque[Task] = deque()
        for task in tasks:
            if task.kind is not kind:
                kind = task.kind
                line = self._line(task)
            line.append(task)

    def _line(self, task: Task) -> deque[Task]:
        """Where tasks of this kind wait; one must be added at once."""
        lines = self.lines.setdefault(task.session, {})
        return lines.setdefault(task.kind.priority, deque())

    def enter(self, tasks: Iterable[Task], sights: Sights, now: float) -> list[Task]:
        """Adds new tasks that may use the lane, producers before consumers; returns the others.

        All tasks of a kind share one note if no tasks of other kinds have arrived between them.
        """
        others: list[Task] = []
        line: deque[Task] = deque()
        kind, note = None, None
        for task in tasks:
            if task.kind is not kind:
                kind = task.kind
                passes, _, seconds = sights.of(task)
                note = Note(seconds, seconds, now, now, None, True) if passes else None
                if note is not None:
                    line = self._line(task)
            if note is None:
                others.append(task)
                continue
            task.sched = note
            line.append(task)
        return others

    def forget(self, sessions: Iterable[Session]) -> None:
        """Sessions have ended."""
        for session in sessions:
            self.lines.pop(session, None)

    def plan(
        self, governors: list[Governor], cpus: int, sights: Sights, plan: Plan
    ) -> tuple[list[Task], list[Task]]:
        """Plans tasks at once; returns the planned ones, and those that do not belong here.

        It plans at most the limit of a run, a share from every session; the rest waits for the next
        run. `cpus` is the number of cpus of all governors.
        """
        run = _Run(plan, sights, Loads(governors), max(cpus, 1), self._watch)
        at_once = min(max(AT_ONCE, FOR_EACH * len(governors)), AT_MOST)
        shares = self._shares
        shares.begin_run(governors, plan.now)
        for session, lines in list(self.lines.items()):
            share = shares.of(session)
            count = max(at_once // len(self.lines), 1)
            for priority in sorted(lines, reverse=True):
                count = run.go_along(Line(lines[priority], share), count)
                if lines[priority]:
                    break  # those of lower priority wait for these
                del lines[priority]
            shares.last = min(shares.last, share.ready)
            if not lines:
                del self.lines[session]
        return run.planned, run.refused


@define
class _Run:
    """One run along the lines."""

    plan: Plan
    sights: Sights
    loads: Loads
    cpus: int  # of all governors, at least 1
    watch: Watch
    planned: list[Task] = Factory(list)
    refused: list[Task] = Factory(list)
    # Cpus of the waiting tasks before which those of a priority go.
    overtaken: dict[tuple[Session, Governor, int], int] = Factory(dict)

    def go_along(self, line: Line, count: int) -> int:
        """Plans `count` tasks of a line, or up to the first task that is kept back.

        Returns how many may still be planned in this run.

        Later tasks have lower priorities, by the work planned before them, so that a session with
        very many tasks does not make all others wait. Tasks that wait for inputs are counted
        separately and go first, to keep few objects alive; but not those that merge a shuffle.
        """
        waiting = line.tasks
        while waiting and count:
            tasks = [waiting.popleft()]
            kind = tasks[0].kind
            while waiting and len(tasks) < count and waiting[0].kind is kind:
                tasks.append(waiting.popleft())
            count -= len(tasks)
            kept_back = self._plan_kind(line, tasks)
            sight = self.sights.of(tasks[0])
            if sight.passes and not sight.known and len(kept_back) < len(tasks):
                self.watch(tasks[: len(tasks) - len(kept_back)], sight.seconds)
            if kept_back:
                waiting.extendleft(reversed(kept_back))
                return 0
        if waiting:
            self.plan.run_again()
        return count

    def _plan_kind(self, line: Line, tasks: list[Task]) -> list[Task]:
        """Plans tasks of one kind; returns the rest from the first one that is kept back."""
        kind = tasks[0].kind
        passes, known, seconds = self.sights.found.get(kind.id) or self.sights.of(tasks[0])
        if not passes:
            self.refused += [task for task in tasks if needs_plan(task)]
            return []
        cpus, others, share = kind.resources.cpus, kind.resources.others, line.share
        step = 1000.0 * seconds * cpus / self.cpus * share.pace
        known_tasks = tasks[0].session.tasks  # a kind belongs to one session
        # Only cpus matter for the placement, and every governor has at least one.
        together = (
            not others and kind.constraints is None and len(tasks) >= len(self.loads.governors)
        )
        alike: list[Task] = []
        for place, task in enumerate(tasks):
            if (
                task.scheduled is not None
                or task.row in NOT_PLANNED
                or known_tasks.get(task.id) is not task
            ):
                continue  # it no longer needs a plan
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
            elif task.missing and not is_root(task):
                self.plan.assign(task, governor, int(share.missing))
                self.planned.append(task)
                share.missing -= step
            elif known or not cpus or self._room(governor, task):
                self.plan.assign(task, governor, int(share.ready))
                self.planned.append(task)
                share.ready -= step
            else:
                return tasks[place:]
        return self._deal(line, alike, step, known=known) if alike else []

    def _deal(self, line: Line, tasks: list[Task], step: float, *, known: bool) -> list[Task]:
        """Plans tasks of one kind without inputs, together for each governor.

        Returns the tasks that are kept back.
        """
        cpus = tasks[0].cpus
        if known or not cpus:
            count = len(tasks)
        else:
            fitting = [governor for governor in self.loads.governors if governor.cpus >= cpus]
            rooms = sum([-(-self._room(governor, tasks[0]) // cpus) for governor in fitting])
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

    def _room(self, governor: Governor, task: Task) -> int:
        """The cpus for which more tasks of unknown duration may be planned."""
        active = governor.active_cpus
        if task.session.has_priorities:
            key = task.session, governor, task.kind.priority
            if key not in self.overtaken:
                self.overtaken[key] = sum(found.cpus for found in overtaken(task, governor))
            active -= self.overtaken[key]
        return max(FIRST * governor.cpus - active, 0)


def _priorities(ready: float, step: float, places: range) -> list[int]:
    """Priorities that fall by `step`; in whole milliseconds many are equal."""
    if int(ready - step * places[0]) == (last := int(ready - step * places[-1])):
        return [last] * len(places)
    return [int(ready - step * place) for place in places]


def _is_light(task: Task) -> bool:
    """Whether its inputs are small."""
    return sum([one.expected_size for one in task.inputs]) <= LIGHT
