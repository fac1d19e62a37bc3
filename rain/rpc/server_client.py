"""The server's side of one client: passes its calls to the handler, and turns replies into
results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from attrs import define

from rain.base.errors import ProtocolError
from rain.base.failures import SessionFailure
from rain.base.ids import ObjectId
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.requests import Request, Settled, Statement, Submit, WatchPrinted
from rain.base.wire.submission import Submission
from rain.rpc import schema
from rain.rpc.codec.answers import write_refusal
from rain.rpc.codec.client_methods import ALIVE, REQUESTS, STATEMENTS, A, ClientMethod
from rain.rpc.codec.requests import write_fitting_answer
from rain.rpc.codec.submission import SubmitPart, read_submit
from rain.rpc.handlers import ClientHandler, ConstantUploads, Reply, ServerHandler
from rain.rpc.interface import Fields
from rain.rpc.link import Link
from rain.rpc.offered import IncomingCall, Offered, Served, offer
from rain.rpc.pending import PENDING_LIMIT, PendingSubmission
from rain.stream.protocol import NOBODY
from rain.stream.staged import UploadFolder

LOST_UPLOAD = (
    "the connection was lost before the large constants of this submission were there: submit again"
)


T = TypeVar("T")


class CallReply(Generic[T]):
    """Fulfils `rain.rpc.handlers.Reply` for one call; a refusal is a field of its results."""

    def __init__(self, call: IncomingCall, write: Callable[[T], Fields]) -> None:
        self._call = call
        self._write = write

    def answer(self, value: T, /) -> None:
        self._call.answer(self._write(value))

    def refuse(self, reason: str | SessionFailure, /) -> None:
        self._call.answer({"refusal": write_refusal(reason)})


class Welcome:
    """Fulfils `rain.rpc.handlers.Reply`: tells a client that it is registered."""

    def __init__(self, call: IncomingCall, registered: Fields) -> None:
        self._call = call
        self._registered = registered

    def answer(self, _: None, /) -> None:
        self._call.answer(self._registered)

    def refuse(self, reason: str | SessionFailure, /) -> None:
        self._call.fail(str(reason))


@define(eq=False)
class _EarlierUploads:
    """The uploads that a returning client made before it lost its connection.

    It has no reference to the client, so that a client that leaves makes no garbage cycle.
    """

    uploads: ConstantUploads
    is_missing: bool = False  # a constant of the submission that is being sent

    def size(self, object_id: ObjectId) -> int:
        """The length of an upload, which may have been accepted, or lost, with the connection."""
        try:
            return self.uploads.size(object_id)
        except ProtocolError:
            self.is_missing = True
            return 0


class ServedClient:
    """One registered client."""

    def __init__(
        self,
        link: Link,
        server: ServerHandler,
        pending_limit: int = PENDING_LIMIT,
        token: bytes = b"",
        machine: bytes = NOBODY,
        user: str = "",
    ) -> None:
        self._handler: ClientHandler = server.join_client(link, token, user)
        self._link = link
        self._uploads = server.uploads.join()
        self._upload_folder = UploadFolder.of(server.uploads.folder, machine)
        self._earlier = _EarlierUploads(self._uploads)
        size = self._earlier.size if token else self._uploads.size
        self._pending = PendingSubmission(size, pending_limit)
        link.on_end = self._left

    def welcome(self, call: IncomingCall, cluster: bytes, generation: int = 0) -> None:
        """Answers the registration as soon as the server will not forget this client."""
        registered = {
            "service": self.offered(),
            "key": self._uploads.key,  # the client shows it with its uploads
            "cluster": cluster,
            "generation": generation,
            "uploads": "" if self._upload_folder is None else self._upload_folder.spell(),
            "token": self._handler.token,  # and this when it comes back; empty if it cannot
        }
        self._handler.welcome(Welcome(call, registered))

    def offered(self) -> Offered:
        methods: dict[str, Served[Any]] = {
            "submit": Served(read_submit, self._submit),
            **dict(map(self._asked, REQUESTS)),
            **dict(map(self._said, STATEMENTS)),
            ALIVE.name: Served(ALIVE.params.read, self._alive),
        }
        return offer(schema.client.ClientService, methods)

    def _asked(self, method: ClientMethod[Request[A], A]) -> tuple[str, Served[Request[A]]]:
        """Serves a request, which the handler answers now or later."""

        def serve(request: Request[A], call: IncomingCall) -> None:
            self._handler.ask(request, self._patient(call, method.results.write), call.id)

        return method.name, Served(method.params.read, serve)

    def _said(self, method: ClientMethod[Any, None]) -> tuple[str, Served[Any]]:
        """Serves a statement, which needs no answer but the receipt."""

        def serve(statement: Statement | WatchPrinted | Settled, call: IncomingCall) -> None:
            self._handler.say(statement, CallReply(call, method.results.write), call.id)

        return method.name, Served(method.params.read, serve)

    def _patient(self, call: IncomingCall, write: Callable[[A], Fields]) -> Reply[A]:
        """The reply to a call that its caller may give up."""
        reply = CallReply(call, write)
        call.on_give_up = lambda: self._handler.abandoned(reply)
        return reply

    def _alive(self, _: None, call: IncomingCall) -> None:
        """Answers a heartbeat."""
        call.answer()

    def _submit(self, request: SubmitPart, call: IncomingCall) -> None:
        """A submission is applied with its last part; others need no answer."""
        if request.last and (upload_refusal := self._uploads.take_refusal()):
            # This part is all that was sent of a submission whose upload was refused.
            self._uploads.discard()
            CallReply(call, _write_submitted).refuse(upload_refusal)
            return
        self._pending.add(request.part, request.uploaded)
        if not request.last:
            call.answer()
            return
        whole, uploaded = self._pending.take()
        missing, self._earlier.is_missing = self._earlier.is_missing, False
        if missing and isinstance(whole, Submission):
            if not self._handler.has_heard(call.id):
                CallReply(call, _write_submitted).refuse(LOST_UPLOAD)
                return
            whole, uploaded = Submission(whole.session), []  # it is not submitted again
        if request.wanted and uploaded:
            raise ProtocolError("a submission with uploads is answered when it is accepted")
        reply = (
            self._patient(call, _write_submitted)
            if request.wanted
            else SubmissionReply(call, self._uploads, uploaded)
        )
        if isinstance(whole, Submission):
            self._handler.ask(Submit(whole, tuple(request.wanted)), reply, call.id)
        else:
            reply.refuse(whole)

    def _left(self, cause: str) -> None:
        self._uploads.close()
        self._pending.clear()
        self._handler.left(cause, on_purpose=self._link.is_over_for_good)


class SubmissionReply(CallReply[WaitAnswer | None]):
    """The reply to a submission: its uploads go to the session, or are dropped."""

    def __init__(
        self, call: IncomingCall, uploads: ConstantUploads, uploaded: Sequence[ObjectId]
    ) -> None:
        super().__init__(call, _write_submitted)
        self._uploads = uploads
        self._uploaded = uploaded

    def answer(self, value: WaitAnswer | None, /) -> None:
        self._uploads.accept(self._uploaded)
        super().answer(value)

    def refuse(self, reason: str | SessionFailure, /) -> None:
        self._uploads.discard(self._uploaded)
        super().refuse(reason)


def _write_submitted(answer: WaitAnswer | None) -> Fields:
    return {} if answer is None else write_fitting_answer(answer)
