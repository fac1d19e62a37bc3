"""How attempts have failed, as messages."""

from collections.abc import Sequence

from rain.base.failures import FailedAttempt, FailureCause, OnFailure
from rain.rpc.codec.border import Builder, Reader, shown

# In the order of the schema's numbers.
_CAUSES = (
    FailureCause.TASK,
    FailureCause.EXECUTOR,
    FailureCause.GOVERNOR,
    FailureCause.NOT_STARTED,
)
_ON_FAILURE = (OnFailure.STOP, OnFailure.CONTINUE)


def cause_number(cause: FailureCause) -> int:
    return _CAUSES.index(cause)


def read_cause(number: int) -> FailureCause:
    if number >= len(_CAUSES):
        raise ValueError(f"there is no cause of failures number {number}")
    return _CAUSES[number]


def on_failure_number(choice: OnFailure) -> int:
    return _ON_FAILURE.index(choice)


def read_on_failure(number: int) -> OnFailure:
    if not 0 <= number < len(_ON_FAILURE):
        raise ValueError(f"there is no choice number {number} of what a failure means")
    return _ON_FAILURE[number]


def write_attempts(builder: Builder, field: str, attempts: Sequence[FailedAttempt]) -> None:
    rows = builder.init(field, len(attempts))
    for row, failed in zip(rows, attempts, strict=True):
        row.attempt = failed.attempt
        row.governor = failed.governor
        row.cause = cause_number(failed.cause)
        row.message = shown(failed.message)
        row.debug = shown(failed.debug)


def read_attempts(rows: Reader) -> tuple[FailedAttempt, ...]:
    return tuple(
        FailedAttempt(row.attempt, row.governor, read_cause(row.cause.raw), row.message, row.debug)
        for row in rows
    )
