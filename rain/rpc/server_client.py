"""The server's side of one client: calls become calls of the handler, replies become results."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from rain.base.errors import ProtocolError
from rain.base.failures import SessionFailure
from rain.base.ids import ObjectId, SessionId
from rain.base.wire import Submission, WaitAnswer
from rain.rpc import schema
from rain.rpc.codec.answers import (
    write_fetched,
    write_governor_reports,
    write_joined,
    write_overview,
    write_reports,
    write_taken,
)
from rain.rpc.codec.requests import (
    Cancel,
    CancelUnstarted,
    HandlesGone,
    JoinSession,
    OpenSession,
    ReportsOf,
    SubmitPart,
    TakeHandles,
    Unkeep,
    Wait,
    read_cancel,
    read_cancel_unstarted,
    read_close_session,
    read_fetch,
    read_handles_gone,
    read_join_session,
    read_open_session,
    read_overview_of,
    read_reports_of,
    read_submit,
    read_take_handles,
    read_unkeep,
    read_wait,
)
from rain.rpc.codec.responses import write_cancelled, write_opened, write_wait_answer
from rain.rpc.codec.split import slim_delivery
from rain.rpc.handlers import ClientHandler, Reply, ServerHandler, Uploads
from rain.rpc.interface import Fields
from rain.rpc.link import Link
from rain.rpc.offer import Served, nothing, offer
from rain.rpc.offered import IncomingCall, Offered
from rain.rpc.pending import PENDING_LIMIT, PendingSubmission
from rain.rpc.replies import CallReply, no_results


class ClientEnd:
    """How the server ends a client (`rain.rpc.handlers.ClientLink`)."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def close(self, reason: str) -> None:
        self._link.end_with_reason(reason)


