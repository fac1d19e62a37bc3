"""The texts of failed sessions, built from what the server tells and what the client remembers."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from rain.base.failures import FailureCause, OnFailure, SessionFailure
from rain.base.ids import unpack
from rain.client.reports import failed_tries
from rain.client.rpc.common import TaskState
from rain.client.stack import as_text
from rain.client.submission import SubmittedTasks
from rain.client.task import Task, describe
from rain.common.attributes import TaskInfo
from rain.common.errors import SessionException, TaskException

_CAUSES = {
    FailureCause.TASK: "by itself",
    FailureCause.EXECUTOR: "its executor ended",
    FailureCause.GOVERNOR: "its governor was lost",
}


def failure_exception(failure: SessionFailure, history: list[SubmittedTasks]) -> SessionException:
    """The exception of a failed session; a TaskException when a task is to blame."""
    lines = [f"Message: {failure.message}"]
    if failure.task is not None:
        found = _find(failure.task, history)
        if found is None:
            lines.insert(0, f"Task {unpack(failure.task)} failed")
        else:
            who, created = found
            lines.insert(0, f"Task {who} failed")
            lines += ["Task created at:", created]
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


@contextmanager
def noting_failure(tasks: Sequence[Task]) -> Generator[None, None, None]:
    """If it is one of these tasks that made the session fail, its state and info say so."""
    try:
        yield
    except TaskException as failure:
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
        raise


def _find(packed_id: int, history: list[SubmittedTasks]) -> tuple[str, str] | None:
    """How a submitted task describes itself, and where it was created."""
    for submitted in history:
        if packed_id in submitted.ids:
            i = submitted.ids.index(packed_id)
            return describe(packed_id, submitted.shapes[i]), as_text(submitted.stacks[i])
    return None
