"""The state table of runs, the causes of their ends, and reports about them.

A run is one attempt of a task: it begins when a governor is told to run the task, and ends once.
The tables are data, as those of tasks and objects in rain/base/states.py: a run moves only along
them, by the moves of its task, and docs/states.md is drawn from them.
"""

import enum

from attrs import frozen

from rain.base.states import Step, TaskMove, TaskRow, Word


class RunState(Word):
    """The state of a run."""

    TOLD = "told"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    HANDED_BACK = "handed back"
    WITHDRAWN = "withdrawn"
    LOST = "lost"


class RunCause(enum.Enum):
    """Why a run has ended without success. All before `NOT_STARTED` may be somebody's doing."""

    TASK = "task"  # its own: an exception, an exit code, wrong outputs
    TIMEOUT = "timeout"  # it took longer than its task allows
    EXECUTOR = "executor"  # the process that ran it has ended under it
    GOVERNOR = "governor"  # its governor was lost while it ran, and it may be the reason
    MEMORY = "memory"  # it used more memory than its governor could give, and was ended
    DISK = "disk"  # what it makes or reads is larger than the whole disk of its governor
    NOT_STARTED = "not started"  # nobody's: its governor had no room for it, and hands it back
    GOVERNOR_LEFT = "governor left"  # its governor left or was lost, and it is not the reason
    TAKEN_BACK = "taken back"  # the scheduler has changed its mind
    RECALLED = "recalled"  # what it was sent ahead of will not be made there
    INPUT_LOST = "input lost"  # what it reads has no copy left
    GIVEN_UP = "given up"  # its task can never finish
    CANCELLED = "cancelled"  # a client has cancelled its task
    OUTRUN = "outrun"  # its task was late, and a second run of it has finished before this one


CRASHES = frozenset({RunCause.EXECUTOR, RunCause.GOVERNOR})
"""Causes outside of a task. They are counted separately from its own failures."""

TOLD_BY_GOVERNORS = frozenset(
    {
        RunCause.TASK,
        RunCause.TIMEOUT,
        RunCause.EXECUTOR,
        RunCause.MEMORY,
        RunCause.DISK,
        RunCause.NOT_STARTED,
        RunCause.INPUT_LOST,
    }
)
"""The causes that governors report. The server finds out the others itself."""


@frozen
class RunFacts:
    """What holds in one state of a run."""

    state: RunState
    rows: tuple[TaskRow, ...]  # where its task stands meanwhile; none when the run has ended
    causes: tuple[RunCause, ...]
    tries: str  # what it counts for, when it is decided whether the task is tried again
    meaning: str

    @property
    def is_open(self) -> bool:
        """Whether the run has not ended."""
        return bool(self.rows)


RUN_TABLE: tuple[RunFacts, ...] = (
    RunFacts(
        RunState.TOLD,
        (TaskRow.AHEAD, TaskRow.ASSIGNED, TaskRow.ASKED, TaskRow.CANCELLING),
        (),
        "",
        "its governor was told to run the task, and has not said that it has started",
    ),
    RunFacts(
        RunState.RUNNING,
        (TaskRow.RUNNING, TaskRow.BLOCKED, TaskRow.CANCELLING),
        (),
        "",
        "its governor has started it",
    ),
    RunFacts(
        RunState.FINISHED,
        (),
        (),
        "those before it count no more",
        "it has made the outputs of the task, or has handed that on to another task",
    ),
    RunFacts(
        RunState.FAILED,
        (),
        (
            RunCause.TASK,
            RunCause.TIMEOUT,
            RunCause.EXECUTOR,
            RunCause.MEMORY,
            RunCause.DISK,
            RunCause.NOT_STARTED,
            RunCause.INPUT_LOST,
        ),
        "a try; one of `crash_tries` for *executor*, of `memory_tries` for *memory*",
        "it has failed; *not started* and *input lost* only after that was so too often",
    ),
    RunFacts(
        RunState.HANDED_BACK,
        (),
        (RunCause.DISK, RunCause.NOT_STARTED, RunCause.INPUT_LOST),
        "nothing",
        "its governor could not start it, or has too small a disk, or it could not read its part of"
        " a shuffle",
    ),
    RunFacts(
        RunState.WITHDRAWN,
        (),
        (
            RunCause.TAKEN_BACK,
            RunCause.RECALLED,
            RunCause.INPUT_LOST,
            RunCause.GIVEN_UP,
            RunCause.CANCELLED,
            RunCause.OUTRUN,
        ),
        "nothing",
        "the server has stopped it",
    ),
    RunFacts(
        RunState.LOST,
        (),
        (RunCause.GOVERNOR, RunCause.GOVERNOR_LEFT),
        "one of `crash_tries` for *governor*",
        "its governor is gone",
    ),
)
RUN_FACTS: dict[RunState, RunFacts] = {facts.state: facts for facts in RUN_TABLE}

_OPEN = (RunState.TOLD, RunState.RUNNING)

RUN_STEPS: tuple[Step[RunState, TaskMove], ...] = (
    Step(RunState.TOLD, TaskMove.START, RunState.RUNNING),
    Step(RunState.TOLD, TaskMove.RECALL, RunState.WITHDRAWN),
    *(
        Step(state, move, end)
        for move, end in (
            (TaskMove.FINISH, RunState.FINISHED),
            (TaskMove.HAND_ON, RunState.FINISHED),
            (TaskMove.RUN_FAILED, RunState.FAILED),
            (TaskMove.HAND_BACK, RunState.HANDED_BACK),
            (TaskMove.TAKE_BACK, RunState.WITHDRAWN),
            (TaskMove.END, RunState.WITHDRAWN),
            (TaskMove.GOVERNOR_LOST, RunState.LOST),
        )
        for state in _OPEN
    ),
)
RUN_MOVES: dict[TaskMove, dict[RunState, RunState]] = {
    move: {step.start: step.end for step in RUN_STEPS if step.move is move} for move in TaskMove
}


@frozen
class RunReport:
    """The report of one run. Texts of times are RFC 3339, and empty for what was not told."""

    number: int  # counts the runs of the task, from 1 on; some of many may not be told
    governor: str  # its address
    state: RunState
    cause: RunCause | None = None
    message: str = ""  # for people
    debug: str = ""
    told_time: str = ""  # when its governor was told to run it
    start_time: str = ""
    duration: float = 0.0  # seconds from its start to its end
    status: int | None = None  # exit code of what has failed; of a signal the negative number
    logs: str = ""  # the end of what a failed one has printed
    retryable: bool = True  # what has failed is worth another try
    peak: int = 0  # the most bytes of memory that it had; 0 if nobody has looked
