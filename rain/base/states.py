"""The state tables of tasks and data objects: their states, and the moves between them.

The tables are data. The graph moves only along them, the consistency checker has one rule for each
of their rows, and docs/states.md is drawn from them. The tables of runs and of copies are in
rain/base/runs.py and rain/base/copies.py.
"""

import enum
from typing import Generic, TypeVar

from attrs import frozen


class Word(enum.Enum):
    """An enum whose members hash like plain objects: they are looked up several times per task, and
    Enum's own hash of the name takes a Python call.
    """

    __hash__ = object.__hash__


class TaskState(Word):
    """The state of a task that users see; several rows of the table share one state."""

    NOT_ASSIGNED = 0
    READY = 1
    ASSIGNED = 2
    RUNNING = 3
    FINISHED = 4
    FAILED = 5
    CANCELLED = 6


class ObjectState(Word):
    """The state of a data object that users see."""

    UNFINISHED = 0
    FINISHED = 1
    REMOVED = 2
    FAILED = 3


class TaskRow(Word):
    """The rows of the task table."""

    WAITING = "waiting"
    PLANNED = "planned"
    READY = "ready"
    PAUSED = "paused"
    LIMITED = "limited"
    QUEUED = "queued"
    AHEAD = "ahead"
    ASSIGNED = "assigned"
    ASKED = "asked back"
    RUNNING = "running"
    BLOCKED = "blocked"
    FINISHED = "finished"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"


BEGUN = (TaskRow.RUNNING, TaskRow.BLOCKED)
"""The rows of tasks whose function has begun, and goes on or waits for other tasks."""


@frozen
class TaskFacts:
    """What holds in one row of the task table."""

    row: TaskRow
    state: TaskState
    scheduled: bool  # task.scheduled names a governor, which lists the task as scheduled
    ready: bool | None  # no input is missing; None where that does not matter any more
    assigned: bool  # task.assigned names the same governor, which lists the task as assigned
    queued: bool  # the task is in its governor's scheduled-ready queue
    meaning: str


TASK_TABLE: tuple[TaskFacts, ...] = (
    TaskFacts(
        TaskRow.WAITING,
        TaskState.NOT_ASSIGNED,
        False,
        False,
        False,
        False,
        "inputs are missing and nobody has planned it",
    ),
    TaskFacts(
        TaskRow.PLANNED,
        TaskState.NOT_ASSIGNED,
        True,
        False,
        False,
        False,
        "inputs are missing; it will go to its governor as soon as they are there",
    ),
    TaskFacts(
        TaskRow.READY,
        TaskState.READY,
        False,
        True,
        False,
        False,
        "it could run, and the scheduler has not chosen where",
    ),
    TaskFacts(
        TaskRow.PAUSED,
        TaskState.READY,
        False,
        True,
        False,
        False,
        "its last run has failed, and it waits until it is tried again, or whether its second run"
        " finishes",
    ),
    TaskFacts(
        TaskRow.LIMITED,
        TaskState.READY,
        False,
        True,
        False,
        False,
        "its user uses as much of the cluster as the file of users allows, and it waits for less",
    ),
    TaskFacts(
        TaskRow.QUEUED,
        TaskState.READY,
        True,
        True,
        False,
        True,
        "it waits in its governor's scheduled-ready queue for room",
    ),
    TaskFacts(
        TaskRow.AHEAD,
        TaskState.ASSIGNED,
        True,
        False,
        True,
        False,
        "its governor was told to run it after the tasks there that make its missing inputs",
    ),
    TaskFacts(
        TaskRow.ASSIGNED,
        TaskState.ASSIGNED,
        True,
        True,
        True,
        False,
        "its governor was told to run it",
    ),
    TaskFacts(
        TaskRow.ASKED,
        TaskState.ASSIGNED,
        True,
        True,
        True,
        False,
        "its governor was asked to return it, unless it has begun; until the answer it is nobody"
        " else's",
    ),
    TaskFacts(
        TaskRow.RUNNING,
        TaskState.RUNNING,
        True,
        True,
        True,
        False,
        "its governor has started it",
    ),
    TaskFacts(
        TaskRow.BLOCKED,
        TaskState.RUNNING,
        True,
        True,
        True,
        False,
        "it runs and waits for other tasks; meanwhile it takes no cpus",
    ),
    TaskFacts(
        TaskRow.FINISHED,
        TaskState.FINISHED,
        False,
        True,
        False,
        False,
        "it succeeded and its outputs are finished",
    ),
    TaskFacts(
        TaskRow.FAILED,
        TaskState.FAILED,
        False,
        True,
        False,
        False,
        "it has failed for good: its last try, or it was given up",
    ),
    TaskFacts(
        TaskRow.SKIPPED,
        TaskState.FAILED,
        False,
        False,
        False,
        False,
        "it will never run, mostly since an input will never be made; it fails with that cause",
    ),
    TaskFacts(
        TaskRow.CANCELLING,
        TaskState.CANCELLED,
        True,
        None,
        True,
        False,
        "its governor was told to end it, and has not said that it has; it still takes its cpus",
    ),
    TaskFacts(
        TaskRow.CANCELLED,
        TaskState.CANCELLED,
        False,
        None,
        False,
        False,
        "a client has cancelled it or what it needs; nobody works on it",
    ),
)


