"""The texts of failed sessions, built from what the server tells and what the client remembers."""

from rain.base.ids import unpack
from rain.base.wire import SessionFailure
from rain.client.stack import as_text
from rain.client.submission import SubmittedTasks
from rain.client.task import describe
from rain.common.errors import SessionException, TaskException


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
    if failure.debug:
        lines += ["Debug:", failure.debug]
    text = "\n".join(lines)
    if failure.task is None:
        return SessionException(text)
    exception = TaskException(text)
    exception.task_id = unpack(failure.task)
    return exception


def _find(packed_id: int, history: list[SubmittedTasks]) -> tuple[str, str] | None:
    """How a submitted task describes itself, and where it was created."""
    for submitted in history:
        if packed_id in submitted.ids:
            i = submitted.ids.index(packed_id)
            return describe(packed_id, submitted.shapes[i]), as_text(submitted.stacks[i])
    return None
