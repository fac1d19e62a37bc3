"""The run of a task: one attempt, from the moment when a governor is told to run it.

A task has its last run in a field and earlier ones in a tuple, which is empty for most tasks. If a
task runs very often, not all runs are kept: `remembered` decides which.
"""

from __future__ import annotations

from attrs import define, frozen

from rain.base.address import Source
from rain.base.errors import InvariantError
from rain.base.failures import shortened
from rain.base.moments import rfc3339
from rain.base.runs import RUN_FACTS, RUN_MOVES, RunCause, RunReport, RunState
from rain.base.states import TaskMove

MOST_FORMER = 16
"""Former runs of a task that are kept, unless more of them count for its tries."""


@frozen
class LastWords:
    """The facts about a failed run besides its message."""

    status: int | None = None  # exit code of what has ended; of a signal the negative number
    logs: str = ""  # the end of what it has printed
    retryable: bool = True  # what it has failed by is worth another try
    peak: int = 0  # the most bytes of memory that it had; 0 if it was not measured


NOTHING_LEFT = LastWords()


@frozen
class Ending:
    """When and why a run ends that does not succeed, and its messages."""

    now: float
    cause: RunCause
    message: str = ""
    debug: str = ""
    words: LastWords = NOTHING_LEFT


@define(eq=False, repr=False, weakref_slot=False)
class Run:
    """One run of a task. It has no references to nodes, so it keeps none of them alive."""

    number: int  # counts the runs of the task; late news of earlier ones is recognised by it
    place: Source  # the governor, and its incarnation
    told: float  # when that one was told to run the task
    state: RunState = RunState.TOLD
    started: float = 0.0  # when it was reported as started, 0 for not yet
    duration: float = 0.0  # seconds from its start to its end
    cause: RunCause | None = None  # why it has not succeeded
    message: str = ""
    debug: str = ""  # the lines that the task has left
    words: LastWords = NOTHING_LEFT
    peak: int = 0  # the most bytes of memory that it had, of one that has finished

    def __repr__(self) -> str:
        return f"<Run {self.number} on {self.place.address} {self.state.value}>"

    @property
    def governor(self) -> str:
        """The address of its governor."""
        return self.place.address

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return RUN_FACTS[self.state].is_open

    def move(self, what: TaskMove) -> None:
        """Makes a move of the state table, together with its task; a forbidden move raises."""
        end = RUN_MOVES[what].get(self.state)
        if end is None:
            raise InvariantError(f"{self!r} cannot move by {what.value!r}")
        self.state = end

    def end(self, how: TaskMove, ending: Ending) -> None:
        """Ends the run without success."""
        self.move(how)
        if self.started:
            self.duration = max(ending.now - self.started, 0.0)
        self.cause = ending.cause
        self.message = ending.message
        self.debug = ending.debug or self.debug
        self.words = ending.words

    def shorten(self) -> None:
        """Keeps only both ends of long texts, because another run follows."""
        self.message, self.debug = shortened(self.message), shortened(self.debug)

    def report(self) -> RunReport:
        """The report about the run as it is now."""
        return RunReport(
            self.number,
            self.place.address,
            self.state,
            self.cause,
            self.message,
            self.debug,
            rfc3339(self.told),
            rfc3339(self.started),
            self.duration,
            self.words.status,
            self.words.logs,
            self.words.retryable,
            self.peak or self.words.peak,
        )


def remembered(former: tuple[Run, ...]) -> tuple[Run, ...]:
    """At most `MOST_FORMER` of these, and all those that count for the tries of the task.

    The latter are the failed and the lost runs since the last finished one. They are few, because
    each has used up a try. Of the others the oldest is forgotten first.
    """
    if len(former) <= MOST_FORMER:
        return former
    finished = [place for place, run in enumerate(former) if run.state is RunState.FINISHED]
    last = finished[-1] if finished else -1
    for place, run in enumerate(former):
        if place < last or not _may_count(run):
            return former[:place] + former[place + 1 :]
    return former


def _may_count(run: Run) -> bool:
    if run.state is RunState.LOST:
        return run.cause is RunCause.GOVERNOR
    return run.state in {RunState.FAILED, RunState.FINISHED}
