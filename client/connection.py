"""The interface of a client's connection to the server, and the public forms of its errors.

Its requests are values (`rain.base.wire.requests`). `rain.rpc.client_endpoint.ClientConnection` is
the real connection; tests pass one of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, TypeVar

from attrs import evolve

from rain.base.errors import (
    ConnectionLostError,
    ProtocolError,
    RefusedError,
    SessionFailedError,
    StartError,
)
from rain.base.failures import SessionFailure
from rain.base.silence import ClientLimits, check_limit
from rain.base.wire.answers import Fetched, WaitAnswer
from rain.base.wire.requests import CloseSession, Request, Statement, Submit, WatchPrinted
from rain.base.wire.submission import Submission
from rain.common.errors import ConnectionException, RainException
from rain.tls.keys import NO_KEYS, Keys

if TYPE_CHECKING:
    from rain.stream.ranges import Piece, Range
    from rain.stream.staged import Staged
    from rain.stream.watching import TransferWatch

A = TypeVar("A")


class Here(Protocol):
    """A cluster in this process, which runs calls in the threads that wait for them."""

    def work_until(
        self,
        is_done: Callable[[], bool],
        timeout: float | None = None,
        more: Callable[[], bool] | None = None,
    ) -> None:
        """Runs calls until `is_done` is true or `timeout` seconds are over, which is checked
        between two calls. If nothing can run, `more` is called: it sends what was not sent yet, and
        returns whether there was anything.
        """
        ...

    def work_once(self) -> None:
        """Runs a call, if one can run now, because a thread asks whether it is done."""
        ...

    def work_for(self, is_done: Callable[[], bool], more: Callable[[], bool]) -> None:
        """Runs calls in another thread until `is_done` is true; the caller does not wait for it."""
        ...

    def ring(self) -> None:
        """Wakes the waiting threads, so that they check again whether they are done."""
        ...


class Connection(Protocol):
    """A connection to a server. Its methods may be called from any thread."""

    cluster: bytes  # identifies the server and its start
    returns: bool  # a server that has died can be started again with the same state

    def at_each_beat(self, call: Callable[[], object]) -> None:
        """Calls this every second, in the thread of the connection, where it must not wait."""
        ...

    @property
    def is_waited_for(self) -> bool:
        """Whether the server has not answered everything yet."""
        ...

    @property
    def address(self) -> str:
        """Where the server is now, "host:port"."""
        ...

    @property
    def here(self) -> Here | None:
        """The cluster, if it is in this process: else calls run by themselves."""
        ...

    @property
    def is_interrupted_here(self) -> bool:
        """Whether this is a signal handler that came while its own thread was sending."""
        ...

    def ask(self, request: Request[A], timeout: float | None = None) -> A:
        """The answer to a request, when it has come; `TimeoutError` after the timeout."""
        ...

    def ask_all(self, requests: Sequence[Request[A]]) -> Sequence[A]:
        """The answers to requests that concern one session."""
        ...

    def ask_then(self, request: Request[A], then: Callable[[A | Exception], object]) -> None:
        """Sends a request; its answer goes to `then`, in the thread of the connection."""
        ...

    def begin(self, submit: Submit) -> Callable[[], WaitAnswer | None]:
        """Sends a submission; what it gives waits for all objects that it wants."""
        ...

    def say(self, said: Statement | WatchPrinted | CloseSession | Submit) -> None:
        """Sends a request without waiting for the answer. If a submission is refused, the next
        request of its session raises the refusal.
        """
        ...

    def has_left(self, submission: Submission) -> bool:
        """Whether an interrupted submission was sent nevertheless; returns True only once."""
        ...

    def stage(self, parts: Sequence[bytes | memoryview]) -> Staged | None:
        """Data that is to be uploaded, in a file; None if it is better kept in memory."""
        ...

    def complete(self, fetched: Fetched, into: Path | None = None) -> Fetched:
        """The fetched object with all of its bytes; with a path they go there: `data` is None."""
        ...

    def complete_all(self, fetched: Sequence[Fetched]) -> list[Fetched]:
        """Several fetched objects with all their bytes, in parallel if they come over a network."""
        ...

    def piece(self, fetched: Fetched, wanted: Range) -> Piece:
        """Reads a range of bytes of a fetched object, without the rest of it."""
        ...

    def give_up(self) -> None:
        """The server is lost for this reason: all waiting calls raise. From any thread."""
        ...

    def close(self) -> None: ...


class Asking:
    """Around a call of the connection: turns internal errors into the public exceptions. `explain`
    makes the exception of a failed session, which names the task that failed.
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
            public = self.public_error(error)
            if public is not None:
                raise public from public.__cause__

    def public_error(self, error: BaseException) -> RainException | None:
        """The public exception for an error of the connection; None for any other error."""
        if isinstance(error, SessionFailedError):
            return self.explain(error.failure)
        if isinstance(error, ConnectionLostError | StartError):
            return ConnectionException(str(error))
        if isinstance(error, ProtocolError):
            return ConnectionException(f"the server has sent an invalid message: {error}")
        if isinstance(error, RefusedError):
            return RainException(str(error))
        return None


def connect(
    addresses: Sequence[tuple[str, int]],
    keys: Keys = NO_KEYS,
    limits: ClientLimits = ClientLimits(),  # noqa: B008 # it is frozen
    *,
    why_lost: Callable[[], str] | None = None,
    watch: TransferWatch | None = None,
) -> Connection:
    """A connection to the first server, or to one of the others, which take over from it.

    `why_lost` may know why the server has ended; `watch` is called around large transfers.
    """
    # Cap'n Proto takes a while to load; programs that only build graphs do without.
    from rain.rpc.client_endpoint import ClientConnection  # noqa: PLC0415

    try:
        timeout = check_limit(limits.server_timeout or 0.0, "server_timeout")
    except ValueError as error:
        raise RainException(str(error)) from None
    (host, port), *standbys = addresses
    try:
        return ClientConnection(
            host,
            port,
            keys,
            limits=evolve(limits, server_timeout=timeout),
            why_lost=why_lost,
            standbys=standbys,
            watch=watch,
        )
    except (ConnectionLostError, StartError, RefusedError) as error:
        raise ConnectionException(str(error)) from None
