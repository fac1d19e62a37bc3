"""The texts of failed sessions, built from what the server tells and what the client remembers."""

from collections.abc import Sequence
from types import TracebackType

from rain.base.failures import FailureCause, OnFailure, SessionFailure
from rain.base.ids import unpack
from rain.client.history import History
from rain.client.reports import failed_tries
from rain.client.rpc.common import TaskState
from rain.client.stack import as_text
from rain.client.task import Task, describe
from rain.common.attributes import TaskInfo
from rain.common.errors import SessionException, TaskException

_CAUSES = {
    FailureCause.TASK: "by itself",
    FailureCause.EXECUTOR: "its executor ended",
    FailureCause.GOVERNOR: "its governor was lost",
}


def failure_exception(failure: SessionFailure, history: History) -> SessionException:
    """The exception of a failed session; a TaskException when a task is to blame."""
    lines = [f"Message: {failure.message}"]
    if failure.task is not None:
        found = history.find(failure.task)
        if found is None:
            lines.insert(0, f"Task {unpack(failure.task)} failed")
        else:
            shape, stack = found
            lines.insert(0, f"Task {describe(failure.task, shape)} failed")
            lines += ["Task created at:", as_text(stack)]
    for number, failed in enumerate(failure.attempts[:-1], 1):
        lines.append(f"Before, try {number} on {failed.governor} failed ({_CAUSES[failed.cause]}):")
        lines.append(failed.message)
    if failure.debug:
        lines += ["Debug:", failure.debug]
    text = "\n".join(lines)
    if failure.task is None:
        return SessionException(text)
    exception = TaskException(text)
    exception.task_id = unpack(failure.task)
    exception.error, exception.debug = failure.message, failure.debug
    exception.failed_tries = failed_tries(failure.attempts)
    exception.governor, exception.start_time = failure.governor, failure.start_time
    exception.duration = failure.duration if failure.start_time else None
    return exception


class noting_failure:  # noqa: N801 # it reads as what happens inside
    """If it is one of these tasks that made the session fail, its state and info say so.

    A class, because every wait passes here, and a generator costs three times as much.
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
    for task in tasks:
        if task.id == failure.task_id:
            task.known_state = TaskState.failed
            task.known_info = TaskInfo(
                error=failure.error,
                start_time=failure.start_time,
                duration=failure.duration,
                governor=failure.governor,
                debug=failure.debug,
                failed_tries=failure.failed_tries,
            )
    if len(tasks) == 1 and tasks[0].session.on_failure is OnFailure.CONTINUE:
        tasks[0].known_state = TaskState.failed  # itself, or since it depends on that task
