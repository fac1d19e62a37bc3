"""A client's connection to the server: plain blocking methods, for any thread.

The connection itself lives in the background thread. A call here waits for it and can be
interrupted; the interrupted call is cancelled on the server as well.
"""

import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

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
from rain.base.ids import ObjectId, SessionId, TaskId, session_of, spell
from rain.base.silence import SILENCE_LIMIT
from rain.base.wire import (
    CLIENT_VERSION,
    Fetched,
    GovernorReport,
    JoinedSession,
    ObjectReport,
    Submission,
    TaskReport,
    WaitAnswer,
)
from rain.rpc.background import Background, background
from rain.rpc.client_calls import connect_client
from rain.rpc.client_fetch import Downloads, InMemory, OnDisk
from rain.rpc.client_requests import Box, Put
from rain.rpc.client_session import ClientSession
from rain.rpc.client_submit import Upload, encode_submission
from rain.rpc.codec.requests import (
    Cancel,
    CloseSession,
    HandlesGone,
    OpenSession,
    Request,
    Unkeep,
    Wait,
    write_request,
)
from rain.rpc.codec.responses import Answer
from rain.stream.errors import NotHereError, UnreachableError
from rain.stream.reading import StreamReader

__all__ = [
    "ClientConnection",
    "ConnectionLostError",
    "ProtocolError",
    "RefusedError",
    "SessionFailedError",
    "StartError",
]

CONNECT_TIMEOUT = 10.0
FETCH_ATTEMPTS = 3
HANDLES_AT_ONCE = 10_000


async def _connect(
    thread: Background,
    host: str,
    port: int,
    version: int,
    timeout: float,
    secret: Secret | None,
    reader: StreamReader,
    silence_limit: float | None,
    why_lost: Callable[[], str] | None,
) -> ClientSession:
    calls = await connect_client(host, port, version, timeout, secret, why_lost)
    session = ClientSession(calls, reader, thread)
    calls.connection.beat(silence_limit)
    thread.adopt(session)
    return session


def _close_soon(thread: Background, session: ClientSession, downloads: Downloads) -> None:
    downloads.close()
    thread.soon(session.close)


