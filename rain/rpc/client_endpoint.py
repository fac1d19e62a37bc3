"""The client's side of its connection to the server; any thread may use it.

A call is sent by the thread that makes it, which then waits. If the wait is interrupted, the server
is asked to give the call up, too.
"""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rain.base.errors import (
    NO_WAIT_IN_HANDLER,
    ConnectionLostError,
    RainError,
    RefusedError,
    SessionFailedError,
)
from rain.base.ids import SessionId
from rain.base.leading import Servers
from rain.base.silence import ClientLimits
from rain.base.wire.answers import Fetched, WaitAnswer
from rain.base.wire.requests import (
    CloseSession,
    Fetch,
    OpenSession,
    Request,
    Statement,
    Submit,
    WaitFor,
    WatchPrinted,
)
from rain.base.wire.submission import Submission
from rain.rpc.client_calls import ClientCalls, PendingCall
from rain.rpc.client_fetch import Downloads
from rain.rpc.client_registration import Way, connect_client
from rain.rpc.client_submit import SubmissionCalls
from rain.rpc.codec.client_methods import A, method_of
from rain.stream.staged import Staged, stage
from rain.tls.keys import NO_KEYS, Keys

if TYPE_CHECKING:
    from rain.stream.ranges import Piece, Range
    from rain.stream.watching import TransferWatch

IN_FLIGHT = 64


def _close(calls: ClientCalls, downloads: Downloads) -> None:
    downloads.close()
    calls.close()


