"""The exception that a failed call raises: one of the class that the function raised.

The exception itself travels as a pickle. `Future.result` raises it, with a `TaskException` as its
cause that says where the call ran and shows the remote traceback. Waits in sessions raise a
`TaskException` that is also of the function's class, with the exception itself as its cause.
"""

import concurrent.futures
import pickle
from functools import lru_cache
from typing import TypeGuard

from rain.base.failures import SessionFailure
from rain.base.runs import RunCause
from rain.common.errors import SessionException, TaskException, TaskTimeout


class CancelledError(concurrent.futures.CancelledError, TaskException):
    """A call was cancelled, or a call whose result it needs.

    >>> import time
    >>> future = client.submit(time.sleep, 600)
    >>> future.cancel()
    True
    >>> try:
    ...     future.result()
    ... except CancelledError:
    ...     print("cancelled")
    cancelled
    """


def was_cancelled(error: BaseException) -> TypeGuard[CancelledError]:
    """Whether the error means that the call itself was cancelled. A `CancelledError` that its
    function has raised has a cause, and the call has failed.
    """
    return isinstance(error, CancelledError) and error.__cause__ is None


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


def raised_by_future(failure: SessionFailure, told: SessionException) -> BaseException:
    """The exception of a future; `told` describes the failure in words."""
    error = told.__cause__ if isinstance(told.__cause__, Exception) else None
    if error is None or failure.cancelled:
        return told
    told.__cause__ = None
    error.__cause__ = told
    return error


def raised_by_session(failure: SessionFailure, text: str) -> TaskException:
    """The exception of a failed task for sessions, with what it says."""
    if failure.cancelled:
        return CancelledError(text)
    if failure.runs and failure.runs[-1].cause is RunCause.TIMEOUT:
        return TaskTimeout(text)
    error = exception_of(failure)
    if error is None:
        return TaskException(text)
    made = _both(type(error))(text)  # type: ignore[arg-type] # mypy wonders whether a class has a hash
    made.__cause__ = error
    return made


@lru_cache(maxsize=256)
def _both(kind: type[Exception]) -> type[TaskException]:
    """A class that is a `TaskException` and the function's own."""

    def init(self: TaskException, text: str) -> None:
        TaskException.__init__(self, text)

    def show(self: TaskException) -> str:
        return str(self.args[0])

    content = {
        "__init__": init,
        "__str__": show,  # `KeyError.__str__`, for example, would show a repr of the text
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "__reduce__": _reduced,
    }
    try:
        both: type[TaskException] = type(kind.__name__, (TaskException, kind), content)
        both("")
    # A class may forbid subclasses, or want more when it is made, in any way.
    except Exception:  # noqa: BLE001
        return TaskException
    return both


def _reduced(self: TaskException) -> tuple[type[TaskException], tuple[object, ...]]:
    return TaskException, self.args
