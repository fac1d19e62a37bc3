"""A client's connection to the server: plain blocking methods, for any thread.

A call leaves in the thread that makes it, and waits there. It can be interrupted; a wait that was
interrupted is given up on the server as well.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from rain.base.address import spell_address
from rain.base.admission import Secret
from rain.base.errors import (
    ConnectionLostError,
    ProtocolError,
    RainError,
    RefusedError,
    SessionFailedError,
    StartError,
)
from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, SessionId, TaskId, session_of
from rain.base.requests import (
    Cancel,
    CancelUnstarted,
    CloseSession,
    Fetch,
    HandlesGone,
    JoinSession,
    OpenSession,
    ReportsOf,
    ServerInfo,
    TakeHandles,
    Unkeep,
    WaitFor,
)
from rain.base.silence import SILENCE_LIMIT
from rain.base.wire import (
    CLIENT_VERSION,
    OWN_GRACE,
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
from rain.rpc.client_calls import Asked, ClientCalls
from rain.rpc.client_fetch import Downloads
from rain.rpc.client_registration import connect_client
from rain.rpc.client_submit import Sending, Upload
from rain.rpc.codec.client_methods import (
    CANCEL,
    CANCEL_UNSTARTED,
    CLOSE_SESSION,
    DASHBOARD,
    FETCH,
    HANDLES_GONE,
    JOIN_SESSION,
    OPEN_SESSION,
    OVERVIEW,
    PRINTED,
    REPORTS,
    SERVER_INFO,
    TAKE_HANDLES,
    TERMINATE,
    UNKEEP,
    WAIT,
    WATCH,
    A,
    ClientMethod,
    Q,
)
from rain.rpc.codec.responses import read_wait_answer
from rain.rpc.interface import Fields

__all__ = [
    "ClientConnection",
    "ConnectionLostError",
    "ProtocolError",
    "RefusedError",
    "SessionFailedError",
    "StartError",
]

CONNECT_TIMEOUT = 10.0
FETCHES_IN_FLIGHT = 64
REPORTS_AT_ONCE = 10_000
HANDLES_AT_ONCE = 10_000


def _close(calls: ClientCalls, downloads: Downloads) -> None:
    downloads.close()
    calls.close()


class ClientConnection:
    """A registered client. It closes with its last reference.

    `StartError`: the server cannot be reached. `RefusedError`: a call cannot be granted.
    `SessionFailedError`: the session of a call has failed. `ConnectionLostError`: the server has
    gone or was silent for longer than the limit, or the connection was closed.
    """

    here = None  # the cluster is elsewhere

    def __init__(
        self,
        host: str,
        port: int,
        connect_timeout: float = CONNECT_TIMEOUT,
        version: int = CLIENT_VERSION,
        secret: Secret | None = None,
        silence_limit: float | None = SILENCE_LIMIT,
        why_lost: Callable[[], str] | None = None,
    ) -> None:
        self.address = spell_address(host, port)
        self._calls, registered = connect_client(
            host, port, version, connect_timeout, secret, silence_limit, why_lost
        )
        self.cluster = registered.cluster  # which start of which server this is
        self._downloads = Downloads(self.address, secret)
        self._sending = Sending(self._calls, self._downloads.reader, registered.key)
        self._left: set[SessionId] = set()  # submissions that left and were interrupted then
        # At exit all callers are closed by themselves.
        weakref.finalize(self, _close, self._calls, self._downloads).atexit = False

    # Sessions.

    def open_session(
        self,
        name: str,
        user: str = "",
        on_failure: OnFailure = OnFailure.STOP,
        parent: TaskId | None = None,
    ) -> SessionId:
        """Opens a session. One that nobody waits for any more is closed when it is there."""
        asked = self._prepare(OPEN_SESSION, OpenSession(name, user, on_failure, parent))
        try:
            self._calls.make(asked)
            return asked.take()
        except RainError:
            raise
        except BaseException:  # an interruption
            asked.leave_to(self._close_unwanted)
            raise

    def join_session(self, session: SessionId, name: str, *, numbers: bool) -> JoinedSession:
        return self._ask(JOIN_SESSION, JoinSession(session, name, numbers))

    def close_session(self, session: SessionId) -> None:
        """Is not told when it is closed: whatever is asked next comes behind it."""
        self._tell(CLOSE_SESSION, CloseSession(session))

    def _close_unwanted(self, session: SessionId | Exception) -> None:
        """In the thread of the connection, or of who was interrupted."""
        if isinstance(session, int):
            with suppress(ConnectionLostError):
                self._tell(CLOSE_SESSION, CloseSession(session), in_order=False)

    # Submissions.

    def submit(self, submission: Submission) -> None:
        """Returns when the submission is accepted.

        An interruption does not stop what has left already (see `has_left`). If that is refused,
        the next call that concerns its session says so.
        """
        session = submission.session
        self._calls.raise_failure(session)
        asked, uploads = self._sending.prepare(submission, (), _nothing)
        try:
            self._sending.make(asked, uploads)
            asked.take()
        except RainError:
            raise
        except BaseException:  # an interruption
            self._note_left(session, asked)
            raise

    def submit_soon(self, submission: Submission) -> None:
        """Sends a submission without waiting for its answer.

        If it is refused, the next call that concerns its session says so.
        """
        session = submission.session
        asked, uploads = self._sending.prepare(submission, (), _nothing)
        self._make_soon(session, asked, uploads)

    def submit_then(
        self,
        submission: Submission,
        objects: Sequence[ObjectId],
        then: Callable[[WaitAnswer | Exception], object],
    ) -> None:
        """Sends a submission; its answer goes to `then`, in the thread of the connection.

        With objects it is answered when these are finished, unless something must be uploaded: then
        the answer is empty, and comes as soon as the submission is accepted. Raises what keeps it
        from being sent.
        """
        asked, uploads = self._sending.prepare(submission, objects, read_wait_answer)
        asked.leave_to(then)
        self._sending.make(asked, uploads)

    def submit_and_wait(
        self, submission: Submission, objects: Sequence[ObjectId]
    ) -> Callable[[], WaitAnswer]:
        """Sends a submission, and a wait for all of these objects with it; gives what waits.

        If the submission is refused, that is what the wait raises; when it was interrupted, the
        next call that concerns the session.
        """
        session = submission.session
        self._calls.raise_failure(session)
        submission.fails_alone = True
        asked, uploads = self._sending.prepare(submission, objects, read_wait_answer)
        if uploads or not objects:
            # What is uploaded belongs to the session when the submission is answered.
            self._make_soon(session, asked, uploads)
            return partial(self.wait, session, (), objects, "all")
        try:
            self._sending.make(asked, ())
        except BaseException:  # an interruption: it may be sent already
            self._note_left(session, asked)
            self._leave(session, asked)
            raise
        return partial(self._take_computed, session, asked)

    def has_left(self, session: SessionId) -> bool:
        """Whether a submission that was interrupted is on its way all the same; told once."""
        left = session in self._left
        self._left.discard(session)
        return left

    def _make_soon(self, session: SessionId, asked: Asked[Any], uploads: Sequence[Upload]) -> None:
        """Sends a submission whose answer nobody waits for."""
        asked.leave_to(partial(self._calls.note_failure, session))
        try:
            self._sending.make(asked, uploads)
        except BaseException:  # an interruption, or it cannot be sent
            self._note_left(session, asked)
            raise

    def _note_left(self, session: SessionId, asked: Asked[Any]) -> None:
        """A submission was interrupted: if it has left, its refusal is not to be lost."""
        if self._calls.has_left(asked):
            self._left.add(session)
            asked.leave_to(partial(self._calls.note_failure, session))

    def _leave(self, session: SessionId, asked: Asked[WaitAnswer]) -> None:
        """Nobody waits for what was submitted; that it was refused is not to be lost."""
        asked.leave_to(partial(self._calls.note_refusal, session))
        self._calls.give_up(asked)

    def _take_computed(self, session: SessionId, asked: Asked[WaitAnswer]) -> WaitAnswer:
        try:
            answer = asked.take()
        except (RefusedError, SessionFailedError):
            self._calls.raise_failure(session)  # most likely it was refused because of that
            raise
        except BaseException:
            self._leave(session, asked)
            raise
        self._calls.raise_failure(session)
        return answer

    def unkeep(self, objects: Sequence[ObjectId]) -> None:
        """Gives up objects of one session."""
        if objects:
            self._ask_of(session_of(objects[0]), UNKEEP, Unkeep(tuple(objects)))

    # Waiting.

    def wait(
        self,
        session: SessionId,
        tasks: Sequence[TaskId],
        objects: Sequence[ObjectId],
        mode: str,
        timeout: float | None = None,
        since: int = 0,
    ) -> WaitAnswer:
        """Waits for "all" or "some" of these, for the whole "session", or for "news" of it.

        News are the tasks that are done, without the first `since` of them, and what
        they have made; with "glance" they are told at once, even if there are none.

        Raises `TimeoutError` after the timeout; the wait then ends on the server too.
        """
        asked = WaitFor(session, tuple(tasks), tuple(objects), mode, since)
        return self._ask_of(session, WAIT, asked, timeout)

    def follow(
        self, session: SessionId, since: int, then: Callable[[WaitAnswer | Exception], object]
    ) -> None:
        """Waits for "news" of a session; they go to `then`, in the thread of the connection."""
        self._leave_answer(WAIT, WaitFor(session, (), (), "news", since), then)

    def ask_why(
        self,
        session: SessionId,
        object_id: ObjectId,
        then: Callable[[WaitAnswer | Exception], object],
    ) -> None:
        """Asks why an object will not be made; `SessionFailedError` goes to `then`, as above."""
        self._leave_answer(WAIT, WaitFor(session, (), (object_id,), "all"), then)

    def _leave_answer(
        self, method: ClientMethod[Q, A], request: Q, then: Callable[[A | Exception], object]
    ) -> None:
        asked = self._prepare(method, request)
        asked.leave_to(then)
        self._calls.make_now(asked)  # the thread of the connection must not wait

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
    ) -> None:
        """Nobody wants these any more, or nothing of the session. Is not told what came of it.

        Unless it is for `always`, nothing ends while another call waits for something of it.
        """
        cancel = Cancel(
            session,
            tuple(tasks),
            tuple(objects),
            whole,
            always,
            recursive,
            OWN_GRACE if grace is None else grace,
        )
        self._tell(CANCEL, cancel)

    def cancel_unstarted(
        self, session: SessionId, objects: Sequence[ObjectId]
    ) -> Sequence[ObjectId]:
        """The same of what does not run yet; gives what will not be made."""
        return self._ask(CANCEL_UNSTARTED, CancelUnstarted(session, tuple(objects)))

    def handles_gone(self, tasks: Sequence[TaskId], objects: Sequence[ObjectId]) -> None:
        """There is one handle less of each of these. Is not told what comes of it."""
        for start in range(0, max(len(tasks), len(objects)), HANDLES_AT_ONCE):
            end = start + HANDLES_AT_ONCE
            gone = HandlesGone(tuple(tasks[start:end]), tuple(objects[start:end]))
            self._tell(HANDLES_GONE, gone)

    def take_handles(
        self, objects: Sequence[ObjectId], *, wants_data: bool = False
    ) -> Sequence[ObjectReport]:
        """There is one handle more of each of these, of one session; with `wants_data` they are
        kept for this client, too."""
        asked = TakeHandles(tuple(objects), wants_data)
        return self._ask_of(session_of(objects[0]), TAKE_HANDLES, asked)

    def take_handles_then(
        self,
        objects: Sequence[ObjectId],
        then: Callable[[Sequence[ObjectReport] | Exception], object],
    ) -> None:
        """The same of objects of any sessions, whose data is wanted; the reports go to `then`, in
        the thread of the connection, or why not all of them can be had."""
        self._leave_answer(TAKE_HANDLES, TakeHandles(tuple(objects), wants_data=True), then)

    # Results.

    def fetch(self, object_id: ObjectId, into: Path | None = None) -> Fetched:
        """Waits until an object is finished, and gives it with all of its bytes.

        With a path they are written into a new file there, and `data` is None.
        """
        return self._downloads.complete(self._fetch(object_id), into, self._fetch)

    def fetch_many(self, object_ids: Sequence[ObjectId]) -> list[Fetched]:
        """Several objects of one session, many small ones of them on their way at once."""
        if not object_ids:
            return []
        session = session_of(object_ids[0])
        self._calls.raise_failure(session)
        found: list[Fetched] = []
        in_flight: deque[Asked[Fetched]] = deque()
        left = deque(object_ids)
        try:
            while left or in_flight:
                while left and len(in_flight) < FETCHES_IN_FLIGHT:
                    in_flight.append(self._prepare(FETCH, Fetch(left.popleft())))
                    self._calls.make(in_flight[-1])
                found.append(in_flight[0].take())
                in_flight.popleft()
        finally:
            for asked in in_flight:
                self._calls.give_up(asked)
            # If a call was refused, it was most likely because of a submission that has failed.
            self._calls.raise_failure(session)
        return [self._downloads.complete(fetched, None, self._fetch) for fetched in found]

    def update(
        self, tasks: Sequence[TaskId], objects: Sequence[ObjectId]
    ) -> tuple[list[TaskReport], list[ObjectReport]]:
        """Reports of tasks and objects; in several messages when there are many."""
        task_reports: list[TaskReport] = []
        object_reports: list[ObjectReport] = []
        for start in range(0, max(len(tasks), len(objects), 1), REPORTS_AT_ONCE):
            end = start + REPORTS_AT_ONCE
            asked = ReportsOf(tuple(tasks[start:end]), tuple(objects[start:end]))
            of_tasks, of_objects = self._ask(REPORTS, asked)
            task_reports += of_tasks
            object_reports += of_objects
        return task_reports, object_reports

    def logs(self, task: TaskId) -> str:
        """What a task has printed when it ran last."""
        (report,), _ = self._ask(REPORTS, ReportsOf((task,), (), logs=True))
        return report.logs

    def watch(self, watch: Watch | None) -> None:
        """From now on the server gathers what these tasks print; None: of no task any more."""
        self._tell(WATCH, watch)

    def printed(self, *, wait: bool) -> Sequence[PrintedLines]:
        """What was gathered and not told yet; waits for something if that is said."""
        return self._ask(PRINTED, wait)

    # The server.

    def server_info(self) -> Sequence[GovernorReport]:
        return self._ask(SERVER_INFO, ServerInfo())

    def overview(self, session: SessionId | None = None) -> Overview:
        """What is there and done in numbers, of all sessions unless one is named."""
        return self._ask(OVERVIEW, SessionId(0) if session is None else session)

    def dashboard(self) -> str:
        """Where the server serves its dashboard, which may begin with this; "host:port"."""
        return self._ask(DASHBOARD, None)

    def terminate(self) -> None:
        self._ask(TERMINATE, None)

    def give_up(self) -> None:
        """The server is lost, whatever the connection says."""
        self._calls.end()

    def close(self) -> None:
        """Closes the connection, and with it its sessions; twice is once."""
        _close(self._calls, self._downloads)

    @property
    def bytes_received(self) -> int:
        """Bytes of large objects that have come through sockets until now."""
        return self._downloads.reader.received

    @property
    def unanswered(self) -> int:
        """How many calls may still be answered."""
        return self._calls.unanswered

    def _prepare(self, method: ClientMethod[Q, A], request: Q) -> Asked[A]:
        """A call that was not made yet."""
        return self._calls.prepare(method.name, [method.params.write(request)], method.results.read)

    def _ask(self, method: ClientMethod[Q, A], request: Q) -> A:
        return self._calls.make_and_take(self._prepare(method, request))

    def _ask_of(
        self,
        session: SessionId,
        method: ClientMethod[Q, A],
        request: Q,
        timeout: float | None = None,
    ) -> A:
        """A call that concerns a session: a submission that failed before is told instead."""
        self._calls.raise_failure(session)
        asked = self._prepare(method, request)
        try:
            answer = self._calls.make_and_take(asked, timeout)
        except (RefusedError, SessionFailedError):
            self._calls.raise_failure(session)  # most likely it was refused because of that
            raise
        self._calls.raise_failure(session)
        return answer

    def _tell(self, method: ClientMethod[Q, None], said: Q, *, in_order: bool = True) -> None:
        """A call whose answer nobody wants."""
        self._calls.tell(method.name, method.params.write(said), in_order=in_order)

    def _fetch(self, object_id: ObjectId) -> Fetched:
        """The report and the bytes, or who has them."""
        return self._ask_of(session_of(object_id), FETCH, Fetch(object_id))


def _nothing(_: Fields) -> None:
    """What is only done has no answer."""
