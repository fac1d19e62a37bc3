"""Makes the calls of a client: the calling thread sends the message, and the answer wakes it.

The calls of one thread arrive in their order. While large constants of a submission are being
uploaded, no call overtakes the submission, not even a call of another thread. The answer to a
submission comes before the answers to all later calls. So the answer to a call also shows that no
earlier submission was refused.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Generic, TypeVar

from rain.base.errors import (
    ConnectionLostError,
    ProtocolError,
    RefusedError,
    SessionFailedError,
)
from rain.base.ids import SessionId
from rain.rpc import schema
from rain.rpc.caller import Caller
from rain.rpc.codec.answers import read_refusal
from rain.rpc.codec.border import fault_of_sender
from rain.rpc.ended import End, How
from rain.rpc.interface import Fields, Interface
from rain.rpc.offered import RemoteCapability
from rain.rpc.questions import CallError, Question
from rain.stream.machine import machine_id
from rain.stream.staged import UploadFolder

T = TypeVar("T")

_METHODS = Interface.of(schema.client.ClientService).methods


LOOK_AGAIN = 0.1
"""Seconds between two looks whether an upload has ended, in case no thread has said so."""


class GivenUpError(Exception):
    """The server does not answer a call that is not waited for any more."""


class PendingCall(Generic[T]):
    """One call, and where a thread waits for its answer.

    Ctrl-C may come between any two steps. A thread that stops waiting passes the answer to a
    function.
    """

    def __init__(
        self, read: Callable[[Fields], T], lost: Callable[[CallError], ConnectionLostError]
    ) -> None:
        self.calls: list[Question] = []  # the parts of it
        self.upload: Callable[[], bool] | None = None  # sends what goes ahead of them
        self._read = read
        self._lost = lost
        self._empty = threading.Lock()
        self._empty.acquire()
        self._content: list[T | Exception] = []  # none yet, or one
        self._heir: Callable[[T | Exception], object] | None = None

    def returned(self, outcome: Fields | CallError) -> None:
        """In the thread of the connection."""
        try:
            self._put(self._understand(outcome))
        except ProtocolError as error:
            self._put(ProtocolError(str(error)))
            raise

    def leave_to(self, heir: Callable[[T | Exception], object]) -> None:
        """No thread waits any more: the answer goes to this function, even if it has arrived
        already.
        """
        self._heir = heir
        self._pass_on(heir)

    def take(self, timeout: float | None = None) -> T:
        """The answer, when it has come; TimeoutError when the time is over. Raises refusals."""
        limit = -1 if timeout is None else min(max(timeout, 0), threading.TIMEOUT_MAX)
        if not self._empty.acquire(timeout=limit):
            raise TimeoutError
        (content,) = self._content
        if isinstance(content, Exception):
            raise content
        return content

    def _understand(self, outcome: Fields | CallError) -> T | Exception:
        if isinstance(outcome, CallError):
            return GivenUpError() if outcome.kind == "cancelled" else self._lost(outcome)
        try:
            if "refusal" in outcome:
                refusal = read_refusal(outcome["refusal"])
                if isinstance(refusal, str):
                    return RefusedError(refusal)
                if refusal is not None:
                    return SessionFailedError(refusal)
            return self._read(outcome)
        except ValueError as error:
            raise fault_of_sender("an answer", error) from error

    def _put(self, content: T | Exception) -> None:
        self._content.append(content)
        self._empty.release()
        if self._heir is not None:
            self._pass_on(self._heir)

    def _pass_on(self, heir: Callable[[T | Exception], object]) -> None:
        try:
            content = self._content.pop()  # a single step, so that two threads pass it on once
        except IndexError:  # it has not come, or is there already
            return
        heir(content)


class _Upload:
    """The parts of a submission that a thread sends ahead."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.over = threading.Event()


