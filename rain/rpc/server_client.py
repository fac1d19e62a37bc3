"""The server's side of one client: calls become calls of the handler, replies become results."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import assert_never

from attrs import evolve

from rain.base.errors import ProtocolError
from rain.base.failures import SessionFailure
from rain.base.ids import ObjectId, SessionId, TaskId
from rain.base.wire import (
    Fetched,
    GovernorReport,
    JoinedSession,
    ObjectReport,
    Submission,
    TaskReport,
    WaitAnswer,
)
from rain.rpc import schema
from rain.rpc.codec.answers import (
    write_described_objects,
    write_governor_reports,
    write_object_report,
    write_refusal,
    write_task_reports,
)
from rain.rpc.codec.border import CallContext, OfferedServer, reading
from rain.rpc.codec.failures import on_failure_number
from rain.rpc.codec.requests import (
    Abandon,
    CloseSession,
    OpenSession,
    SubmitPart,
    Unkeep,
    Wait,
    read_request,
)
from rain.rpc.codec.responses import write_done, write_opened, write_waited
from rain.rpc.codec.split import slim_delivery
from rain.rpc.connection import Connection
from rain.rpc.handlers import ClientHandler, ServerHandler, Uploads
from rain.rpc.offer import offer
from rain.rpc.pending import PENDING_LIMIT, PendingSubmission
from rain.rpc.replies import CallReply, PlainReply, Refused, UnsentReply


@contextmanager
def _refusals_into(context: CallContext) -> Generator[None, None, None]:
    """A refusal takes the place of the results."""
    try:
        yield
    except Refused as refused:
        write_refusal(context.results.init("refusal"), refused.reason)


class ClientEnd:
    """How the server ends a client (`rain.rpc.handlers.ClientLink`)."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def close(self, reason: str) -> None:
        self._connection.end_with_reason(reason)


