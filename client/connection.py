"""What the client asks of its connection to the server, and how its errors become the user's.

`rain.rpc.client_endpoint.ClientConnection` is the real one; tests pass one of their own.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol

from rain.base.admission import Secret
from rain.base.errors import (
    ConnectionLostError,
    ProtocolError,
    RefusedError,
    SessionFailedError,
    StartError,
)
from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import ObjectId, SessionId, TaskId
from rain.base.silence import SILENCE_LIMIT, check_limit
from rain.base.wire import (
    Fetched,
    GovernorReport,
    JoinedSession,
    ObjectReport,
    Overview,
    PrintedLines,
    Submission,
    TaskReport,
    WaitAnswer,
    Watch,
)
from rain.common.errors import ConnectionException, RainException


class Here(Protocol):
    """A cluster in this process, which runs calls in the threads that wait for them."""

    def work_until(
        self,
        is_done: Callable[[], bool],
        timeout: float | None = None,
        more: Callable[[], bool] | None = None,
    ) -> None:
        """Runs calls until it is done, or after `timeout` seconds between two of them.

        When nothing can run, `more` sends what was not sent; whether there was anything.
        """
        ...

    def work_once(self) -> None:
        """Runs a call, if one can run now: somebody asks whether it is done."""
        ...

    def work_for(self, is_done: Callable[[], bool], more: Callable[[], bool]) -> None:
        """The same in another thread; nobody waits for that."""
        ...

    def ring(self) -> None:
        """Who waits shall look again whether it is done."""
        ...


class Connection(Protocol):
    """A connection to a server. Each method may be called from any thread, and blocks it."""

    cluster: bytes  # which start of which server this is

    @property
    def here(self) -> Here | None:
        """The cluster, if it is in this process: else calls run by themselves."""
        ...

    def open_session(
        self,
        name: str,
        user: str = "",
        on_failure: OnFailure = OnFailure.STOP,
        parent: TaskId | None = None,
    ) -> SessionId: ...

    def join_session(self, session: SessionId, name: str, *, numbers: bool) -> JoinedSession: ...

    def close_session(self, session: SessionId) -> None: ...

    def submit(self, submission: Submission) -> None: ...

    def submit_soon(self, submission: Submission) -> None: ...

    def submit_then(
        self,
        submission: Submission,
        objects: Sequence[ObjectId],
        then: Callable[[WaitAnswer | Exception], object],
    ) -> None:
        """Sends it, and a wait for these objects with it if there are any and nothing is uploaded.

        The answer goes to `then`, in the thread of the connection.
        """
        ...

    def submit_and_wait(
        self, submission: Submission, objects: Sequence[ObjectId]
    ) -> Callable[[], WaitAnswer]:
        """Sends both at once; what it gives waits for all of the objects."""
        ...

    def has_left(self, session: SessionId) -> bool:
        """Whether a submission that was interrupted is on its way all the same; told once."""
        ...

    def unkeep(self, objects: Sequence[ObjectId]) -> None: ...

    def wait(
        self,
        session: SessionId,
        tasks: Sequence[TaskId],
        objects: Sequence[ObjectId],
        mode: str,
        timeout: float | None = None,
        since: int = 0,
    ) -> WaitAnswer: ...

    def follow(
        self, session: SessionId, since: int, then: Callable[[WaitAnswer | Exception], object]
    ) -> None:
        """Waits for "news"; they go to `then`, in the thread of the connection."""
        ...

    def ask_why(
        self,
        session: SessionId,
        object_id: ObjectId,
        then: Callable[[WaitAnswer | Exception], object],
    ) -> None:
        """Asks why an object has failed; what says so goes to `then`, as above."""
        ...

    def cancel(
        self,
        session: SessionId,
        tasks: Sequence[TaskId],
        objects: Sequence[ObjectId],
        *,
        whole: bool = False,
        always: bool = False,
        recursive: bool = True,
        grace: float | None = None,
    ) -> None: ...

    def cancel_unstarted(
        self, session: SessionId, objects: Sequence[ObjectId]
    ) -> Sequence[ObjectId]:
        """Cancels those of these that do not run yet, and gives them."""
        ...

    def handles_gone(self, tasks: Sequence[TaskId], objects: Sequence[ObjectId]) -> None: ...

    def take_handles(
        self, objects: Sequence[ObjectId], *, wants_data: bool = False
    ) -> Sequence[ObjectReport]: ...

    def take_handles_then(
        self,
        objects: Sequence[ObjectId],
        then: Callable[[Sequence[ObjectReport] | Exception], object],
    ) -> None:
        """Takes handles of objects of any sessions, and wants their data.

        The answer goes to `then`, in the thread of the connection.
        """
        ...

    def fetch(self, object_id: ObjectId, into: Path | None = None) -> Fetched: ...

    def fetch_many(self, object_ids: Sequence[ObjectId]) -> Sequence[Fetched]: ...

    def update(
        self, tasks: Sequence[TaskId], objects: Sequence[ObjectId]
    ) -> tuple[Sequence[TaskReport], Sequence[ObjectReport]]: ...

    def logs(self, task: TaskId) -> str: ...

    def watch(self, watch: Watch | None) -> None:
        """From now on the server gathers what these tasks print; None: of no task any more."""
        ...

    def printed(self, *, wait: bool) -> Sequence[PrintedLines]:
        """What was gathered and not told yet."""
        ...

    def server_info(self) -> Sequence[GovernorReport]: ...

    def overview(self, session: SessionId | None = None) -> Overview: ...

    def dashboard(self) -> str:
        """Where the server serves its dashboard, "host:port"; begins it if the server may."""
        ...

    def terminate(self) -> None: ...

    def give_up(self) -> None:
        """Every call that waits is told that the server is lost, and why. From any thread."""
        ...

    def close(self) -> None: ...


class Asking:
    """Around a call of the connection: turns what it raises into what users know.

    `explain` makes the exception of a failed session, which names the task that failed.
    """

    __slots__ = ("explain",)

    def __init__(self, explain: Callable[[SessionFailure], RainException]) -> None:
        self.explain = explain

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            told = self.told(error)
            if told is not None:
                raise told from told.__cause__

    def told(self, error: BaseException) -> RainException | None:
        """What users know an error of the connection as; None for any other error."""
        if isinstance(error, SessionFailedError):
            return self.explain(error.failure)
        if isinstance(error, ConnectionLostError | StartError):
            return ConnectionException(str(error))
        if isinstance(error, RefusedError | ProtocolError):
            return RainException(str(error))
        return None


def connect(
    host: str,
    port: int,
    secret: Secret | None = None,
    server_timeout: float = SILENCE_LIMIT,
    why_lost: Callable[[], str] | None = None,
) -> Connection:
    """A connection to the server at an address; `why_lost` may know what has become of that."""
    # Cap'n Proto takes a while to load; programs that only build graphs do without.
    from rain.rpc.client_endpoint import ClientConnection  # noqa: PLC0415

    try:
        limit = check_limit(server_timeout, "server_timeout")
    except ValueError as error:
        raise RainException(str(error)) from None
    try:
        return ClientConnection(host, port, secret=secret, silence_limit=limit, why_lost=why_lost)
    except (ConnectionLostError, StartError, RefusedError) as error:
        raise ConnectionException(str(error)) from None
