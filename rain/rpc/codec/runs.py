"""The codec of reports about the runs of a task, for clients."""

from collections.abc import Sequence

from rain.base.runs import RunCause, RunReport, RunState
from rain.rpc.codec.border import clean, shown
from rain.rpc.codec.record import choices
from rain.rpc.interface import Fields

_STATE = choices(RunState)
_CAUSE = choices(RunCause)
_NO_CAUSE = "none"


def write_cause(cause: RunCause | None) -> str:
    return _NO_CAUSE if cause is None else _CAUSE.write(cause)


def read_cause(name: str) -> RunCause | None:
    return None if name == _NO_CAUSE else _CAUSE.read(name)


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
            "state": _STATE.write(run.state),
            "cause": write_cause(run.cause),
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
            _STATE.read(row["state"]),
            read_cause(row["cause"]),
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