class ServedClient:
    """One registered client."""

    def __init__(
        self,
        connection: Connection,
        server: ServerHandler,
        pending_limit: int = PENDING_LIMIT,
    ) -> None:
        self._connection = connection
        self._handler: ClientHandler = server.join_client(ClientEnd(connection))
        self._uploads = server.uploads.join()
        self._pending = PendingSubmission(self._uploads.size, pending_limit)
        # Waits and fetches under way: each is reported as abandoned, or answered, before the end.
        self._waits: dict[int, PlainReply[WaitAnswer]] = {}  # by their numbers
        self._fetches: dict[CallReply[Fetched], None] = {}
        connection.hear(self._heard)
        connection.tell_end(self._left)

    @property
    def key(self) -> bytes:
        """What the client shows with its uploads."""
        return self._uploads.key

    def offered(self) -> OfferedServer:
        return offer(
            schema.client.ClientService,
            self._connection,
            {
                "joinSession": self._join_session,
                "fetch": self._fetch,
                "update": self._update,
                "serverInfo": self._server_info,
                "terminate": self._terminate,
            },
        )

    async def _join_session(self, context: CallContext) -> None:
        with reading("join session"):
            session, name = SessionId(context.params.session), context.params.name
            numbers = context.params.numbers
        reply: CallReply[JoinedSession] = CallReply()
        self._handler.join_session(session, name, numbers, reply)
        with _refusals_into(context):
            joined = await reply.value()
            results = context.results
            results.session, results.name = joined.session, joined.name
            results.onFailure = on_failure_number(joined.on_failure)
            results.first = joined.first

    def _heard(self, message: bytes) -> None:
        """One request, in a plain message."""
        number, request = read_request(message)
        match request:
            case SubmitPart():
                self._take_part(number, request)
            case Wait(session, tasks, objects, mode, since):
                self._handler.wait(session, tasks, objects, mode, since, self._waiting(number))
            case Abandon():
                waiting = self._waits.pop(number, None)
                if waiting is not None:  # else it was answered meanwhile
                    self._handler.abandoned(waiting)
            case OpenSession(name, user, on_failure):
                opened = PlainReply(self._connection, number, write_opened)
                self._handler.open_session(name, user, on_failure, opened)
            case CloseSession(session):
                self._handler.close_session(session, UnsentReply())
            case Unkeep(objects):
                self._handler.unkeep(objects, self._done(number))
            case _:
                assert_never(request)

    def _done(self, number: int) -> PlainReply[None]:
        """The reply to what is only done."""
        return PlainReply(self._connection, number, write_done)

    def _waiting(self, number: int) -> PlainReply[WaitAnswer]:
        """The reply to a new wait."""
        if number in self._waits:
            raise ProtocolError(f"the request {number} is not answered yet")
        reply = PlainReply(self._connection, number, _write_fitting, self._waits)
        self._waits[number] = reply
        return reply

    def _take_part(self, number: int, request: SubmitPart) -> None:
        """A submission is applied with its last part; others need no answer."""
        if request.last and (upload_refusal := self._uploads.take_refusal()):
            # This part is all that was sent of a submission whose upload was refused.
            self._uploads.discard()
            self._done(number).refuse(upload_refusal)
            return
        self._pending.add(request.part, request.uploaded)
        if not request.last:
            return
        whole, uploaded = self._pending.take()
        if not request.wanted:
            reply = SubmissionReply(self._connection, number, self._uploads, uploaded)
            if isinstance(whole, Submission):
                self._handler.submit(whole, reply)
            else:
                reply.refuse(whole)
        elif uploaded:
            raise ProtocolError("a submission with uploads is answered when it is accepted")
        elif isinstance(whole, Submission):
            self._handler.compute(whole, request.wanted, self._waiting(number))
        else:
            self._waiting(number).refuse(whole)

    async def _fetch(self, context: CallContext) -> None:
        reply: CallReply[Fetched] = CallReply()
        self._fetches[reply] = None
        self._handler.fetch(ObjectId(context.params.object), reply)
        with _refusals_into(context):
            fetched = await self._patiently(reply)
            results = context.results
            write_object_report(results.init("report"), fetched.report)
            if fetched.data is None:
                results.holder = fetched.holder
            else:
                results.inline = True
                results.data = bytes(fetched.data)

    async def _update(self, context: CallContext) -> None:
        params = context.params
        with reading("update"):
            tasks: list[TaskId] = list(params.tasks)
            objects: list[ObjectId] = list(params.objects)
        reply: CallReply[tuple[Sequence[TaskReport], Sequence[ObjectReport]]] = CallReply()
        self._handler.update(tasks, objects, reply)
        with _refusals_into(context):
            task_reports, object_reports = await reply.value()
            write_task_reports(context.results, "tasks", task_reports)
            write_described_objects(context.results, object_reports)

    async def _server_info(self, context: CallContext) -> None:
        reply: CallReply[Sequence[GovernorReport]] = CallReply()
        self._handler.server_info(reply)
        with _refusals_into(context):
            write_governor_reports(context.results, "governors", await reply.value())

    async def _terminate(self, context: CallContext) -> None:  # as all methods
        self._handler.terminate()

    async def _patiently(self, reply: CallReply[Fetched]) -> Fetched:
        """The answer of a fetch, which its caller may give up."""
        try:
            return await reply.value()
        except asyncio.CancelledError:
            self._give_up(reply)
            raise
        finally:
            self._fetches.pop(reply, None)

    def _left(self, cause: str) -> None:
        for waiting in self._waits.values():
            self._handler.abandoned(waiting)
        self._waits.clear()
        for fetch in list(self._fetches):
            self._give_up(fetch)
        self._uploads.close()
        self._handler.left(cause)

    def _give_up(self, fetch: CallReply[Fetched]) -> None:
        """Reports a fetch that nobody waits for any more, once."""
        if fetch in self._fetches and not fetch.told:
            del self._fetches[fetch]
            self._handler.abandoned(fetch)


class SubmissionReply(PlainReply[None]):
    """What was uploaded for a submission belongs to its session, or is not wanted."""

    def __init__(
        self,
        connection: Connection,
        number: int,
        uploads: Uploads,
        uploaded: Sequence[ObjectId],
    ) -> None:
        super().__init__(connection, number, write_done)
        self._uploads = uploads
        self._uploaded = uploaded

    def answer(self, value: None, /) -> None:
        self._uploads.accept(self._uploaded)
        super().answer(value)

    def refuse(self, reason: str | SessionFailure, /) -> None:
        self._uploads.discard(self._uploaded)
        super().refuse(reason)


def _write_fitting(number: int, answer: WaitAnswer) -> bytes:
    slim = slim_delivery(answer.delivery)
    if slim is not answer.delivery:
        answer = evolve(answer, delivery=slim)
    return write_waited(number, answer)
