"""What a scheduler sees and what it may do.

A scheduler is a class with a `schedule` method. It reads the whole graph, and it hears in `News`
what has changed since it ran last, so that it never has to scan. It changes the graph only through
`Plan`, which holds it to the rules and remembers what must be told to governors. It may keep
anything it likes in the slot `sched` of any node.

Planning ahead pays: a task that is planned before its inputs are finished goes to its governor in
the very turn in which they are, without waiting for the scheduler's next run.

A scheduler that takes too long is interrupted: `SchedulerInterrupted` is raised in it, wherever it
is, but never in the middle of a step of its plan. What it has planned until then stays; it is
thrown away itself and made anew.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from sys import getrecursionlimit, setrecursionlimit
from typing import NoReturn, Protocol

from attrs import Factory, define

from rain.base.errors import PlanError
from rain.base.runs import RunCause
from rain.base.states import TaskRow
from rain.graph import DataObject, Governor, Graph, Session, Task, planning, rules
from rain.graph.run import Ending
from rain.scheduler.estimates import Estimates

_WAITING, _READY = TaskRow.WAITING, TaskRow.READY  # asked for every task, and an enum is slow

MOST = 2**63 - 1
"""The largest priority; the smallest is -MOST. Governors are told in 64 bits."""

_ROOM = 100
"""Calls inside each other that a step may need when a plugin has nearly used up all that Python
allows: a step that is given up halfway would leave a graph that contradicts itself."""

_SHOWN = 60  # characters of what was no priority


# Not an Exception: what catches those for reasons of its own shall not catch this.
class SchedulerInterrupted(BaseException):
    """The scheduler has taken too long: its plan ends here."""


@define
class News:
    """What has happened since the scheduler ran last.

    Nodes may have gone again meanwhile, and tasks may be done: failed, or skipped since an input
    will never be made.
    """

    submitted: list[Task] = Factory(list)  # in an order in which inputs come before consumers
    unplanned: dict[Task, None] = Factory(dict)  # lost their plan, or must run again
    ready: list[Task] = Factory(list)  # became ready, planned or not
    finished: list[Task] = Factory(list)  # and so did their outputs
    located: list[tuple[DataObject, Governor]] = Factory(list)  # copies that have arrived
    joined: list[Governor] = Factory(list)
    left: list[Governor] = Factory(list)
    cleared: list[Session] = Factory(list)  # closed or failed; their nodes are gone
    # These have gone, done and needed by nobody. Their slots are emptied after this run.
    gone: list[Task | DataObject] = Factory(list)

    @property
    def has_work(self) -> bool:
        """Whether there are tasks to plan."""
        return bool(self.submitted or self.unplanned)

    @property
    def has_updates(self) -> bool:
        """Whether anything else has changed."""
        return bool(
            self.ready
            or self.finished
            or self.located
            or self.joined
            or self.left
            or self.cleared
            or self.gone
        )


@define
class Plan:
    """The only hand that a scheduler has on the graph.

    Every method applies one step at once, or raises `PlanError` with the broken rule and changes
    nothing. Priorities are whole numbers of 64 bits. When the plan is over, steps raise
    `SchedulerInterrupted`: one that is being made when that happens is made to its end before.
    """

    graph: Graph
    estimates: Estimates = Factory(Estimates)  # durations, sizes, bandwidth
    now: float = 0.0  # seconds since 1970
    touched: dict[Governor, None] = Factory(dict)  # whose queue or copies have changed
    stopped: list[planning.Stopped] = Factory(list)
    copies: list[tuple[DataObject, Governor]] = Factory(list)
    drops: list[tuple[DataObject, Governor]] = Factory(list)
    soon: bool = False  # whether the next run shall not wait long for the next news
    again: bool = False  # whether it shall not wait for any
    steps: int = 0  # that were made
    last: int = -1  # the plan is over after so many steps
    over: bool = False  # the scheduler was interrupted; set by whoever does that

    def assign(self, task: Task, governor: Governor, priority: int = 0) -> None:
        """The task shall run on this governor. Larger priorities go first there."""
        if self.over:
            raise SchedulerInterrupted
        row = task.row
        if row is not _WAITING and row is not _READY:
            rule = "finished task" if task.is_done else "planned task"
            raise PlanError(rule, f"{task!r} cannot be planned: it is {task.row.value}")
        graph, kind = self.graph, task.kind
        self._check_known(task)
        if type(priority) is not int or not -MOST <= priority <= MOST:
            (priority,) = _whole([priority])
        if (
            graph.governors.get(governor.id) is not governor
            or kind.constraints is not None
            or kind.resources.others
            or kind.resources.cpus > governor.cpus
        ):  # seldom
            self._check_place(task, governor)
        limit = getrecursionlimit()
        setrecursionlimit(limit + _ROOM)
        try:
            planning.plan(task, governor, priority)
        finally:
            setrecursionlimit(limit)
        self.touched[governor] = None
        self.steps += 1
        if self.steps == self.last or self.over:
            self._end()

    def assign_all(
        self, tasks: Sequence[Task], governor: Governor, priorities: Sequence[int]
    ) -> None:
        """The same as `assign` for one after the other.

        Ready tasks of one kind without constraints cost much less together than one by one, and
        are one step.
        """
        if self.over:
            raise SchedulerInterrupted
        if len(priorities) != len(tasks):
            raise PlanError("priorities", f"{len(tasks)} tasks have {len(priorities)} priorities")
        priorities = _whole(priorities)
        if not tasks or not self._are_alike(tasks):
            for task, priority in zip(tasks, priorities, strict=True):
                self.assign(task, governor, priority)
            return
        self._check_known(tasks[0])  # and so its session, which is that of all of them
        self._check_place(tasks[0], governor)
        limit = getrecursionlimit()
        setrecursionlimit(limit + _ROOM)
        try:
            planning.plan_alike(tasks, governor, priorities)
        finally:
            setrecursionlimit(limit)
        self.touched[governor] = None
        self.steps += 1
        if self.steps == self.last or self.over:
            self._end()

    def _are_alike(self, tasks: Sequence[Task]) -> bool:
        """Whether all are different, ready, known, of the same kind, and without constraints."""
        kind, ready = tasks[0].kind, TaskRow.READY
        known = tasks[0].session.tasks  # kinds are those of one session
        if kind.constraints is not None or len(set(tasks)) < len(tasks):
            return False
        for task in tasks:
            if task.row is not ready or task.kind is not kind or known.get(task.id) is not task:
                return False
        return True

    def _check_known(self, task: Task) -> None:
        """Whether it is a task of this graph: of an ended session, or of a copy, it is not."""
        session = task.session
        if (
            session.tasks.get(task.id) is not task
            or self.graph.sessions.get(session.id) is not session
        ):
            raise PlanError("unknown task", f"{task!r} is not in the graph any more")

    def _check_object(self, data_object: DataObject) -> None:
        """Whether it is an object of this graph."""
        session = data_object.session
        if not data_object.is_known or self.graph.sessions.get(session.id) is not session:
            raise PlanError("unknown object", f"{data_object!r} is not in the graph any more")

    def _check_place(self, task: Task, governor: Governor) -> None:
        """Whether the task may be planned there, as far as its kind and the governors say."""
        graph = self.graph
        if graph.governors.get(governor.id) is not governor:
            raise PlanError("unknown governor", f"{governor!r} is not in the graph any more")
        if not rules.allows(task, governor, graph.governors.values()):
            broken = rules.broken_rule(task, governor, graph.governors.values())
            assert broken is not None  # that is why it is not allowed
            raise PlanError(*broken)

    def take_back(self, task: Task) -> None:
        """Withdraws the task from its governor, even when it runs there already.

        Tasks that were to follow it there stay planned, and wait for their inputs again.
        """
        if self.over:
            raise SchedulerInterrupted
        governor = task.scheduled
        if governor is None:
            raise PlanError(
                "unplanned task", f"{task!r} cannot be taken back: it is {task.row.value}"
            )
        self._check_known(task)
        limit = getrecursionlimit()
        setrecursionlimit(limit + _ROOM)
        try:
            if task.assigned is not None:
                self.stopped += planning.recall_followers(task, self.now)
                self.stopped.append(planning.stopped(task))
            planning.withdraw(task, Ending(self.now, RunCause.TAKEN_BACK))
        finally:
            setrecursionlimit(limit)
        self.touched[governor] = None
        self.steps += 1
        if self.steps == self.last or self.over:
            self._end()

    def copy(self, data_object: DataObject, governor: Governor) -> None:
        """The governor shall have a copy of a finished object, before any task there asks."""
        if self.over:
            raise SchedulerInterrupted
        if not data_object.is_finished:
            raise PlanError(
                "unfinished object", f"{data_object!r} cannot be copied: it is not finished"
            )
        self._check_object(data_object)
        if self.graph.governors.get(governor.id) is not governor:
            raise PlanError("unknown governor", f"{governor!r} is not in the graph any more")
        limit = getrecursionlimit()
        setrecursionlimit(limit + _ROOM)
        try:
            planning.order_copy(data_object, governor)
        finally:
            setrecursionlimit(limit)
        self.copies.append((data_object, governor))
        self.touched[governor] = None
        self.steps += 1
        if self.steps == self.last or self.over:
            self._end()

    def drop(self, data_object: DataObject, governor: Governor) -> None:
        """The governor need not have its copy any more."""
        if self.over:
            raise SchedulerInterrupted
        if governor not in data_object.scheduled:
            raise PlanError("no copy", f"{data_object!r} is not scheduled on {governor!r}")
        if not data_object.is_finished:
            raise PlanError(
                "unfinished object", f"{data_object!r} cannot be dropped: it is being made"
            )
        self._check_object(data_object)
        others = [other for other in data_object.located if other is not governor]
        if not others and not data_object.is_at_server:
            raise PlanError("last copy", f"{data_object!r} cannot be dropped: it is the last copy")
        if any(task.assigned is governor for task in data_object.consumers):
            raise PlanError(
                "copy in use", f"{data_object!r} cannot be dropped: a task on {governor!r} reads it"
            )
        producer = data_object.producer
        if producer is not None and producer.assigned is governor:
            raise PlanError(
                "copy in use", f"{data_object!r} cannot be dropped: {governor!r} makes it again"
            )
        was_told = governor in data_object.assigned
        limit = getrecursionlimit()
        setrecursionlimit(limit + _ROOM)
        try:
            data_object.leave(governor)
        finally:
            setrecursionlimit(limit)
        if was_told:
            self.drops.append((data_object, governor))
        self.touched[governor] = None
        self.steps += 1
        if self.steps == self.last or self.over:
            self._end()

    def run_soon(self) -> None:
        """The next news are waited for: tasks were kept back until more is known.

        News of whatever has happened then make the scheduler run as soon as new tasks would.
        """
        if self.over:
            raise SchedulerInterrupted
        self.soon = True
        self.steps += 1
        if self.steps == self.last or self.over:
            self._end()

    def run_again(self) -> None:
        """There is more to plan now, but the turn is long enough: others are waiting for its end.

        The next run comes after a pause, as after new tasks, whether there are news or not.
        """
        if self.over:
            raise SchedulerInterrupted
        self.again = True
        self.steps += 1
        if self.steps == self.last or self.over:
            self._end()

    def _end(self) -> NoReturn:
        """No step is made any more."""
        self.over = True
        raise SchedulerInterrupted


def _whole(priorities: Sequence[int]) -> list[int]:
    """The priorities as governors can be told of them."""
    try:
        return array("q", list(priorities)).tolist()
    except (TypeError, OverflowError):
        if len(priorities) > 1:  # which of them is wrong?
            return [_whole([priority])[0] for priority in priorities]
        text = repr(priorities[0])
        raise PlanError(
            "priorities",
            f"a priority is a whole number from {-MOST} to {MOST}, not"
            f" {text if len(text) <= _SHOWN else text[:_SHOWN] + '...'}",
        ) from None


STEPS = (
    Plan.assign,
    Plan.assign_all,
    Plan.take_back,
    Plan.copy,
    Plan.drop,
    Plan.run_soon,
    Plan.run_again,
)
"""Nobody is interrupted in the middle of these."""


class Scheduler(Protocol):
    """What a plugin provides. It is made when the server starts, and anew when it was interrupted.

    All that it remembers belongs into the object itself, or into the slots `sched`: they are empty
    again when a new one starts.
    """

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        """Plans what there is to plan. Called often; should cost as little as has changed."""
        ...
