"""The connection of a client to the cluster of its own process: plain calls.

Requests go to the handlers of the real server. A waiting thread runs calls in the meantime (see
`cluster`).
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
from rain.base.ids import ObjectId, SessionId, spell
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.answers import Fetched, WaitAnswer
from rain.base.wire.requests import (
    Cancel,
    CloseSession,
    HandlesGone,
    OpenDashboard,
    ReportsOf,
    Request,
    Statement,
    Submit,
    TakeHandles,
    Terminate,
    WaitFor,
    WatchPrinted,
)
from rain.base.wire.submission import ConstantColumns, Submission
from rain.common.running import waiting_for_tasks
from rain.local.replies import AwaitedAnswer, ForSubmission, ForwardedAnswer
from rain.local.server import Server
from rain.rpc.codec import through_the_wire
from rain.rpc.codec.split import split_submission
from rain.rpc.handlers import ClientHandler, Reply
from rain.rpc.pending import PendingSubmission
from rain.stream.archive import Archive
from rain.stream.copying import copy_bytes
from rain.stream.holder import Held, InFile, InFolder, InMemory
from rain.stream.mapping import map_descriptor
from rain.stream.ranges import Piece, Range, piece_of
from rain.stream.staged import Staged

A = TypeVar("A")


class ClusterInProcess(Protocol):
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

    def end_with_reason(self, cause: str) -> None:
        del cause


class LocalConnection:
    """Implements `rain.client.connection.Connection`. Made while the cluster is held."""

    is_interrupted_here = False  # nothing is sent
    address = "local"
    returns = False  # it ends with this process
    is_waited_for = False  # what cannot run has failed at once

    def __init__(self, cluster: ClusterInProcess) -> None:
        self.here = cluster  # threads that wait run calls
        self.cluster = cluster.name
        self._cluster = cluster
        self._handler: ClientHandler = cluster.server.join_client(_End())
        self._uploads = cluster.server.uploads.join()
        self._failed: dict[SessionId, Exception] = {}  # of submissions whose answer nobody took
        self._latest: Submission | None = None  # that was handed over (see `has_left`)
        self._is_closed = False

    def at_each_beat(self, call: Callable[[], object]) -> None:
        """There are no beats."""

    # Requests.

    def ask(self, request: Request[A], timeout: float | None = None) -> A:
        session = request.concerns
        self._raise_failure(session)
        if _may_wait(request):
            with waiting_for_tasks():
                self._cluster.work_once()
        answer: AwaitedAnswer[A] = AwaitedAnswer()
        self._tell_now(partial(self._hand_over, request, answer))
        return self._take(request, answer, timeout)

    def ask_all(self, requests: Sequence[Request[A]]) -> list[A]:
        return [self.ask(request) for request in requests]

    def ask_then(self, request: Request[A], then: Callable[[A | Exception], object]) -> None:
        tell = self._tell_now if isinstance(request, TakeHandles) else self._tell
        tell(partial(self._hand_over, request, self._later(then)))

    def begin(self, submit: Submit) -> Callable[[], WaitAnswer | None]:
        session = submit.concerns
        self._raise_failure(session)
        if not submit.wanted or _large(submit.submission.constants):
            self.say(submit)
            return partial(self.ask, WaitFor(session, (), submit.wanted, "all"))
        answer: AwaitedAnswer[WaitAnswer | None] = AwaitedAnswer()
        self._tell(partial(self._hand_over, submit, answer))
        return partial(self._take, submit, answer)

    def say(self, said: Statement | WatchPrinted | CloseSession | Submit) -> None:
        match said:
            case Submit():
                reply = self._later(partial(self._note_failure, said.concerns))
                self._tell(partial(self._hand_over, said, reply))
            case CloseSession():
                self._tell_now(partial(self._handler.ask, said, self._later(_nothing)))
            case WatchPrinted():
                pass  # what calls print is shown by itself
            case Cancel():
                self._tell_now(partial(self._handler.say, said))
                self._cluster.check_own_call()
            case HandlesGone():
                self._tell(partial(self._handler.say, said))

    def has_left(self, submission: Submission) -> bool:
        latest, self._latest = self._latest, None
        return latest is submission

    def complete(self, fetched: Fetched, into: Path | None = None) -> Fetched:
        if fetched.data is None:
            return Fetched(fetched.report, self._read(fetched.report.id, into))
        return Fetched(fetched.report, _bytes(bytes(fetched.data), into))

    def complete_all(self, fetched: Sequence[Fetched]) -> list[Fetched]:
        return [self.complete(one) for one in fetched]

    def piece(self, fetched: Fetched, wanted: Range) -> Piece:
        data = self.complete(fetched).data
        assert data is not None  # no path was given
        return piece_of(data, wanted)

    # One request.

    def _hand_over(self, request: Request[Any], reply: Reply[Any]) -> None:
        match request:
            case Submit():
                self._submit(request, reply)
            case OpenDashboard():
                reply.refuse("local mode has no dashboard")
            case Terminate():
                reply.answer(None)  # the client closes the cluster next
            case _:
                self._handler.ask(request, reply)

    def _take(
        self, request: Request[A], answer: AwaitedAnswer[A], timeout: float | None = None
    ) -> A:
        """The answer, which may need calls to run first."""
        try:
            if not answer.is_there:
                self._cluster.work_until(lambda: answer.is_there, timeout)
        finally:
            if not answer.is_there:
                self._give_up(answer)
        if not answer.is_there:
            raise TimeoutError
        if not isinstance(request, Submit) or request.wanted:
            self._raise_failure(request.concerns)
        try:
            return answer.take()
        except RainError:
            if isinstance(request, Submit):
                self._latest = None  # it is known what became of it
            raise

    def _give_up(self, answer: AwaitedAnswer[Any]) -> None:
        """Abandons an answer that is no longer needed."""
        with self._cluster.held():
            self._handler.abandoned(answer)

    def _tell(self, tell: Callable[[], object]) -> None:
        """Passes on a message without an answer; it belongs to the next turn."""
        with self._cluster.held():
            self._check_open()
            tell()

    def _tell_now(self, tell: Callable[[], object]) -> None:
        """Does the same as `_tell`, and makes the turn at once."""
        with self._cluster.held():
            self._check_open()
            tell()
            self._cluster.settle()
        self._cluster.tell_answers()

    def _later(self, then: Callable[[Any], object]) -> ForwardedAnswer[Any]:
        """Makes an answer that is handed to a function."""

        def tell(answer: object) -> None:
            self._cluster.tell_later(partial(then, answer))

        return ForwardedAnswer(tell)

    def _check_open(self) -> None:
        if self._is_closed:
            raise ConnectionLostError(
                "the local cluster was closed by this program: read results before `close()`, or"
                " the end of the `with`"
            )

    def _raise_failure(self, session: SessionId | None) -> None:
        """Raises the failure of a submission of this session, once."""
        if self._failed and session is not None:
            failure = self._failed.pop(session, None)
            if failure is not None:
                raise failure

    def _note_failure(self, session: SessionId, answer: object) -> None:
        if isinstance(answer, Exception):
            self._failed.setdefault(session, answer)

    def _submit(self, submit: Submit, reply: Reply[Any]) -> None:
        """Submits as through a connection: large constants go into files."""
        submission = submit.submission
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
        awaited = () if names else submit.wanted
        self._handler.ask(Submit(whole, awaited), ForSubmission(reply, self._uploads, names))
        self._latest = submission

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

    def stage(self, parts: Sequence[bytes | memoryview]) -> Staged | None:
        """Stages nothing: no other process could take a file over."""
        return None

    def give_up(self) -> None:
        """Does nothing: a server in the same process cannot be lost."""

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


def _may_wait(request: Request[Any]) -> bool:
    """Whether this request asks for the state of tasks: programs repeat it until they are done."""
    return isinstance(request, ReportsOf) and not request.logs


def _nothing(_: object) -> None:
    """Drops an answer that is not needed."""


def _large(constants: ConstantColumns) -> list[tuple[ObjectId, bytes]]:
    pairs = zip(constants.ids, constants.data, strict=True)
    return [(object_id, data) for object_id, data in pairs if len(data) > INLINE_LIMIT]


def _without(submission: Submission, uploaded: set[ObjectId]) -> Submission:
    """The submission with empty data for the constants that are in files."""
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
