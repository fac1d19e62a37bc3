"""The codec of failures: why a session has failed, and what a failure means for a session."""

from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import TaskId
from rain.rpc.codec.border import shown
from rain.rpc.codec.record import choices
from rain.rpc.codec.runs import read_runs, write_runs
from rain.rpc.interface import Fields

_NO_TASK = -1

ON_FAILURE = choices(OnFailure)


def write_session_failure(failure: SessionFailure) -> Fields:
    return {
        "message": shown(failure.message),
        "debug": shown(failure.debug),
        "task": _NO_TASK if failure.task is None else failure.task,
        "runs": write_runs(failure.runs),
        "exception": failure.exception,
        "cancelled": failure.cancelled,
    }


def read_session_failure(fields: Fields) -> SessionFailure:
    task: int = fields["task"]
    return SessionFailure(
        fields["message"],
        fields["debug"],
        None if task == _NO_TASK else TaskId(task),
        read_runs(fields["runs"]),
        fields["exception"],
        fields["cancelled"],
    )
