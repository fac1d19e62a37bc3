"""What a failed call raises: the very exception of the function, where it can travel."""

import concurrent.futures
import pickle

from rain.base.failures import SessionFailure
from rain.common.errors import TaskException


class CancelledError(concurrent.futures.CancelledError, TaskException):
    """The call was cancelled, or one that it needs the result of."""


def error_of(failure: SessionFailure, told: Exception) -> BaseException:
    """The exception for a future: that of the function, where it was sent.

    Its cause is `told`, which says in words all that is known of the task.
    """
    if failure.cancelled:
        return CancelledError(str(told))
    error = exception_of(failure)
    if error is None:
        return told
    error.__cause__ = told
    return error


def exception_of(failure: SessionFailure) -> Exception | None:
    """The exception that the function raised, if it was sent and can be read here."""
    if not failure.exception:
        return None
    try:
        error = pickle.loads(failure.exception)
    # Its class may be missing here, or may raise anything when it is rebuilt: the text says it.
    except Exception:  # noqa: BLE001
        return None
    return error if isinstance(error, Exception) else None
