"""The exceptions for user programs.

RainException
    SessionException            the session has failed
        TaskException           ... because one of its tasks failed
            TaskTimeout         ... as it ran for longer than its timeout
    ConnectionException         no server, or it has gone
    TimeoutException            a wait took longer than its timeout
RainWarning                     warned or raised: allowed, but almost certainly a mistake
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rain.base.ids import ID

if TYPE_CHECKING:
    from rain.common.runs import RunInfo  # needs attrs, which executors do not load


class RainException(Exception):
    """Something that Rain refuses or that went wrong; the base class of the others.

    >>> try:
    ...     client.upload("no-such-file.py")
    ... except RainException:
    ...     print("refused")
    refused
    """


class SessionException(RainException):
    """The session has failed; it can only be closed.

    >>> with client.new_session("stops") as other:
    ...     tasks.Load("/no/such/file").output.keep()
    ...     other.submit()
    ...     try:
    ...         other.wait_all()
    ...     except SessionException:
    ...         print("the session has failed")
    the session has failed
    """


class TaskException(SessionException):
    """A task has failed, and so has its session or, if that continues, all dependent tasks.

    >>> try:
    ...     session.compute(tasks.Load("/no/such/file"))
    ... except TaskException as error:
    ...     print(str(error).splitlines()[1])
    Message: there is no file '/no/such/file' on this governor
    """

    task_id: ID | None = None
    error: str = ""  # the error of the task itself: its remote traceback, or its stderr
    debug: str = ""  # its debug lines
    runs: "list[RunInfo]"  # all runs of the task; what follows is of the last one
    governor: str = ""
    start_time: str = ""
    duration: float | None = None  # seconds

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.runs = []

    @property
    def failed_tries(self) -> "list[RunInfo]":
        """Those of the runs that have failed.

        >>> try:
        ...     client.options(tries=2).submit(divmod, 1, 0).result()
        ... except ZeroDivisionError as error:
        ...     [run.number for run in error.__cause__.failed_tries]
        [1, 2]
        """
        return [run for run in self.runs if run.has_failed]


class TaskTimeout(TaskException, TimeoutError):  # as TimeoutError's neighbours
    """A task ran for longer than its `timeout`, and was ended.

    >>> import time
    >>> try:
    ...     client.options(timeout=0.1).submit(time.sleep, 600).result()
    ... except TaskTimeout:
    ...     print("it took too long")
    it took too long
    """


class ConnectionException(RainException, ConnectionError):
    """The server cannot be reached, or the connection to it has ended.

    >>> try:
    ...     Client("127.0.0.1", 1)
    ... except ConnectionException:
    ...     print("nobody listens there")
    nobody listens there
    """


class TimeoutException(RainException, TimeoutError):
    """A wait took longer than its timeout; the event may still happen later.

    >>> slow = tasks.Sleep(blob("x"), 600)
    >>> session.submit()
    >>> try:
    ...     slow.wait(timeout=0.01)
    ... except TimeoutException:
    ...     print("not yet")
    not yet
    """


class RainWarning(Warning):
    """A warning, sometimes raised: the request is possible, but almost certainly a mistake.

    >>> @remote()
    ... def measure(ctx, table):
    ...     return str(len(table))
    >>> try:
    ...     measure([blob("inside"), list(range(200_000))])
    ... except RainWarning:
    ...     print("upload the list once with pickled()")
    upload the list once with pickled()
    """


def rebuilt(
    kind: type[Exception], args: tuple[object, ...], attributes: Mapping[str, Any]
) -> Exception:
    """An exception of a task, made without its `__init__`."""
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(attributes)
    return error


class PiecesLostError(BaseException):
    """A piece cannot be read from where it should be.

    No `Exception`: a function that catches these must not go on with a part of its input. Its task
    runs again when the cluster knows where all pieces are.
    """
