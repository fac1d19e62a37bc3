"""The interface of schedulers.

A scheduler is a class with a `schedule` method. It may read the whole graph, and `News` has the
changes since its last run, so that it never has to scan the graph. It changes the graph only
through `Plan`, which enforces the rules and records the orders for governors. It may store anything
in the slot `sched` of any node.

Planning ahead pays: a task that is planned before its inputs are finished goes to its governor in
the same turn in which they finish, without waiting for the scheduler's next run.

A scheduler that takes too long is interrupted: `SchedulerInterrupted` is raised in it at any point,
but never in the middle of a step of its plan. The steps made so far remain; the scheduler object is
discarded and created again.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from math import inf
from sys import getrecursionlimit, setrecursionlimit
from typing import NoReturn, Protocol, TypeVarTuple

from attrs import Factory, define, field

from rain.base.copies import CopyMove
from rain.base.errors import PlanError
from rain.base.runs import RunCause
from rain.base.states import BEGUN, ObjectState, TaskRow
from rain.graph import DataObject, Governor, Graph, Session, Task, moving, planning, rules
from rain.graph.copy import Copy, move_copy
from rain.graph.run import Ending
from rain.scheduler.estimates import Estimates
from rain.scheduler.nearby import Nearby

_WAITING, _READY = TaskRow.WAITING, TaskRow.READY  # used for every task, and enum look-ups are slow

MOST = 2**63 - 1
"""The largest priority; the smallest is -MOST. Priorities are sent in 64 bits."""

_ROOM = 100
"""The stack depth reserved for a step, if a plugin is close to Python's recursion limit: a step
that fails halfway would leave an inconsistent graph."""

Told = TypeVarTuple("Told")

_SHOWN = 60  # characters of an invalid priority in an error


# Not an Exception, so that a scheduler's own `except Exception` does not catch it.
class SchedulerInterrupted(BaseException):
    """Raised in a scheduler that has taken too long: its plan ends here."""


@define
class News:
    """The changes since the last run of the scheduler.

    Nodes may have been removed since, and tasks may be done: failed, or skipped because an input
    will never be made.
    """

    submitted: list[Task] = Factory(list)  # producers before consumers
    unplanned: dict[Task, None] = Factory(dict)  # tasks that have lost their plan or must run again
    ready: list[Task] = Factory(list)  # tasks that became ready, planned or not
    finished: list[Task] = Factory(list)  # tasks, and with them their outputs
    # Tasks whose last run has failed, to be planned again or not; and those cancelled or skipped.
    ended: list[Task] = Factory(list)
    located: list[tuple[DataObject, Governor]] = Factory(list)  # copies that have arrived
    joined: list[Governor] = Factory(list)
    left: list[Governor] = Factory(list)
    cleared: list[Session] = Factory(list)  # closed or failed sessions; their nodes are removed
    # Removed nodes, which were done and not needed. Their slots are cleared after this run.
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
            or self.ended
            or self.located
            or self.joined
            or self.left
            or self.cleared
            or self.gone
        )


@define
class Plan:
    """The only way for a scheduler to change the graph.

    Every method applies one step at once, or raises `PlanError` with the broken rule and changes
    nothing. Priorities are 64-bit integers. When the plan is over, steps raise
    `SchedulerInterrupted`; a step in progress at that time is completed first.
    """

    graph: Graph
    estimates: Estimates = Factory(Estimates)  # durations, sizes, bandwidth
    now: float = 0.0  # seconds since 1970
    touched: dict[Governor, None] = Factory(dict)  # governors whose queue or copies have changed
    stopped: list[planning.Stopped] = Factory(list)
    asked: list[planning.Stopped] = Factory(list)  # runs that governors are asked to return
    copies: list[tuple[DataObject, Governor]] = Factory(list)
    drops: list[tuple[DataObject, Governor]] = Factory(list)
    soon: bool = False  # whether the next run should follow soon after the next news
    again: bool = False  # whether the next run should not wait for news
    steps: int = 0  # steps made so far
    last: int = -1  # the number of steps after which the plan is over
    over: bool = False  # the scheduler was interrupted; set by the interrupter
    nearby: Nearby = field(init=False)  # to files outside of the store

    def __attrs_post_init__(self) -> None:
        self.nearby = Nearby(self.graph.governors.values())

    def assign(self, task: Task, governor: Governor, priority: int = 0) -> None:
        """Plans the task on this governor. Tasks with larger priorities run first there.

        A task that was taken back from a governor that had been told of it goes there when it is
        returned.
        """
        if self.over:
            raise SchedulerInterrupted
        if type(task) is not Task or type(governor) is not Governor:
            _expect_nodes([task], governor)
        row = task.row
        aims = row is TaskRow.ASKED and moving.target_of(task) is None
        if row is not _WAITING and row is not _READY and not aims:
            rule = "finished task" if task.is_done else "planned task"
            if row is TaskRow.PAUSED:
                rule = "paused task"
            if row is TaskRow.LIMITED:
                rule = "limited task"
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
            or governor.left < inf
        ):  # rare
            self._check_place(task, governor)
        self._apply(governor, self._aim if aims else self._plan, task, governor, priority)

    def assign_all(
        self, tasks: Sequence[Task], governor: Governor, priorities: Sequence[int]
    ) -> None:
        """Equivalent to `assign` for each task in order.

        Ready tasks of one kind without constraints cost much less together than one by one, and
        count as one step.
        """
        if self.over:
            raise SchedulerInterrupted
        if len(priorities) != len(tasks):
            raise PlanError("priorities", f"{len(tasks)} tasks have {len(priorities)} priorities")
        _expect_nodes(tasks[:1], governor)
        priorities = _whole(priorities)
        if not tasks or not self._are_alike(tasks):
            for task, priority in zip(tasks, priorities, strict=True):
                self.assign(task, governor, priority)
            return
        self._check_known(tasks[0])  # this checks the session of all of them
        self._check_place(tasks[0], governor)
        self._apply(governor, self._plan_all, tasks, governor, priorities)

    def _are_alike(self, tasks: Sequence[Task]) -> bool:
        """Whether all are different, ready, known, of the same kind, and without constraints."""
        kind, ready = tasks[0].kind, TaskRow.READY
        known = tasks[0].session.tasks  # a kind belongs to one session
        if kind.constraints is not None or len(set(tasks)) < len(tasks):
            return False
        for task in tasks:
            if task.row is not ready or task.kind is not kind or known.get(task.id) is not task:
                return False
        return True

    def _check_known(self, task: Task) -> None:
        """Checks that it is a task of this graph, not of an ended session or of a copied graph."""
        session = task.session
        if (
            session.tasks.get(task.id) is not task
            or self.graph.sessions.get(session.id) is not session
        ):
            raise PlanError("unknown task", f"{task!r} is not in the graph any more")

    def _check_object(self, data_object: DataObject) -> None:
        """Checks that it is an object of this graph."""
        session = data_object.session
        if not data_object.is_known or self.graph.sessions.get(session.id) is not session:
            raise PlanError("unknown object", f"{data_object!r} is not in the graph any more")

    def _check_place(self, task: Task, governor: Governor) -> None:
        """Checks that kind and governors allow the task there."""
        graph = self.graph
        if graph.governors.get(governor.id) is not governor:
            raise PlanError("unknown governor", f"{governor!r} is not in the graph any more")
        if not rules.allows(task, governor, graph.governors.values()):
            broken = rules.broken_rule(task, governor, graph.governors.values())
            assert broken is not None  # the reason why it is not allowed
            raise PlanError(*broken)

    def take_back(self, task: Task) -> None:
        """Withdraws the task from its governor, unless that one has begun it.

        If the task was sent to its governor, the governor is asked first, and the task stays
        planned there until the answer. `assign` sets the governor for afterwards; without it, the
        task comes back as unplanned in the news. If it has started, it stays. Tasks that were sent
        to follow it there stay planned when it goes, and wait for their inputs again.
        """
        if self.over:
            raise SchedulerInterrupted
        governor = task.scheduled
        if governor is None:
            raise PlanError(
                "unplanned task", f"{task!r} cannot be taken back: it is {task.row.value}"
            )
        self._check_known(task)
        if task.row is TaskRow.CANCELLING:
            raise PlanError("cancelled task", f"{task!r} cannot be taken back: it will end there")
        if task.row in BEGUN:
            raise PlanError("started task", f"{task!r} cannot be taken back: it has started")
        if task.row is TaskRow.AHEAD:
            raise PlanError(
                "task sent ahead",
                f"{task!r} cannot be taken back: it was sent to {governor!r} to follow others",
            )
        if task.row is TaskRow.ASKED and moving.target_of(task) is None:
            raise PlanError("unplanned task", f"{task!r} cannot be taken back: it was asked back")
        if task.assigned is not None and governor.is_behind:
            raise PlanError(
                "governor away",
                f"{task!r} cannot be taken back: {governor!r} was away, and may have run it",
            )
        self._apply(governor, self._take_back, task)

    def copy(self, data_object: DataObject, governor: Governor) -> None:
        """Orders a copy of a finished object on the governor, before any task there needs it."""
        if self.over:
            raise SchedulerInterrupted
        if not data_object.is_finished:
            raise PlanError(
                "unfinished object", f"{data_object!r} cannot be copied: it is not finished"
            )
        self._check_object(data_object)
        if self.graph.governors.get(governor.id) is not governor:
            raise PlanError("unknown governor", f"{governor!r} is not in the graph any more")
        self._apply(governor, self._order_copy, data_object, governor)

    def drop(self, data_object: DataObject, governor: Governor) -> None:
        """Orders the governor to delete its copy."""
        if self.over:
            raise SchedulerInterrupted
        copy = governor.objects.get(data_object)
        if copy is None:
            if data_object.state is ObjectState.UNFINISHED:
                raise PlanError(
                    "unfinished object", f"{data_object!r} cannot be dropped: it is not made yet"
                )
            raise PlanError("no copy", f"{data_object!r} has no copy on {governor!r}")
        self._check_object(data_object)
        others = [other for other in data_object.located if other is not governor]
        if not others and not data_object.is_at_server:
            raise PlanError("last copy", f"{data_object!r} cannot be dropped: it is the last copy")
        if any(task.assigned is governor for task in data_object.consumers):
            raise PlanError(
                "copy in use", f"{data_object!r} cannot be dropped: a task on {governor!r} reads it"
            )
        producer = data_object.producer
        if producer is not None and producer.assigned is governor and not producer.is_done:
            raise PlanError(
                "copy in use", f"{data_object!r} cannot be dropped: {governor!r} makes it again"
            )
        self._apply(governor, self._drop, copy)

    def run_soon(self) -> None:
        """Requests a run soon after the next news, as tasks were kept back until more is known.

        Any news then trigger a run as soon as new tasks would.
        """
        if self.over:
            raise SchedulerInterrupted
        self.soon = True
        self.steps += 1
        if self.steps == self.last or self.over:
            self._end()

    def run_again(self) -> None:
        """Requests another run to plan more, so that this turn does not become too long.

        The next run follows after a pause, as after new tasks, even without news.
        """
        if self.over:
            raise SchedulerInterrupted
        self.again = True
        self.steps += 1
        if self.steps == self.last or self.over:
            self._end()

    def _apply(self, governor: Governor, change: Callable[[*Told], None], *told: *Told) -> None:
        """Applies a step that was checked. It is completed even at Python's recursion limit."""
        limit = getrecursionlimit()
        setrecursionlimit(limit + _ROOM)
        try:
            change(*told)
            self.touched[governor] = None
            self.steps += 1
        finally:
            setrecursionlimit(limit)
        if self.steps == self.last or self.over:
            self._end()

    # The changes that steps make; a plan that is noted down notes each of them here.
    _plan = staticmethod(planning.plan)

    @staticmethod
    def _plan_all(tasks: Sequence[Task], governor: Governor, priorities: Sequence[int]) -> None:
        for task, priority in zip(tasks, priorities, strict=True):
            planning.plan(task, governor, priority)

    def _take_back(self, task: Task) -> None:
        if task.row is TaskRow.ASKED:
            moving.aim_nowhere(task)
        elif task.assigned is not None:
            self.asked.append(planning.stopped(task))
            moving.ask_back(task)
        else:
            planning.withdraw(task, Ending(self.now, RunCause.TAKEN_BACK))

    _aim = staticmethod(moving.aim)

    def _order_copy(self, data_object: DataObject, governor: Governor) -> None:
        planning.order_copy(data_object, governor)
        self.copies.append((data_object, governor))

    def _drop(self, copy: Copy) -> None:
        move_copy(copy.object, copy.governor, CopyMove.DROP)
        if copy.is_known:  # its row is still the last one
            self.drops.append((copy.object, copy.governor))

    def _end(self) -> NoReturn:
        """Refuses a step after the end of the plan."""
        self.over = True
        raise SchedulerInterrupted