class ServedClient:
    """One registered client."""

    def __init__(
        self, link: Link, server: ServerHandler, pending_limit: int = PENDING_LIMIT
    ) -> None:
        self._handler: ClientHandler = server.join_client(ClientEnd(link))
        self._uploads = server.uploads.join()
        self._pending = PendingSubmission(self._uploads.size, pending_limit)
        link.on_end = self._left

    @property
    def key(self) -> bytes:
        """What the client shows with its uploads."""
        return self._uploads.key

    def offered(self) -> Offered:
        return offer(
            schema.client.ClientService,
            {
                "openSession": Served(read_open_session, self._open_session),
                "joinSession": Served(read_join_session, self._join_session),
                "closeSession": Served(read_close_session, self._close_session),
                "submit": Served(read_submit, self._submit),
                "wait": Served(read_wait, self._wait),
                "cancel": Served(read_cancel, self._cancel),
                "cancelUnstarted": Served(read_cancel_unstarted, self._cancel_unstarted),
                "unkeep": Served(read_unkeep, self._unkeep),
                "fetch": Served(read_fetch, self._fetch),
                "reports": Served(read_reports_of, self._reports),
                "serverInfo": Served(nothing, self._server_info),
                "overview": Served(read_overview_of, self._overview),
                "terminate": Served(nothing, self._terminate),
                "alive": Served(nothing, self._alive),
                "handlesGone": Served(read_handles_gone, self._handles_gone),
                "takeHandles": Served(read_take_handles, self._take_handles),
            },
        )

    def _open_session(self, asked: OpenSession, call: IncomingCall) -> None:
        reply = CallReply(call, write_opened)
        self._handler.open_session(asked.name, asked.user, asked.on_failure, asked.parent, reply)

    def _join_session(self, asked: JoinSession, call: IncomingCall) -> None:
        reply = CallReply(call, write_joined)
        self._handler.join_session(asked.session, asked.name, asked.numbers, reply)

    def _close_session(self, session: SessionId, call: IncomingCall) -> None:
        self._handler.close_session(session, CallReply(call, no_results))

    def _wait(self, asked: Wait, call: IncomingCall) -> None:
        reply = self._patient(call)
        self._handler.wait(
            asked.session, asked.tasks, asked.objects, asked.mode, asked.since, reply
        )

    def _cancel(self, asked: Cancel, call: IncomingCall) -> None:
        self._handler.cancel(
            asked.session, asked.tasks, asked.objects, whole=asked.whole, always=asked.always
        )
        call.answer()

    def _cancel_unstarted(self, asked: CancelUnstarted, call: IncomingCall) -> None:
        reply = CallReply(call, write_cancelled)
        self._handler.cancel_unstarted(asked.session, asked.objects, reply)

    def _handles_gone(self, gone: HandlesGone, call: IncomingCall) -> None:
        self._handler.handles_gone(gone.tasks, gone.objects)
        call.answer()

    def _take_handles(self, asked: TakeHandles, call: IncomingCall) -> None:
        reply = CallReply(call, write_taken)
        self._handler.take_handles(asked.objects, reply, wants_data=asked.wants_data)

    def _unkeep(self, asked: Unkeep, call: IncomingCall) -> None:
        self._handler.unkeep(asked.objects, CallReply(call, no_results))

    def _fetch(self, object_id: ObjectId, call: IncomingCall) -> None:
        reply = CallReply(call, write_fetched)
        call.on_give_up = lambda: self._handler.abandoned(reply)
        self._handler.fetch(object_id, reply)

    def _reports(self, asked: ReportsOf, call: IncomingCall) -> None:
        reply = CallReply(call, write_reports)
        self._handler.update(asked.tasks, asked.objects, reply, logs=asked.logs)

    def _server_info(self, _: None, call: IncomingCall) -> None:
        self._handler.server_info(CallReply(call, write_governor_reports))

    def _overview(self, session: SessionId, call: IncomingCall) -> None:
        self._handler.overview(session, CallReply(call, write_overview))

    def _terminate(self, _: None, call: IncomingCall) -> None:
        self._handler.terminate()
        call.answer()

    def _alive(self, _: None, call: IncomingCall) -> None:
        """A sign of life, and the answer is another one."""
        call.answer()

    def _patient(self, call: IncomingCall) -> Reply[WaitAnswer]:
        """The reply to a wait, which its caller may give up."""
        reply = CallReply(call, _write_fitting)
        call.on_give_up = lambda: self._handler.abandoned(reply)
        return reply

    def _submit(self, request: SubmitPart, call: IncomingCall) -> None:
        """A submission is applied with its last part; others need no answer."""
        if request.last and (upload_refusal := self._uploads.take_refusal()):
            # This part is all that was sent of a submission whose upload was refused.
            self._uploads.discard()
            CallReply(call, no_results).refuse(upload_refusal)
            return
        self._pending.add(request.part, request.uploaded)
        if not request.last:
            call.answer()
            return
        whole, uploaded = self._pending.take()
        if not request.wanted:
            reply = SubmissionReply(call, self._uploads, uploaded)
            if isinstance(whole, Submission):
                self._handler.submit(whole, reply)
            else:
                reply.refuse(whole)
        elif uploaded:
            raise ProtocolError("a submission with uploads is answered when it is accepted")
        elif isinstance(whole, Submission):
            self._handler.compute(whole, request.wanted, self._patient(call))
        else:
            CallReply(call, no_results).refuse(whole)

    def _left(self, cause: str) -> None:
        self._uploads.close()
        self._pending.clear()
        self._handler.left(cause)


class SubmissionReply(CallReply[None]):
    """What was uploaded for a submission belongs to its session, or is not wanted."""

    def __init__(self, call: IncomingCall, uploads: Uploads, uploaded: Sequence[ObjectId]) -> None:
        super().__init__(call, no_results)
        self._uploads = uploads
        self._uploaded = uploaded

    def answer(self, value: None, /) -> None:
        self._uploads.accept(self._uploaded)
        super().answer(value)

    def refuse(self, reason: str | SessionFailure, /) -> None:
        self._uploads.discard(self._uploaded)
        super().refuse(reason)


def _write_fitting(answer: WaitAnswer) -> Fields:
    slim = slim_delivery(answer.delivery)
    if slim is not answer.delivery:
        answer = evolve(answer, delivery=slim)
    return write_wait_answer(answer)