class ClientConnection:
    """A registered client. It closes with its last reference.

    If a server with a journal dies, the client tries to reconnect for as long as the limits say.
    Waiting calls go on waiting, and nothing is executed twice.

    `StartError`: the server cannot be reached. `RefusedError`: a request is not granted.
    `SessionFailedError`: the session of a request has failed. `ConnectionLostError`: the server has
    gone or was silent for longer than the limit, or the connection was closed.
    """

    here = None  # the cluster is elsewhere

    def __init__(
        self,
        host: str,
        port: int,
        keys: Keys = NO_KEYS,
        *,
        limits: ClientLimits = ClientLimits(),  # noqa: B008 # it is frozen
        why_lost: Callable[[], str] | None = None,
        standbys: Sequence[tuple[str, int]] = (),
        watch: TransferWatch | None = None,
    ) -> None:
        self.servers = Servers([(host, port), *standbys])
        way = Way(self.servers, keys, limits)
        # The cluster: which start of which server this is.
        self._calls, self.cluster, self.returns = connect_client(way, why_lost)
        self._downloads = Downloads(self.servers, keys, watch)
        self._submissions = SubmissionCalls(self._calls, self._downloads.reader, watch)
        self._latest: dict[SessionId, tuple[Submission, PendingCall[Any]]] = {}  # see `has_left`
        # At exit all callers are closed by themselves.
        weakref.finalize(self, _close, self._calls, self._downloads).atexit = False

    @property
    def address(self) -> str:
        """Of the server that leads, as far as is known."""
        return self.servers.where

    # Requests.

    def ask(self, request: Request[A], timeout: float | None = None) -> A:
        """The answer to a request, when it has come.

        Raises `TimeoutError` after the timeout. A request that timed out or was interrupted is
        given up, unless it is a submission that has left already (see `has_left`), and a session
        that was opened is closed when it is there.
        """
        due = None if timeout is None else time.monotonic() + timeout
        self._begin(request.concerns)
        return self._answer(request, self._prepare(request), due, is_made=False)

    def ask_all(self, requests: Sequence[Request[A]]) -> list[A]:
        """The answers to requests that concern one session, many of them on their way at once."""
        if not requests:
            return []
        session = requests[0].concerns
        self._begin(session)
        answers: list[A] = []
        in_flight: deque[PendingCall[A]] = deque()
        left = deque(requests)
        try:
            while left or in_flight:
                while left and len(in_flight) < IN_FLIGHT:
                    in_flight.append(self._prepare(left.popleft()))
                    self._calls.make(in_flight[-1])
                answers.append(in_flight[0].take())
                in_flight.popleft()
        finally:
            for asked in in_flight:
                self._calls.give_up(asked)
            # If a request was refused, it was most likely because of a submission that has failed.
            self._calls.raise_failure(session)
        return answers

    def ask_then(self, request: Request[A], then: Callable[[A | Exception], object]) -> None:
        """Sends a request; its answer goes to `then`, in the thread of the connection.

        Raises what keeps it from being sent. Whatever is no submission may be asked in the thread
        of the connection, too.
        """
        asked = self._prepare(request)
        asked.leave_to(then)
        if isinstance(request, Submit):
            self._calls.make(asked)
        else:
            self._calls.make_now(asked)

    def begin(self, submit: Submit) -> Callable[[], WaitAnswer | None]:
        """Sends a submission, and a wait for all that it wants with it; gives what waits.

        If the submission is refused, that is what the wait raises; when it was interrupted, the
        next request that concerns the session.
        """
        session = submit.concerns
        self._begin(session)
        asked = self._prepare(submit)
        if asked.upload is not None or not submit.wanted:
            # Uploaded data belongs to the session once the submission is answered.
            self._send(submit, asked)
            return partial(self.ask, WaitFor(session, (), submit.wanted, "all"))
        try:
            self._calls.make(asked)
        except BaseException:  # an interruption: it may be sent already
            self._leave(submit, asked)
            raise
        return partial(self._answer, submit, asked)

    def say(self, said: Statement | WatchPrinted | CloseSession | Submit) -> None:
        """Sends what no thread waits for; whatever is asked next comes behind it.

        If a submission is refused, the next request that concerns its session says so.
        """
        if isinstance(said, Submit):
            self._send(said, self._prepare(said))
        else:
            self._tell(said)

    def has_left(self, submission: Submission) -> bool:
        """Whether this submission was sent before an interruption; returns True only once."""
        known = self._latest.pop(submission.session, None)
        return known is not None and known[0] is submission and self._calls.has_left(known[1])

    # Bytes.

    def stage(self, parts: Sequence[bytes | memoryview]) -> Staged | None:
        """Writes data that is to be uploaded into a file: of the server, if it is on this machine.

        None if there can be none.
        """
        return stage(self._calls.upload_folder, parts)

    def complete(self, fetched: Fetched, into: Path | None = None) -> Fetched:
        """The fetched object with all of its bytes, read from where they are.

        With a path they are written into a new file there, and `data` is None.
        """
        return self._downloads.complete(fetched, into, lambda one: self.ask(Fetch(one)))

    def complete_all(self, fetched: Sequence[Fetched]) -> list[Fetched]:
        """Several fetched objects with all of their bytes, read side by side."""
        return self._downloads.complete_all(fetched, lambda one: self.ask(Fetch(one)))

    def piece(self, fetched: Fetched, wanted: Range) -> Piece:
        """Some bytes of what was fetched, and nothing else of it."""
        return self._downloads.piece(fetched, wanted, lambda one: self.ask(Fetch(one)))

    @property
    def bytes_received(self) -> int:
        """Bytes of large objects that have come through sockets until now."""
        return self._downloads.reader.received

    # The end.

    def give_up(self) -> None:
        """The server is lost, whatever the connection says."""
        self._calls.end()

    def close(self) -> None:
        """Closes the connection, and with it its sessions. A second call does nothing."""
        _close(self._calls, self._downloads)

    def at_each_beat(self, call: Callable[[], object]) -> None:
        """Calls this every second, in the thread of the connection, where it must not wait."""
        self._calls.on_beat = call

    @property
    def is_waited_for(self) -> bool:
        """Whether the server has not answered everything yet."""
        return self._calls.unanswered > 0

    # One request.

    @property
    def is_interrupted_here(self) -> bool:
        """Whether this is a signal handler that came while its own thread was sending."""
        return self._calls.is_interrupted_here

    def _begin(self, session: SessionId | None) -> None:
        """A thread will wait for the next answer, which concerns this session."""
        if self._calls.is_interrupted_here:
            raise RefusedError(NO_WAIT_IN_HANDLER)
        self._calls.raise_failure(session)

    def _prepare(self, request: Request[A]) -> PendingCall[A]:
        """A call that was not made yet."""
        if isinstance(request, Submit):
            asked = self._submissions.prepare(request)
            self._latest[request.concerns] = request.submission, asked  # before it can leave
            return cast("PendingCall[A]", asked)
        method = method_of(request)
        return self._calls.prepare(
            method.name, [method.params.write(request)], method.reader(request)
        )

    def _answer(
        self,
        request: Request[A],
        asked: PendingCall[A],
        due: float | None = None,
        *,
        is_made: bool = True,
    ) -> A:
        """The answer to a call, which may have to be made first."""
        session = request.concerns
        try:
            if not is_made:
                self._calls.make(asked, due)
            answer = asked.take(None if due is None else due - time.monotonic())
        except RainError as error:
            if isinstance(request, Submit):
                self._latest.pop(request.concerns, None)  # it is known what became of it
            if isinstance(error, RefusedError | SessionFailedError):
                self._calls.raise_failure(session)  # most likely it was refused because of that
            raise
        except BaseException:  # an interruption, or the time is over
            self._leave(request, asked)
            raise
        if not isinstance(request, Submit) or request.wanted:  # else it was accepted all the same
            self._calls.raise_failure(session)
        return answer

    def _send(self, submit: Submit, asked: PendingCall[WaitAnswer | None]) -> None:
        """Makes the call of a submission whose answer is not waited for."""
        asked.leave_to(partial(self._calls.note_failure, submit.concerns))
        self._calls.make(asked)

    def _leave(self, request: Request[Any], asked: PendingCall[Any]) -> None:
        """No thread waits for this answer any more."""
        match request:
            case OpenSession():
                asked.leave_to(self._close_unwanted)
            case Submit(wanted=()):  # that it was refused is not to be lost
                asked.leave_to(partial(self._calls.note_failure, request.concerns))
            case Submit():
                asked.leave_to(partial(self._calls.note_refusal, request.concerns))
                self._calls.give_up(asked)
            case _:
                self._calls.give_up(asked)

    def _close_unwanted(self, session: object) -> None:
        """In the thread of the connection, or in the one that was interrupted."""
        if isinstance(session, int):
            with suppress(ConnectionLostError):
                self._tell(CloseSession(SessionId(session)), in_order=False)

    def _tell(
        self, said: Statement | WatchPrinted | CloseSession, *, in_order: bool = True
    ) -> None:
        """A call whose answer is not wanted."""
        method = method_of(said)
        self._calls.tell(method.name, method.params.write(said), in_order=in_order)
