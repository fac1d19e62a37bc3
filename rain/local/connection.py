"""The connection of a client to the cluster of its own process: plain calls.

What a client asks goes to the handlers of the real server. Who has to wait runs calls meanwhile
(see `cluster`).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from attrs import evolve

from rain.base.errors import ConnectionLostError, ProtocolError, RainError, RefusedError
from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, SessionId, TaskId, session_of, spell
from rain.base.requests import (
    Cancel,
    CancelUnstarted,
    CloseSession,
    Fetch,
    HandlesGone,
    JoinSession,
    OpenSession,
    ReportsOf,
    Request,
    ServerInfo,
    Submit,
    TakeHandles,
    Unkeep,
    WaitFor,
)
from rain.base.wire import (
    INLINE_LIMIT,
    OWN_GRACE,
    ConstantColumns,
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
from rain.common.running import waiting_for_tasks
from rain.local.replies import Answer, ForSubmission, Later
from rain.local.server import Server
from rain.rpc.codec import through_the_wire
from rain.rpc.codec.split import split_submission
from rain.rpc.handlers import ClientHandler, Reply
from rain.rpc.pending import PendingSubmission
from rain.stream.archive import Archive
from rain.stream.copying import copy_bytes
from rain.stream.holder import Held, InFile, InFolder, InMemory
from rain.stream.mapping import map_descriptor

A = TypeVar("A")

Then = Callable[[WaitAnswer | Exception], object]


class Cluster(Protocol):
    """The cluster that it leads to."""

    server: Server
    name: bytes  # unlike that of any other

    def held(self) -> AbstractContextManager[None]: ...
    def settle(self) -> None: ...
    def tell_later(self, tell: Callable[[], object]) -> None: ...
    def tell_answers(self) -> None: ...
    def check_own_call(self) -> None: ...
    def find_anywhere(self, object_id: ObjectId) -> Held | None: ...
    def work_until(
        self,
        is_done: Callable[[], bool],
        timeout: float | None = None,
        more: Callable[[], bool] | None = None,
    ) -> None: ...
    def work_once(self) -> None: ...
    def work_for(self, is_done: Callable[[], bool], more: Callable[[], bool]) -> None: ...
    def ring(self) -> None: ...


class _End:
    """How the server ends a client: it does not, since both end together."""

    def close(self, reason: str) -> None:
        del reason


class LocalConnection:
    """Implements `rain.client.connection.Connection`. Made while the cluster is held."""

    def __init__(self, cluster: Cluster) -> None:
        self.here = cluster  # who waits runs calls
        self.cluster = cluster.name
        self._cluster = cluster
        self._handler: ClientHandler = cluster.server.join_client(_End())
        self._uploads = cluster.server.uploads.join()
        self._failed: dict[SessionId, Exception] = {}  # of submissions whose answer nobody took
        self._left: set[SessionId] = set()  # submissions that left and were interrupted then
        self._is_closed = False

    # Asking.

    def _ask(self, request: Request[A]) -> A:
        """What the server answers without waiting for any call."""
        answer: Answer[A] = Answer()
        self._tell_now(partial(self._handler.ask, request, answer))
        return answer.take()

    def _ask_of(self, session: SessionId, request: Request[A]) -> A:
        """The same of what concerns a session: a submission that failed before is told instead."""
        self._raise_failure(session)
        try:
            return self._ask(request)
        finally:
            self._raise_failure(session)

    def _wait(self, session: SessionId, request: Request[A], timeout: float | None = None) -> A:
        """An answer that may need calls to run first."""
        self._raise_failure(session)
        answer: Answer[A] = Answer()
        self._tell(partial(self._handler.ask, request, answer))
        return self._take(session, answer, timeout)

    def _take(self, session: SessionId, answer: Answer[A], timeout: float | None = None) -> A:
        try:
            self._cluster.work_until(lambda: answer.is_there, timeout)
        finally:
            if not answer.is_there:
                self._give_up(answer)
        if not answer.is_there:
            raise TimeoutError
        self._raise_failure(session)
        return answer.take()

    def _give_up(self, answer: Answer[Any]) -> None:
        """Nobody waits for it any more."""
        with self._cluster.held():
            self._handler.abandoned(answer)

    def _tell(self, tell: Callable[[], object]) -> None:
        """Something that is not answered here; it belongs to the next turn."""
        with self._cluster.held():
            self._check_open()
            tell()

    def _tell_now(self, tell: Callable[[], object]) -> None:
        """The same, and its turn is now."""
        with self._cluster.held():
            self._check_open()
            tell()
            self._cluster.settle()
        self._cluster.tell_answers()

    def _ask_later(self, request: Request[WaitAnswer], then: Then) -> None:
        """The answer goes to a function."""
        self._tell(partial(self._handler.ask, request, self._later(then)))

    def _later(self, then: Callable[[Any], object]) -> Later[Any]:
        """The answer goes to a function."""

        def tell(answer: object) -> None:
            self._cluster.tell_later(partial(then, answer))

        return Later(tell)

    def _check_open(self) -> None:
        if self._is_closed:
            raise ConnectionLostError("the connection to the local cluster was closed")

    def _raise_failure(self, session: SessionId) -> None:
        """Tells, once, that a submission of this session has failed."""
        if self._failed:
            failure = self._failed.pop(session, None)
            if failure is not None:
                raise failure

    def _note_failure(self, session: SessionId, answer: object) -> None:
        if isinstance(answer, Exception):
            self._failed.setdefault(session, answer)

    # Sessions.

    def open_session(
        self,
        name: str,
        user: str = "",
        on_failure: OnFailure = OnFailure.STOP,
        parent: TaskId | None = None,
    ) -> SessionId:
        return self._ask(OpenSession(name, user, on_failure, parent))

    def join_session(self, session: SessionId, name: str, *, numbers: bool) -> JoinedSession:
        return self._ask(JoinSession(session, name, numbers))

    def close_session(self, session: SessionId) -> None:
        reply: Later[None] = self._later(_nothing)
        self._tell_now(partial(self._handler.ask, CloseSession(session), reply))

    # Submissions.

    def submit(self, submission: Submission) -> None:
        session = submission.session
        try:
            self._raise_failure(session)
            answer: Answer[WaitAnswer] = Answer()
            self._tell_now(partial(self._submit, submission, (), answer))
            self._raise_failure(session)
            answer.take()
        except RainError:
            raise
        except BaseException:  # an interruption, which comes when it was taken
            self._left.add(session)
            raise

    def submit_soon(self, submission: Submission) -> None:
        session = submission.session
        reply = self._later(partial(self._note_failure, session))
        try:
            self._tell(partial(self._submit, submission, (), reply))
        except RainError:
            raise
        except BaseException:  # as above
            self._left.add(session)
            raise

    def submit_then(self, submission: Submission, objects: Sequence[ObjectId], then: Then) -> None:
        self._tell(partial(self._submit, submission, objects, self._later(then)))

    def submit_and_wait(
        self, submission: Submission, objects: Sequence[ObjectId]
    ) -> Callable[[], WaitAnswer]:
        session = submission.session
        self._raise_failure(session)
        submission.fails_alone = True
        if not objects or _large(submission.constants):
            self.submit_soon(submission)
            return partial(self.wait, session, (), objects, "all")
        answer: Answer[WaitAnswer] = Answer()
        try:
            self._tell(partial(self._submit, submission, objects, answer))
        except RainError:
            raise
        except BaseException:  # as above
            self._left.add(session)
            raise
        return partial(self._take, session, answer)

    def has_left(self, session: SessionId) -> bool:
        left = session in self._left
        self._left.discard(session)
        return left

    def _submit(
        self, submission: Submission, wanted: Sequence[ObjectId], reply: Reply[WaitAnswer]
    ) -> None:
        """Hands it over as it would arrive at a server, large constants in files."""
        pending = PendingSubmission(self._uploads.size)
        try:
            uploaded = self._upload(submission.constants)
            slim = _without(submission, uploaded)
            for part in split_submission(slim):
                there = uploaded & set(part.constants.ids)
                arrived = through_the_wire(part)
                arrived.fails_alone = submission.fails_alone
                pending.add(arrived, sorted(there))
        except (ProtocolError, RefusedError, UnicodeEncodeError) as error:
            self._uploads.discard()
            raise RefusedError(f"the submission cannot be sent: {error}") from None
        whole, names = pending.take()
        if isinstance(whole, str):
            raise RefusedError(whole)
        awaited = () if names else tuple(wanted)
        self._handler.ask(Submit(whole, awaited), ForSubmission(reply, self._uploads, names))

    def _upload(self, constants: ConstantColumns) -> set[ObjectId]:
        uploaded: set[ObjectId] = set()
        for object_id, data in _large(constants):
            room = self._cluster.server.uploads
            upload = room.begin_upload(self._uploads.key, object_id, len(data))
            with open(upload.descriptor, "wb", closefd=False) as file:
                file.write(data)
            upload.complete()
            uploaded.add(object_id)
        return uploaded

    def unkeep(self, objects: Sequence[ObjectId]) -> None:
        if objects:
            self._ask_of(session_of(objects[0]), Unkeep(tuple(objects)))

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
        asked = WaitFor(session, tuple(tasks), tuple(objects), mode, since)
        return self._wait(session, asked, timeout)

    def follow(self, session: SessionId, since: int, then: Then) -> None:
        self._ask_later(WaitFor(session, (), (), "news", since), then)

    def ask_why(self, session: SessionId, object_id: ObjectId, then: Then) -> None:
        self._ask_later(WaitFor(session, (), (object_id,), "all"), then)

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
        seconds = OWN_GRACE if grace is None else grace
        said = Cancel(session, tuple(tasks), tuple(objects), whole, always, recursive, seconds)
        self._tell_now(partial(self._handler.say, said))
        self._cluster.check_own_call()

    def cancel_unstarted(
        self, session: SessionId, objects: Sequence[ObjectId]
    ) -> Sequence[ObjectId]:
        return self._ask(CancelUnstarted(session, tuple(objects)))

    def handles_gone(self, tasks: Sequence[TaskId], objects: Sequence[ObjectId]) -> None:
        self._tell(partial(self._handler.say, HandlesGone(tuple(tasks), tuple(objects))))

    def take_handles(
        self, objects: Sequence[ObjectId], *, wants_data: bool = False
    ) -> Sequence[ObjectReport]:
        return self._ask_of(session_of(objects[0]), TakeHandles(tuple(objects), wants_data))

    def take_handles_then(
        self,
        objects: Sequence[ObjectId],
        then: Callable[[Sequence[ObjectReport] | Exception], object],
    ) -> None:
        request = TakeHandles(tuple(objects), wants_data=True)
        self._tell_now(partial(self._handler.ask, request, self._later(then)))

    # Results.

    def fetch(self, object_id: ObjectId, into: Path | None = None) -> Fetched:
        fetched = self._wait(session_of(object_id), Fetch(object_id))
        if fetched.data is None:
            return Fetched(fetched.report, self._read(object_id, into))
        return Fetched(fetched.report, _bytes(bytes(fetched.data), into))

    def fetch_many(self, object_ids: Sequence[ObjectId]) -> list[Fetched]:
        return [self.fetch(object_id) for object_id in object_ids]

    def _read(self, object_id: ObjectId, into: Path | None) -> bytes | memoryview | None:
        with self._cluster.held():
            held = self._cluster.find_anywhere(object_id)
        match held:
            case InFile():
                try:
                    return _file(held, into)
                finally:
                    held.close()
            case InFolder(path):
                return _archive(Archive.of(path), into)
            case InMemory(data):
                return _bytes(data, into)
            case _:
                raise RefusedError(f"{spell(object_id)} cannot be fetched: it is gone")

    def update(
        self, tasks: Sequence[TaskId], objects: Sequence[ObjectId]
    ) -> tuple[Sequence[TaskReport], Sequence[ObjectReport]]:
        with waiting_for_tasks():
            self._cluster.work_once()
        return self._ask(ReportsOf(tuple(tasks), tuple(objects)))

    def logs(self, task: TaskId) -> str:
        (report,), _ = self._ask(ReportsOf((task,), (), logs=True))
        return report.logs

    def watch(self, watch: Watch | None) -> None:
        if watch is not None:
            raise RefusedError("local mode shows what calls print by itself: leave show_output out")

    def printed(self, *, wait: bool) -> Sequence[PrintedLines]:
        del wait
        return ()

    # The server.

    def dashboard(self) -> str:
        raise RefusedError("local mode has no dashboard")

    def server_info(self) -> Sequence[GovernorReport]:
        return self._ask(ServerInfo())

    def overview(self, session: SessionId | None = None) -> Overview:
        answer: Answer[Overview] = Answer()
        wanted = SessionId(0) if session is None else session
        self._tell_now(partial(self._handler.overview, wanted, answer))
        return answer.take()

    def terminate(self) -> None:
        """The client closes the cluster next."""

    def give_up(self) -> None:
        """Nobody loses a server that is here."""

    def close(self) -> None:
        try:
            with self._cluster.held():
                if not self._is_closed:
                    self._is_closed = True
                    self._uploads.close()
                    self._handler.left("closed by the client")
                    self._cluster.settle()
        except ConnectionLostError:
            return  # the cluster has ended before


def _nothing(_: object) -> None:
    """Nobody waits for this answer."""


def _large(constants: ConstantColumns) -> list[tuple[ObjectId, bytes]]:
    pairs = zip(constants.ids, constants.data, strict=True)
    return [(object_id, data) for object_id, data in pairs if len(data) > INLINE_LIMIT]


def _without(submission: Submission, uploaded: set[ObjectId]) -> Submission:
    """With empty data in the place of what is in files."""
    if not uploaded:
        return submission
    constants = submission.constants
    pairs = zip(constants.ids, constants.data, strict=True)
    data = [b"" if object_id in uploaded else entry for object_id, entry in pairs]
    return evolve(submission, constants=evolve(constants, data=data))


def _bytes(data: bytes, into: Path | None) -> bytes | None:
    if into is None:
        return data
    into.write_bytes(data)
    return None


def _file(held: InFile, into: Path | None) -> memoryview | None:
    length, _ = held.place()
    if into is None:
        return map_descriptor(held.descriptor, length)
    with into.open("wb") as file:
        copy_bytes(held.descriptor, file.fileno(), length)
    return None


def _archive(archive: Archive, into: Path | None) -> bytes | None:
    if into is not None:
        with into.open("wb") as file:
            archive.write(file)
        return None
    made = io.BytesIO()
    archive.write(made)
    return made.getvalue()