class ClientConnection:
    """A registered client. It closes with its last reference.

    `StartError`: the server cannot be reached. `RefusedError`: a call cannot be granted.
    `SessionFailedError`: the session of a call has failed. `ConnectionLostError`: the server has
    gone or was silent for longer than the limit, or the connection was closed.
    """

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
        self._thread = background()
        self._downloads = Downloads(self.address, secret)
        self._calls = self._thread.run(
            _connect,
            self._thread,
            host,
            port,
            version,
            connect_timeout,
            secret,
            self._downloads.reader,
            silence_limit,
            why_lost,
        )
        self._numbers = count(1)
        self._left: set[SessionId] = set()  # submissions that left and were interrupted then
        # At exit the thread closes what is left itself.
        weakref.finalize(
            self, _close_soon, self._thread, self._calls, self._downloads
        ).atexit = False

    def open_session(
        self, name: str, user: str = "", on_failure: OnFailure = OnFailure.STOP
    ) -> SessionId:
        """Opens a session. One that nobody waits for any more is closed when it is there."""
        session = self._request(OpenSession(name, user, on_failure), self._close_unwanted)
        if not isinstance(session, int):
            raise ProtocolError("the server does not say which session it has opened")
        return session

    def join_session(self, session: SessionId, name: str, *, numbers: bool) -> JoinedSession:
        return self._thread.run(self._calls.join_session, session, name, numbers)

    def terminate(self) -> None:
        self._thread.run(self._calls.terminate)

    def close_session(self, session: SessionId) -> None:
        """Is not told when it is closed: whatever is asked next comes behind it."""
        number = next(self._numbers)
        self._calls.requests.tell(number, write_request(number, CloseSession(session)))

    def submit(self, submission: Submission) -> None:
        """Returns when the submission is accepted.

        An interruption does not stop what has left already (see `has_left`). If that is refused,
        the next call that concerns its session says so.
        """
        session = submission.session
        self._calls.raise_failure(session)
        number, box = next(self._numbers), Box()
        messages, uploads = encode_submission(number, submission)
        asked = False
        try:
            self._ask(number, messages, uploads, box.put)
            asked = True
            box.take()
        except RainError:
            raise
        except BaseException:  # an interruption
            if asked or self._calls.requests.is_open(number):
                self._left.add(session)
                box.leave_to(partial(self._calls.note_failure, session))
            raise

    def submit_soon(self, submission: Submission) -> None:
        """Sends a submission without waiting for its answer.

        If it is refused, the next call that concerns its session says so.
        """
        session, number = submission.session, next(self._numbers)
        messages, uploads = encode_submission(number, submission)
        self._ask_soon(session, number, messages, uploads)

    def submit_and_wait(
        self, submission: Submission, objects: Sequence[ObjectId]
    ) -> Callable[[], WaitAnswer]:
        """Sends a submission, and a wait for all of these objects with it; gives what waits.

        If the submission is refused, that is what the wait raises; when it was interrupted, the
        next call that concerns the session.
        """
        session, calls = submission.session, self._calls
        if calls.failed:
            calls.raise_failure(session)
        number, box = next(self._numbers), Box()
        submission.fails_alone = True
        messages, uploads = encode_submission(number, submission, objects)
        if uploads or not objects:
            # What is uploaded belongs to the session when the submission is answered.
            self._ask_soon(session, number, messages, uploads)
            return partial(self.wait, session, (), objects, "all")
        try:
            calls.requests.ask(number, messages, box.put)
        except BaseException:  # an interruption: it may be sent already
            if calls.requests.is_open(number):
                self._left.add(session)
            self._leave(session, number, box)
            raise
        return partial(self._take, session, number, box, None, None)

    def has_left(self, session: SessionId) -> bool:
        """Whether a submission that was interrupted is on its way all the same; told once."""
        left = session in self._left
        self._left.discard(session)
        return left

    def unkeep(self, objects: Sequence[ObjectId]) -> None:
        """Gives up objects of one session."""
        if not objects:
            return
        session = session_of(objects[0])
        self._calls.raise_failure(session)
        try:
            self._request(Unkeep(objects))
        finally:
            # If it was refused, it was most likely because of a submission that failed before.
            self._calls.raise_failure(session)

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

        Raises `TimeoutError` after so many seconds; the wait then ends on the server too.
        """
        self._calls.raise_failure(session)
        number, box = next(self._numbers), Box()
        message = write_request(number, Wait(session, tasks, objects, mode, since))
        ask = partial(self._calls.requests.ask, number, [message], box.put, may_lapse=True)
        return self._take(session, number, box, timeout, ask)

    def cancel(
        self,
        session: SessionId,
        tasks: Sequence[TaskId],
        objects: Sequence[ObjectId],
        *,
        whole: bool = False,
    ) -> None:
        """Nobody wants these any more, or nothing of the session. Is not told what came of it."""
        number = next(self._numbers)
        message = write_request(number, Cancel(session, tasks, objects, whole))
        self._calls.requests.tell(number, message, behind=True)

    def handles_gone(self, tasks: Sequence[TaskId], objects: Sequence[ObjectId]) -> None:
        """Nobody here has handles of these any more. Is not told what comes of it."""
        for start in range(0, max(len(tasks), len(objects)), HANDLES_AT_ONCE):
            end = start + HANDLES_AT_ONCE
            number = next(self._numbers)
            message = write_request(number, HandlesGone(tasks[start:end], objects[start:end]))
            self._calls.requests.tell(number, message, behind=True)

    def _request(self, request: Request, heir: Put | None = None) -> Answer:
        """Asks, and waits for the answer. When that is interrupted, the heir gets it."""
        number, box = next(self._numbers), Box()
        try:
            self._calls.requests.ask(number, [write_request(number, request)], box.put)
            return box.take()
        except RainError:
            raise
        except BaseException:  # an interruption
            if heir is not None:
                box.leave_to(heir)
            else:
                self._calls.requests.give_up(number)
            raise

    def _close_unwanted(self, session: Answer | Exception) -> None:
        """In the thread of the connection, or of whoever was interrupted."""
        if isinstance(session, int):
            with suppress(ConnectionLostError):
                self.close_session(SessionId(session))

    def _leave(self, session: SessionId, number: int, box: Box) -> None:
        """Nobody waits for what was submitted; that it was refused is not to be lost."""
        box.leave_to(partial(self._calls.note_refusal, session))
        self._calls.requests.give_up_waiting(number)

    def _take(
        self,
        session: SessionId,
        number: int,
        box: Box,
        timeout: float | None,
        ask: Callable[[], object] | None,
    ) -> WaitAnswer:
        """The answer to a wait, which `ask` sends if that has not left with a submission.

        An interruption may come between the two as well.
        """
        calls = self._calls
        try:
            if ask is not None:
                ask()
            answer = box.take(timeout)
        except (RefusedError, SessionFailedError):
            calls.raise_failure(session)  # most likely it was refused because of that
            raise
        except BaseException:
            # Either it is over, and this does nothing; or the wait timed out or was interrupted.
            if ask is None:
                self._leave(session, number, box)
            else:
                calls.requests.give_up(number)
            raise
        if calls.failed:
            calls.raise_failure(session)
        if not isinstance(answer, WaitAnswer):
            raise ProtocolError("the server does not say what has finished")
        return answer

    def fetch(self, object_id: ObjectId, into: Path | None = None) -> Fetched:
        """Waits until an object is finished, and gives it with all of its bytes.

        With a path they are written into a new file there, and `data` is None.
        """
        return self._with_bytes(self._thread.run(self._calls.fetch, object_id), into)

    def fetch_many(self, object_ids: Sequence[ObjectId]) -> list[Fetched]:
        """Several objects of one session, many small ones of them on their way at once."""
        found = self._thread.run(self._calls.fetch_many, object_ids)
        return [self._with_bytes(fetched, None) for fetched in found]

    def update(
        self, tasks: Sequence[TaskId], objects: Sequence[ObjectId]
    ) -> tuple[list[TaskReport], list[ObjectReport]]:
        return self._thread.run(self._calls.update, tasks, objects)

    def logs(self, task: TaskId) -> str:
        """What a task has printed when it ran last."""
        return self._thread.run(self._calls.logs, task)

    def server_info(self) -> list[GovernorReport]:
        return self._thread.run(self._calls.server_info)

    def give_up(self) -> None:
        """The server is lost, whatever the connection says."""
        self._thread.soon(self._calls.give_up)

    def close(self) -> None:
        """Closes the connection, and with it its sessions; twice is once."""
        self._downloads.close()
        self._calls.announce_close()
        self._thread.soon(self._calls.close)

    @property
    def bytes_received(self) -> int:
        """Bytes of large objects that have come through sockets until now."""
        return self._downloads.reader.received

    @property
    def unanswered(self) -> int:
        """How many requests may still be answered."""
        return self._calls.requests.open_count

    def _with_bytes(self, fetched: Fetched, into: Path | None) -> Fetched:
        """The bytes of a finished object, from whoever has them by now."""
        object_id = fetched.report.id
        trouble = ""
        for attempt in range(FETCH_ATTEMPTS):
            if attempt:  # it may have to be made again first
                fetched = self._thread.run(self._calls.fetch, object_id)
            if fetched.data is not None:
                if into is None:
                    return fetched
                into.write_bytes(fetched.data)
                return Fetched(fetched.report)
            taker = InMemory() if into is None else OnDisk(into)
            try:
                self._downloads.read(fetched.holder, object_id, taker)
            except (NotHereError, UnreachableError) as error:
                trouble = str(error)
            else:
                return Fetched(fetched.report, taker.data if isinstance(taker, InMemory) else None)
        raise RefusedError(f"{spell(object_id)} cannot be fetched: {trouble}")

    def _ask_soon(
        self, session: SessionId, number: int, messages: list[bytes], uploads: list[Upload]
    ) -> None:
        try:
            self._ask(number, messages, uploads, partial(self._calls.note_failure, session))
        except BaseException:  # an interruption, or it cannot be sent
            if self._calls.requests.is_open(number):
                self._left.add(session)
            raise

    def _ask(self, number: int, messages: list[bytes], uploads: list[Upload], put: Put) -> None:
        if uploads:
            self._calls.upload_and_ask(number, messages, uploads, put)
        else:
            self._calls.requests.ask(number, messages, put)
