"""The task node: one piece of work, its inputs, its outputs, and its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from rain.base.errors import InvariantError
from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import TaskId, spell
from rain.base.kinds import TaskKind
from rain.base.runs import RunState
from rain.base.states import TASK_MOVES, TASK_STATES, TaskMove, TaskRow, TaskState
from rain.graph.handles import NOBODY, Handles

if TYPE_CHECKING:
    from rain.graph.data_object import DataObject
    from rain.graph.governor import Governor
    from rain.graph.run import Run
    from rain.graph.session import Session
    from rain.graph.wait import Wait


@define(eq=False, repr=False, weakref_slot=False)
class Task:
    """A node of the graph. Tasks compare by identity."""

    id: TaskId
    order: int  # counts up over all tasks, inputs before consumers; breaks every tie
    session: Session
    kind: TaskKind
    config: bytes  # for the executor; the server never looks inside
    inputs: tuple[DataObject, ...]  # in order, the same one may come twice
    outputs: tuple[DataObject, ...] = ()
    handles: Handles = NOBODY  # of clients

    row: TaskRow = TaskRow.WAITING
    missing: int = 0  # inputs that are not finished, each counted once
    scheduled: Governor | None = None  # where the scheduler wants it
    assigned: Governor | None = None  # that was told to run it; the same as scheduled
    priority: int = 0  # larger goes first within one governor

    run: Run | None = None  # the last one, which is open as long as the task is assigned
    former: tuple[Run, ...] = ()  # the remembered ones before it
    user: str = ""  # JSON, set by the task itself
    may_run_again: bool = False  # it has finished, and its outputs may be lost
    failure: SessionFailure | None = None  # why it has failed for good, or was skipped
    waits: list[Wait] | None = None
    fails_alone: bool = False  # its failure never ends its session
    sched: object = None  # the scheduler's own

    def __repr__(self) -> str:
        return f"<Task {spell(self.id)} {self.row.value}>"

    @property
    def state(self) -> TaskState:
        """The state that users see."""
        return TASK_STATES[self.row]

    @property
    def runs(self) -> tuple[Run, ...]:
        """All of its runs that are remembered, in their order."""
        return () if self.run is None else (*self.former, self.run)

    def last_run(self) -> Run:
        """The last run, of a task that must have one."""
        if self.run is None:
            raise InvariantError(f"{self!r} has no run")
        return self.run

    @property
    def started(self) -> float:
        """When its last run was reported as started, 0 for not (yet)."""
        return 0.0 if self.run is None else self.run.started

    @property
    def duration(self) -> float:
        """How many seconds its last run took."""
        return 0.0 if self.run is None else self.run.duration

    @property
    def cpus(self) -> int:
        """How many cpus it needs."""
        return self.kind.resources.cpus

    @property
    def is_known(self) -> bool:
        """Whether it is still in the graph."""
        return self.session.tasks.get(self.id) is self

    @property
    def is_done(self) -> bool:
        """Whether its outcome is known: it will not run any more, unless its outputs are lost.

        A cancelled task is done even while its governor is still ending it.
        """
        return self.row in DONE

    @property
    def has_failed(self) -> bool:
        """Whether it will never make its outputs."""
        return self.row in HOPELESS

    def has_failed_on(self, governor: Governor) -> bool:
        """Whether a run of it has failed there, so that the next one should be elsewhere."""
        return self.run is not None and any(
            run.state is RunState.FAILED and run.place == governor.place for run in self.runs
        )

    @property
    def goes_on(self) -> bool:
        """Whether its session goes on when it fails."""
        return self.fails_alone or self.session.on_failure is OnFailure.CONTINUE

    def unique_inputs(self) -> tuple[DataObject, ...]:
        """Every input once, in order."""
        inputs = self.inputs
        return inputs if len(inputs) < 2 else tuple(dict.fromkeys(inputs))

    def move(self, what: TaskMove) -> None:
        """Makes a move of the state table; a forbidden move raises and changes nothing."""
        end = TASK_MOVES[what].get(self.row)
        if end is None:
            raise InvariantError(f"{self!r} cannot move by {what.value!r}")
        self.row = end

    def restore(self, row: TaskRow, missing: int) -> None:
        """Only for `rain.graph.repair`: code other than ours has changed it, and no move leads from
        there.
        """
        self.row, self.missing = row, missing


HOPELESS = frozenset({TaskRow.FAILED, TaskRow.SKIPPED, TaskRow.CANCELLING, TaskRow.CANCELLED})
DONE = HOPELESS | {TaskRow.FINISHED}
NOT_PLANNED = DONE | {TaskRow.PAUSED, TaskRow.LIMITED}
"""Rows of tasks that no scheduler plans, at least for now."""