class ClientCalls:
    """The requests of one registered client. For any thread."""

    def __init__(
        self,
        caller: Caller,
        service: RemoteCapability,
        where: str,
        why_lost: Callable[[], str] | None,
    ) -> None:
        self.failed: dict[SessionId, Exception] = {}
        """The errors of submissions that no thread waited for. The next call that concerns the
        session raises the error, in any thread.
        """
        self._caller = caller
        self._questions = caller.peer.questions
        self._service = service
        self._where = where
        self._why_lost = why_lost or str  # what the owner of the server knows of it, or ""
        # A signal handler may submit, or ask, while its own thread uploads.
        self._one_uploads = threading.RLock()
        self._upload: _Upload | None = None
        self.key = b""  # goes with uploads
        self.upload_folder = ""  # of a server of this machine
        self.on_beat: Callable[[], object] | None = None
        caller.say_alive = self._say_alive

    @property
    def unanswered(self) -> int:
        """The number of open questions, with the bootstrap, which is never finished."""
        return len(self._questions)

    def prepare(
        self, method: str, params: Sequence[Fields], read: Callable[[Fields], T]
    ) -> PendingCall[T]:
        """A call that was not made yet; of several, the answer to the last one counts."""
        asked = PendingCall(read, self._lost_by)
        write, last = self._questions.write, len(params) - 1
        for place, fields in enumerate(params):
            then = asked.returned if place == last else _ignore
            asked.calls.append(write(self._service, _METHODS[method], fields, then))
        return asked

    def make(self, asked: PendingCall[T], due: float | None = None) -> None:
        """Makes a call; `TimeoutError` if what another thread uploads takes until it is due."""
        if asked.upload is not None:
            self._make_behind(asked, asked.upload)
        else:
            self._let_upload_pass(due)
            self.make_now(asked)

    def make_now(self, asked: PendingCall[T]) -> None:
        """Makes a call that names nothing of a submission that another thread uploads."""
        self._check_open()
        self._questions.say(asked.calls)

    def _make_behind(self, asked: PendingCall[T], upload: Callable[[], bool]) -> None:
        """Makes a call behind its upload. If that is refused, only its last part is sent."""
        self._check_open()
        with self._uploading():
            calls = asked.calls if upload() else asked.calls[-1:]
            self._check_open()
            self._questions.say(calls)

    def tell(self, method: str, params: Fields, *, in_order: bool = True) -> None:
        """Makes a call whose answer is not wanted. Raises `ConnectionLostError` if it cannot."""
        call = self._questions.write(self._service, _METHODS[method], params, _ignore)
        if in_order:
            self._let_upload_pass()
        self._check_open()
        self._questions.say([call])

    @property
    def is_interrupted_here(self) -> bool:
        """Whether this is a signal handler that came while its own thread was sending."""
        return self._caller.is_interrupted_here

    def has_left(self, asked: PendingCall[T]) -> bool:
        """Whether a call was made, whatever came of it."""
        return bool(asked.calls[-1].handed)

    def give_up(self, asked: PendingCall[T]) -> None:
        """No thread waits for this answer any more."""
        self._questions.give_up(asked.calls[-1])

    def note_failure(self, session: SessionId, answer: object) -> None:
        """Takes the answer to a submission that is not waited for."""
        if isinstance(answer, Exception) and not isinstance(answer, GivenUpError):
            self.failed.setdefault(session, answer)

    def note_refusal(self, session: SessionId, answer: object) -> None:
        """Takes the answer to a submission whose results are not waited for any more.

        That one of its tasks has failed is no news of the submission.
        """
        if isinstance(answer, RefusedError):
            self.note_failure(session, answer)

    def raise_failure(self, session: SessionId | None) -> None:
        """Raises, once, the error of a failed submission of this session."""
        if self.failed and session is not None:
            failure = self.failed.pop(session, None)
            if failure is not None:
                raise failure

    def close(self) -> None:
        """Called by the thread that closes the connection: every later call raises this."""
        self._caller.close(How.CLOSED, "closed by the client")

    def end(self) -> None:
        """The server is lost, whatever the connection says."""
        self._caller.close(How.GIVEN_UP, "the client has given up the server")

    @contextmanager
    def _uploading(self) -> Generator[None, None, None]:
        """Around an upload and the submission behind it."""
        with self._one_uploads:
            before, upload = self._upload, _Upload()
            try:
                self._upload = upload
                yield
            finally:
                self._upload = before  # a single step, so that every waiting thread finds it
                upload.over.set()

    def _let_upload_pass(self, due: float | None = None) -> None:
        """Waits while another thread uploads; a forked child has no such thread."""
        upload = self._upload
        if upload is None or upload.thread == threading.get_ident():
            return
        while self._upload is upload and self._caller.is_usable:
            if due is not None and time.monotonic() >= due:
                raise TimeoutError
            upload.over.wait(LOOK_AGAIN)

    def _check_open(self) -> None:
        if not self._caller.is_usable:
            raise self._lost(How.LOST, "")

    def _lost_by(self, error: CallError) -> ConnectionLostError:
        """A call has failed: the connection has ended, or is about to, for the reason given."""
        how = How.LOST if error.kind == "disconnected" else How.FAREWELL
        return self._lost(how, error.reason)

    def _lost(self, how: How, cause: str) -> ConnectionLostError:
        """The one error for a connection that has ended; if it has not yet, it will like this."""
        end = self._caller.ended or End(how, cause)
        return ConnectionLostError(end.message(self._where, self._why_lost))

    def take_key(self, key: bytes, uploads: str) -> None:
        """Takes the key for uploads: at first, and again after the server was away."""
        found = UploadFolder.read(uploads)
        self.upload_folder = "" if found is None else found.for_us(machine_id())
        self.key = key

    def was_cut(self) -> bool:
        """Whether the connection was lost and has been replaced; may take a while.

        It sends a ping to the server. Either the answer comes over the same connection, or that
        connection has ended.
        """
        outcomes: list[Fields | CallError] = []
        heard = threading.Event()

        def take(outcome: Fields | CallError) -> None:
            outcomes.append(outcome)
            heard.set()

        self._caller.peer.call(self._service, _METHODS["alive"], {}, take)
        heard.wait()
        return isinstance(outcomes[0], CallError) and self._caller.is_usable

    def _say_alive(self) -> None:
        if self.on_beat is not None:
            self.on_beat()
        self._caller.peer.call(self._service, _METHODS["alive"], {}, _ignore)
        numbers = self._questions.take_settled()
        if numbers:
            then = partial(self._heard_settled, numbers)
            self._caller.peer.call(self._service, _METHODS["settled"], {"calls": numbers}, then)

    def _heard_settled(self, numbers: list[int], outcome: Fields | CallError) -> None:
        if isinstance(outcome, CallError):
            self._questions.put_back_settled(numbers)


def _ignore(_: Fields | CallError) -> None:
    """No thread waits for this answer."""