class TaskMove(Word):
    """What can happen to a task."""

    PLAN = "plan"  # the scheduler chooses a governor
    TAKE_BACK = "take back"  # its plan is withdrawn; its governor has returned it, or stops it
    ASK = "ask back"  # its plan is to be withdrawn, and its governor may have begun it
    STAY = "stay"  # its governor has begun it, or is told to end it
    INPUTS_FINISHED = "inputs finished"
    INPUT_LOST = "input lost"  # a finished input has no copy left and is made anew
    ASSIGN = "assign"  # the reactor sends it to its governor
    RECALL = "recall"  # a task that should have made its input there will not
    START = "start"
    BLOCK = "block"  # it waits for other tasks, and lends its cpus
    RESUME = "resume"  # it has what it waited for, and takes its cpus again
    FINISH = "finish"
    ADOPT = "adopt"  # its result was made before, by an equal task of an earlier run of its parent
    HAND_ON = "hand on"  # its function has ended, and another task makes its result
    HAND_BACK = "hand back"  # its governor could not start it
    RUN_FAILED = "run failed"  # whether there is another try is decided next
    PAUSE = "pause"  # there is another try, but not at once
    END_PAUSE = "end pause"
    LIMIT = "limit"  # its user uses as much as allowed
    END_LIMIT = "end limit"
    FAIL = "fail"  # no other try
    SKIP = "skip"
    CANCEL = "cancel"  # a client does not want it any more
    END = "end"  # nobody works any more on what was cancelled, however it has ended
    GOVERNOR_LOST = "governor lost"
    OUTPUT_LOST = "output lost"  # a needed output has no copy left: run again


Where = TypeVar("Where")
What = TypeVar("What")


@frozen
class Step(Generic[Where, What]):
    """One allowed move: of a task or a copy from row to row, or of a run from state to state."""

    start: Where
    move: What
    end: Where


