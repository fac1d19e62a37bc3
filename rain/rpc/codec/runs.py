"""What is told of the runs of a task."""

from collections.abc import Sequence

from rain.base.errors import ProtocolError
from rain.base.runs import RunCause, RunReport, RunState
from rain.rpc.codec.border import Fields, clean, shown

_STATES = {
    RunState.TOLD: "told",
    RunState.RUNNING: "running",
    RunState.FINISHED: "finished",
    RunState.FAILED: "failed",
    RunState.HANDED_BACK: "handedBack",
    RunState.WITHDRAWN: "withdrawn",
    RunState.LOST: "lost",
}
_STATES_BY_NAME = {name: state for state, name in _STATES.items()}
_CAUSES: dict[RunCause | None, str] = {
    None: "none",
    RunCause.TASK: "task",
    RunCause.TIMEOUT: "timeout",
    RunCause.EXECUTOR: "executor",
    RunCause.NOT_STARTED: "notStarted",
    RunCause.GOVERNOR: "governor",
    RunCause.GOVERNOR_LEFT: "governorLeft",
    RunCause.TAKEN_BACK: "takenBack",
    RunCause.RECALLED: "recalled",
    RunCause.INPUT_LOST: "inputLost",
    RunCause.GIVEN_UP: "givenUp",
    RunCause.CANCELLED: "cancelled",
    RunCause.MEMORY: "memory",
    RunCause.OUTRUN: "outrun",
}
_CAUSES_BY_NAME = {name: cause for cause, name in _CAUSES.items()}


def write_cause(cause: RunCause) -> str:
    return _CAUSES[cause]


def read_cause(name: str) -> RunCause:
    cause = _CAUSES_BY_NAME[name]
    if cause is None:
        raise ProtocolError("a run has failed without a cause")
    return cause


def write_status(status: int | None) -> Fields:
    """The exit code, or the signal; neither for what has none."""
    if status is None:
        return {}
    return {"exitCode": status} if status >= 0 else {"signal": -status}


def read_status(row: Fields) -> int | None:
    exit_code, signal = row["exitCode"], row["signal"]
    if signal:
        return -int(signal)
    return None if exit_code < 0 else int(exit_code)


def write_runs(runs: Sequence[RunReport]) -> list[Fields]:
    return [
        {
            "number": run.number,
            "governor": clean(run.governor),
            "state": _STATES[run.state],
            "cause": _CAUSES[run.cause],
            "message": shown(run.message),
            "debug": shown(run.debug),
            "toldTime": run.told_time,
            "startTime": run.start_time,
            "duration": run.duration,
            **write_status(run.status),
            "logs": shown(run.logs),
            "retryable": run.retryable,
            "peak": run.peak,
        }
        for run in runs
    ]


def read_runs(rows: list[Fields]) -> tuple[RunReport, ...]:
    return tuple(
        RunReport(
            row["number"],
            row["governor"],
            _STATES_BY_NAME[row["state"]],
            _CAUSES_BY_NAME[row["cause"]],
            row["message"],
            row["debug"],
            row["toldTime"],
            row["startTime"],
            row["duration"],
            read_status(row),
            row["logs"],
            row["retryable"],
            row["peak"],
        )
        for row in rows
    )
