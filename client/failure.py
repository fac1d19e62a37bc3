"""Builds the exception of a failed session from the server's report and the client's records."""

from collections.abc import Sequence
from types import TracebackType

from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import TaskId, pack, unpack
from rain.client.errors import CancelledError, raised_by_session
from rain.client.explaining.relative_files import advice
from rain.client.explaining.sources import with_sources
from rain.client.explaining.stack import as_text
from rain.client.history import History
from rain.client.reports import runs_info
from rain.client.rpc.common import TaskState
from rain.client.task import Task, describe
from rain.client.unit import Unit
from rain.common.attributes import TaskInfo
from rain.common.errors import SessionException, TaskException
from rain.common.runs import RunInfo

_CAUSES = {
    "task": "by itself",
    "timeout": "it took too long",
    "executor": "its executor ended",
    "memory": "it used more memory than its governor could give",
    "disk": "what it makes or reads is larger than the disk of its governor",
    "not started": "no governor could start it",
    "input lost": "its inputs were lost",
    "governor": "its governor was lost",
}


def failure_exception(failure: SessionFailure, history: History) -> SessionException:
    """The exception of a failed session; a TaskException when a task is to blame."""
    message = with_sources(failure.message)
    lines = [f"Message: {message}"]
    what_to_do = advice(failure.message)
    if what_to_do:
        lines.append(what_to_do)
    culprit = failure.task
    verb = "was cancelled" if failure.cancelled else "failed"
    if culprit is not None:
        unit = history.unit(culprit)
        if unit is not None:
            member = unit.failed_member(failure.message)
            lines.insert(0, _about(unit, member))
            culprit = member or culprit
        found = history.find(culprit)
        if found is None:
            lines.insert(0, f"Task {unpack(culprit)} {verb}")
        else:
            shape, stack = found
            lines.insert(0, f"Task {describe(culprit, shape)} {verb}")
            lines += ["Task created at:", as_text(stack)]
    runs = runs_info(failure.runs)
    for run in runs[:-1]:
        if run.has_failed:
            lines += [_before(run), with_sources(run.error)]
    if failure.debug:
        lines += ["Debug:", failure.debug]
    text = "\n".join(lines)
    if culprit is None:
        return SessionException(text)
    exception = raised_by_session(failure, text)
    exception.task_id = unpack(culprit)
    exception.error, exception.debug = message, failure.debug
    exception.runs = runs
    if runs:
        last = runs[-1]
        exception.governor, exception.start_time = last.governor, last.start_time
        exception.duration = last.duration
    return exception


def _before(run: RunInfo) -> str:
    """The part of a message about an earlier run, which has failed, too."""
    after = "" if run.duration is None else f" after {run.duration:.1f} s"
    return f"Before, run {run.number} on {run.governor} failed{after} ({_CAUSES[run.cause]}):"


def _about(unit: Unit, member: TaskId | None) -> str:
    """The part of a message about a unit that has failed, and in which of its tasks."""
    count = len(unit.members)
    if member is None:
        return f"It stands for the unit {unit.name!r}: one of its {count} tasks has failed"
    return f"It is number {unit.place(member)} of {count} tasks in the unit {unit.name!r}"


class noting_failure:  # noqa: N801 # it reads as what happens inside
    """A context manager: if one of these tasks has made the session fail, its state and info say
    so. It is a class, because every wait passes here, and a generator costs three times as much.
    """

    __slots__ = ("_tasks",)

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if isinstance(error, TaskException):
            _note(self._tasks, error)


def _note(tasks: Sequence[Task], failure: TaskException) -> None:
    state = TaskState.cancelled if isinstance(failure, CancelledError) else TaskState.failed
    for task in tasks:
        if task.unit is not None:
            _note_in_unit(task, task.unit, failure)
        if task.id == failure.task_id:
            task.known_state = state
            task.known_info = TaskInfo(
                error=failure.error,
                start_time=failure.start_time,
                duration=failure.duration,
                governor=failure.governor,
                debug=failure.debug,
                runs=failure.runs,
            )
    if len(tasks) == 1 and tasks[0].session.on_failure is OnFailure.CONTINUE:
        (only,) = tasks
        if only.unit is None or only.known_state is not TaskState.finished:
            only.known_state = state  # this one, or one that depends on it


def _note_in_unit(task: Task, unit: Unit, failure: TaskException) -> None:
    """The tasks before the failed one are finished; those after it will never run."""
    assert failure.task_id is not None
    if pack(*failure.task_id) in unit.members:
        others = task.state or TaskState.notAssigned
        if task.session.on_failure is OnFailure.CONTINUE:
            others = TaskState.failed
        task.known_state = unit.state_after(failure.error, task.packed_id, others)
