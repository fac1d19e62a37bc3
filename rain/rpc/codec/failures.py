"""How attempts and sessions have failed."""

from collections.abc import Sequence

from rain.base.failures import FailedAttempt, FailureCause, OnFailure, SessionFailure
from rain.base.ids import TaskId
from rain.rpc.codec.border import Fields, clean, shown

_CAUSES = {
    FailureCause.TASK: "task",
    FailureCause.EXECUTOR: "executor",
    FailureCause.GOVERNOR: "governor",
    FailureCause.NOT_STARTED: "notStarted",
}
_CAUSES_BY_NAME = {name: cause for cause, name in _CAUSES.items()}
_NO_TASK = -1


def write_cause(cause: FailureCause) -> str:
    return _CAUSES[cause]


def read_cause(name: str) -> FailureCause:
    return _CAUSES_BY_NAME[name]


def write_on_failure(choice: OnFailure) -> str:
    return choice.value


def read_on_failure(name: str) -> OnFailure:
    return OnFailure(name)


def write_attempts(attempts: Sequence[FailedAttempt]) -> list[Fields]:
    return [
        {
            "attempt": failed.attempt,
            "governor": failed.governor,
            "cause": write_cause(failed.cause),
            "message": shown(failed.message),
            "debug": shown(failed.debug),
        }
        for failed in attempts
    ]


def read_attempts(rows: list[Fields]) -> tuple[FailedAttempt, ...]:
    return tuple(
        FailedAttempt(
            row["attempt"],
            row["governor"],
            read_cause(row["cause"]),
            row["message"],
            row["debug"],
        )
        for row in rows
    )


def write_session_failure(failure: SessionFailure) -> Fields:
    return {
        "message": shown(failure.message),
        "debug": shown(failure.debug),
        "task": _NO_TASK if failure.task is None else failure.task,
        "attempts": write_attempts(failure.attempts),
        "governor": clean(failure.governor),
        "startTime": failure.start_time,
        "duration": failure.duration,
        "exception": failure.exception,
        "cancelled": failure.cancelled,
    }


def read_session_failure(fields: Fields) -> SessionFailure:
    task: int = fields["task"]
    return SessionFailure(
        fields["message"],
        fields["debug"],
        None if task == _NO_TASK else TaskId(task),
        read_attempts(fields["attempts"]),
        fields["governor"],
        fields["startTime"],
        fields["duration"],
        fields["exception"],
        fields["cancelled"],
    )