TASK_STEPS: tuple[Step[TaskRow, TaskMove], ...] = (
    Step(TaskRow.WAITING, TaskMove.PLAN, TaskRow.PLANNED),
    Step(TaskRow.WAITING, TaskMove.INPUTS_FINISHED, TaskRow.READY),
    Step(TaskRow.PLANNED, TaskMove.TAKE_BACK, TaskRow.WAITING),
    Step(TaskRow.PLANNED, TaskMove.INPUTS_FINISHED, TaskRow.QUEUED),
    Step(TaskRow.PLANNED, TaskMove.GOVERNOR_LOST, TaskRow.WAITING),
    Step(TaskRow.PLANNED, TaskMove.ASSIGN, TaskRow.AHEAD),
    Step(TaskRow.READY, TaskMove.PLAN, TaskRow.QUEUED),
    Step(TaskRow.WAITING, TaskMove.SKIP, TaskRow.SKIPPED),
    Step(TaskRow.READY, TaskMove.INPUT_LOST, TaskRow.WAITING),
    Step(TaskRow.READY, TaskMove.FAIL, TaskRow.FAILED),
    Step(TaskRow.READY, TaskMove.ADOPT, TaskRow.FINISHED),
    Step(TaskRow.READY, TaskMove.PAUSE, TaskRow.PAUSED),
    Step(TaskRow.PAUSED, TaskMove.END_PAUSE, TaskRow.READY),
    Step(TaskRow.PAUSED, TaskMove.INPUT_LOST, TaskRow.WAITING),
    Step(TaskRow.PAUSED, TaskMove.FAIL, TaskRow.FAILED),
    Step(TaskRow.READY, TaskMove.LIMIT, TaskRow.LIMITED),
    Step(TaskRow.LIMITED, TaskMove.END_LIMIT, TaskRow.READY),
    Step(TaskRow.LIMITED, TaskMove.INPUT_LOST, TaskRow.WAITING),
    Step(TaskRow.LIMITED, TaskMove.FAIL, TaskRow.FAILED),
    Step(TaskRow.QUEUED, TaskMove.TAKE_BACK, TaskRow.READY),
    Step(TaskRow.QUEUED, TaskMove.INPUT_LOST, TaskRow.PLANNED),
    Step(TaskRow.QUEUED, TaskMove.ASSIGN, TaskRow.ASSIGNED),
    Step(TaskRow.QUEUED, TaskMove.GOVERNOR_LOST, TaskRow.READY),
    Step(TaskRow.AHEAD, TaskMove.INPUTS_FINISHED, TaskRow.ASSIGNED),
    Step(TaskRow.AHEAD, TaskMove.RECALL, TaskRow.PLANNED),
    Step(TaskRow.AHEAD, TaskMove.RUN_FAILED, TaskRow.WAITING),
    Step(TaskRow.AHEAD, TaskMove.HAND_BACK, TaskRow.WAITING),
    Step(TaskRow.AHEAD, TaskMove.TAKE_BACK, TaskRow.WAITING),
    Step(TaskRow.AHEAD, TaskMove.GOVERNOR_LOST, TaskRow.WAITING),
    Step(TaskRow.ASSIGNED, TaskMove.ASK, TaskRow.ASKED),
    Step(TaskRow.ASKED, TaskMove.STAY, TaskRow.ASSIGNED),
    Step(TaskRow.ASKED, TaskMove.TAKE_BACK, TaskRow.READY),
    Step(TaskRow.ASKED, TaskMove.GOVERNOR_LOST, TaskRow.READY),
    Step(TaskRow.ASSIGNED, TaskMove.START, TaskRow.RUNNING),
    Step(TaskRow.ASSIGNED, TaskMove.FINISH, TaskRow.FINISHED),
    Step(TaskRow.ASSIGNED, TaskMove.RUN_FAILED, TaskRow.READY),
    Step(TaskRow.ASSIGNED, TaskMove.HAND_ON, TaskRow.READY),
    Step(TaskRow.ASSIGNED, TaskMove.HAND_BACK, TaskRow.READY),
    Step(TaskRow.ASSIGNED, TaskMove.TAKE_BACK, TaskRow.READY),
    Step(TaskRow.ASSIGNED, TaskMove.GOVERNOR_LOST, TaskRow.READY),
    Step(TaskRow.RUNNING, TaskMove.FINISH, TaskRow.FINISHED),
    Step(TaskRow.RUNNING, TaskMove.RUN_FAILED, TaskRow.READY),
    Step(TaskRow.RUNNING, TaskMove.HAND_ON, TaskRow.READY),
    Step(TaskRow.RUNNING, TaskMove.HAND_BACK, TaskRow.READY),
    Step(TaskRow.RUNNING, TaskMove.TAKE_BACK, TaskRow.READY),
    Step(TaskRow.RUNNING, TaskMove.GOVERNOR_LOST, TaskRow.READY),
    Step(TaskRow.RUNNING, TaskMove.BLOCK, TaskRow.BLOCKED),
    Step(TaskRow.BLOCKED, TaskMove.RESUME, TaskRow.RUNNING),
    Step(TaskRow.BLOCKED, TaskMove.RUN_FAILED, TaskRow.READY),
    Step(TaskRow.BLOCKED, TaskMove.HAND_ON, TaskRow.READY),
    Step(TaskRow.BLOCKED, TaskMove.HAND_BACK, TaskRow.READY),
    Step(TaskRow.BLOCKED, TaskMove.TAKE_BACK, TaskRow.READY),
    Step(TaskRow.BLOCKED, TaskMove.GOVERNOR_LOST, TaskRow.READY),
    Step(TaskRow.FINISHED, TaskMove.OUTPUT_LOST, TaskRow.READY),
    Step(TaskRow.WAITING, TaskMove.CANCEL, TaskRow.CANCELLED),
    Step(TaskRow.READY, TaskMove.CANCEL, TaskRow.CANCELLED),
    Step(TaskRow.PAUSED, TaskMove.CANCEL, TaskRow.CANCELLED),
    Step(TaskRow.LIMITED, TaskMove.CANCEL, TaskRow.CANCELLED),
    Step(TaskRow.AHEAD, TaskMove.CANCEL, TaskRow.CANCELLING),
    Step(TaskRow.ASSIGNED, TaskMove.CANCEL, TaskRow.CANCELLING),
    Step(TaskRow.RUNNING, TaskMove.CANCEL, TaskRow.CANCELLING),
    Step(TaskRow.BLOCKED, TaskMove.CANCEL, TaskRow.CANCELLING),
    Step(TaskRow.CANCELLING, TaskMove.END, TaskRow.CANCELLED),
    Step(TaskRow.CANCELLING, TaskMove.GOVERNOR_LOST, TaskRow.CANCELLED),
)