def _whole(priorities: Sequence[int]) -> list[int]:
    """Checks that the priorities can be sent to governors."""
    try:
        return array("q", list(priorities)).tolist()
    except (TypeError, OverflowError):
        if len(priorities) > 1:  # find the wrong one
            return [_whole([priority])[0] for priority in priorities]
        text = repr(priorities[0])
        raise PlanError(
            "priorities",
            f"a priority is a whole number from {-MOST} to {MOST}, not"
            f" {text if len(text) <= _SHOWN else text[:_SHOWN] + '...'}",
        ) from None


def _expect_nodes(tasks: Iterable[object], governor: object) -> None:
    """A number is not enough to say which node it is."""
    for task in tasks:
        if not isinstance(task, Task):
            raise PlanError("no task", f"{task!r:.{_SHOWN}} is no task: take those of the news")
    if not isinstance(governor, Governor):
        raise PlanError(
            "no governor",
            f"{governor!r:.{_SHOWN}} is no governor: take one of graph.governors.values()",
        )


STEPS = (
    Plan.assign,
    Plan.assign_all,
    Plan.take_back,
    Plan.copy,
    Plan.drop,
    Plan.run_soon,
    Plan.run_again,
)
"""The functions in which a scheduler is not interrupted."""


class Scheduler(Protocol):
    """The interface of a plugin. It is created at the server's start and after each interruption.

    It must keep all its state in the object itself or in the slots `sched`, which are cleared
    before a new scheduler starts.

    A class with `shares_users = True` gets the tasks of all users at once, and has to give each
    user a fair share. All others get the tasks of several users one by one, when it is their turn
    (`user_shares`).
    """

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        """Plans tasks. Called often; its cost should be proportional to the changes."""
        ...
