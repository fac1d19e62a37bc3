"""The server's side of one client: calls become calls of the handler, replies become results."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar, assert_never

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
from rain.rpc.codec.border import Builder, OfferedServer, Reader
from rain.rpc.codec.failures import on_failure_number
from rain.rpc.codec.requests import (
    Abandon,
    Cancel,
    CloseSession,
    HandlesGone,
    OpenSession,
    Request,
    SubmitPart,
    Unkeep,
    Wait,
    read_request,
)
from rain.rpc.codec.responses import write_done, write_opened, write_waited
from rain.rpc.codec.split import slim_delivery
from rain.rpc.connection import Connection
from rain.rpc.handlers import ClientHandler, ServerHandler, Uploads
from rain.rpc.offer import Method, Write, nothing, offer
from rain.rpc.pending import PENDING_LIMIT, PendingSubmission
from rain.rpc.replies import CallReply, PlainReply, Refused, UnsentReply

T = TypeVar("T")


def _refusable(read: Callable[[Reader], T], serve: Callable[[T], Awaitable[Write]]) -> Method[T]:
    """A method whose results may be a refusal."""

    async def serve_or_refuse(asked: T) -> Write:
        try:
            return await serve(asked)
        except Refused as refused:
            reason = refused.reason
            return lambda results: write_refusal(results.init("refusal"), reason)

    return Method(read, serve_or_refuse)


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
        connection.hear(read_request, self._heard)
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
                "joinSession": _refusable(_read_join, self._join_session),
                "fetch": _refusable(_read_fetch, self._fetch),
                "update": _refusable(_read_update, self._update),
                "serverInfo": _refusable(nothing, self._server_info),
                "terminate": Method(nothing, self._terminate),
            },
        )

    async def _join_session(self, asked: tuple[SessionId, str, bool]) -> Write:
        reply: CallReply[JoinedSession] = CallReply()
        self._handler.join_session(*asked, reply)
        return partial(_write_joined, await reply.value())

    def _heard(self, said: tuple[int, Request]) -> None:
        """One request, in a plain message."""
        number, request = said
        match request:
            case SubmitPart():
                self._take_part(number, request)
            case Wait(session, tasks, objects, mode, since):
                self._handler.wait(session, tasks, objects, mode, since, self._waiting(number))
            case Abandon():
                waiting = self._waits.pop(number, None)
                if waiting is not None:  # else it was answered meanwhile
                    self._handler.abandoned(waiting)
            case Cancel(session, tasks, objects, whole):
                self._handler.cancel(session, tasks, objects, whole=whole)
            case HandlesGone(tasks, objects):
                self._handler.handles_gone(tasks, objects)
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

    async def _fetch(self, object_id: ObjectId) -> Write:
        reply: CallReply[Fetched] = CallReply()
        self._fetches[reply] = None
        self._handler.fetch(object_id, reply)
        return partial(_write_fetched, await self._patiently(reply))

    async def _update(self, asked: tuple[list[TaskId], list[ObjectId], bool]) -> Write:
        reply: CallReply[tuple[Sequence[TaskReport], Sequence[ObjectReport]]] = CallReply()
        tasks, objects, logs = asked
        self._handler.update(tasks, objects, reply, logs=logs)
        return partial(_write_reports, await reply.value())

    async def _server_info(self, _: None) -> Write:
        reply: CallReply[Sequence[GovernorReport]] = CallReply()
        self._handler.server_info(reply)
        return partial(_write_info, await reply.value())

    async def _terminate(self, _: None) -> Write:  # async, as all methods
        self._handler.terminate()
        return nothing

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
        self._pending.clear()
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


def _read_join(params: Reader) -> tuple[SessionId, str, bool]:
    return SessionId(params.session), params.name, params.numbers


def _write_joined(joined: JoinedSession, results: Builder) -> None:
    results.session, results.name = joined.session, joined.name
    results.onFailure = on_failure_number(joined.on_failure)
    results.first = joined.first


def _read_fetch(params: Reader) -> ObjectId:
    return ObjectId(params.object)


def _write_fetched(fetched: Fetched, results: Builder) -> None:
    write_object_report(results.init("report"), fetched.report)
    if fetched.data is None:
        results.holder = fetched.holder
    else:
        results.inline = True
        results.data = bytes(fetched.data)


def _read_update(params: Reader) -> tuple[list[TaskId], list[ObjectId], bool]:
    return list(params.tasks), list(params.objects), params.logs


def _write_reports(
    reports: tuple[Sequence[TaskReport], Sequence[ObjectReport]], results: Builder
) -> None:
    tasks, objects = reports
    write_task_reports(results, "tasks", tasks)
    write_described_objects(results, objects)


def _write_info(reports: Sequence[GovernorReport], results: Builder) -> None:
    write_governor_reports(results, "governors", reports)


def _write_fitting(number: int, answer: WaitAnswer) -> bytes:
    slim = slim_delivery(answer.delivery)
    if slim is not answer.delivery:
        answer = evolve(answer, delivery=slim)
    return write_waited(number, answer)