# One dictionary per move, so that a step costs one look-up of a row.
TASK_MOVES: dict[TaskMove, dict[TaskRow, TaskRow]] = {
    move: {step.start: step.end for step in TASK_STEPS if step.move is move} for move in TaskMove
}
TASK_FACTS: dict[TaskRow, TaskFacts] = {facts.row: facts for facts in TASK_TABLE}
TASK_STATES: dict[TaskRow, TaskState] = {facts.row: facts.state for facts in TASK_TABLE}


class ObjectMove(Word):
    """What can happen to a data object as a whole."""

    FINISH = "finish"
    REMOVE = "remove"  # nobody needs it any more
    LOSE = "lose"  # its last copy went with a governor, and it is still needed
    FAIL = "fail"  # it will never be made
    REVIVE = "revive"  # removed before, needed again to make something that was lost


OBJECT_MOVES: dict[ObjectMove, dict[ObjectState, ObjectState]] = {
    move: {start: end}
    for move, start, end in (
        (ObjectMove.FINISH, ObjectState.UNFINISHED, ObjectState.FINISHED),
        (ObjectMove.REMOVE, ObjectState.FINISHED, ObjectState.REMOVED),
        (ObjectMove.LOSE, ObjectState.FINISHED, ObjectState.UNFINISHED),
        (ObjectMove.FAIL, ObjectState.UNFINISHED, ObjectState.FAILED),
        (ObjectMove.REVIVE, ObjectState.REMOVED, ObjectState.UNFINISHED),
    )
}
