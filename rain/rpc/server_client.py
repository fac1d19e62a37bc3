"""The server's side of one client: calls become calls of the handler, replies become results."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from attrs import evolve

from rain.base.errors import ProtocolError
from rain.base.ids import ObjectId, SessionId, TaskId
from rain.base.wire import (
    Fetched,
    GovernorReport,
    ObjectReport,
    TaskReport,
    WaitAnswer,
)
from rain.rpc import schema
from rain.rpc.codec.answers import (
    write_governor_reports,
    write_object_report,
    write_object_reports,
    write_refusal,
    write_task_reports,
    write_wait_answer,
)
from rain.rpc.codec.border import CallContext, OfferedServer, reading
from rain.rpc.codec.failures import read_on_failure
from rain.rpc.codec.split import slim_delivery
from rain.rpc.codec.submission import read_submission, read_uploaded
from rain.rpc.connection import Connection
from rain.rpc.handlers import ClientHandler, ServerHandler
from rain.rpc.offer import offer
from rain.rpc.pending import PENDING_LIMIT, PendingSubmission
from rain.rpc.replies import CallReply, Refused

L = TypeVar("L", bound=WaitAnswer | Fetched)  # what takes long

_WAIT_MODES = ("all", "some", "session")  # in the order of the schema's numbers


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
        self._long: dict[CallReply[Any], None] = {}
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
                "openSession": self._open_session,
                "closeSession": self._close_session,
                "submit": self._submit,
                "unkeep": self._unkeep,
                "wait": self._wait,
                "fetch": self._fetch,
                "update": self._update,
                "serverInfo": self._server_info,
            },
        )

    async def _open_session(self, context: CallContext) -> None:
        params = context.params
        with reading("open session"):
            name, user = params.name, params.user
            on_failure = read_on_failure(params.onFailure.raw)
        reply: CallReply[SessionId] = CallReply()
        self._handler.open_session(name, user, on_failure, reply)
        with _refusals_into(context):
            context.results.session = await reply.value()

    async def _close_session(self, context: CallContext) -> None:
        reply: CallReply[None] = CallReply()
        self._handler.close_session(SessionId(context.params.session), reply)
        with _refusals_into(context):
            await reply.value()

    async def _submit(self, context: CallContext) -> None:
        params = context.params
        with reading("a submission"):
            part = params.part
            submission, uploaded, last = read_submission(part), read_uploaded(part), params.last
        with _refusals_into(context):
            if last and (upload_refusal := self._uploads.take_refusal()):
                # This part is all that was sent of a submission whose upload was refused.
                self._uploads.discard()
                raise Refused(upload_refusal)
            refusal = self._pending.add(submission, uploaded)
            if last:
                await self._apply()
            elif refusal:
                raise Refused(refusal)

    async def _apply(self) -> None:
        """A submission is whole; what was uploaded for one that is refused is not wanted."""
        whole, uploaded = self._pending.take()
        try:
            if isinstance(whole, str):
                raise Refused(whole)
            whole.check()
            reply: CallReply[None] = CallReply()
            self._handler.submit(whole, reply)
            await reply.value()
        except Refused:
            self._uploads.discard(uploaded)
            raise
        self._uploads.accept(uploaded)

    async def _unkeep(self, context: CallContext) -> None:
        with reading("unkeep"):
            objects = list(context.params.objects)
        reply: CallReply[None] = CallReply()
        self._handler.unkeep(objects, reply)
        with _refusals_into(context):
            await reply.value()

    async def _wait(self, context: CallContext) -> None:
        params = context.params
        with reading("wait"):
            session = SessionId(params.session)
            tasks: list[TaskId] = list(params.tasks)
            objects: list[ObjectId] = list(params.objects)
            number: int = params.mode.raw
        if number >= len(_WAIT_MODES):
            raise ProtocolError(f"wait: there is no mode number {number}")
        reply: CallReply[WaitAnswer] = CallReply()
        self._long[reply] = None
        self._handler.wait(session, tasks, objects, _WAIT_MODES[number], reply)
        with _refusals_into(context):
            answer = await self._patiently(reply)
            fitting = evolve(answer, delivery=slim_delivery(answer.delivery))
            write_wait_answer(context.results.init("answer"), fitting)

    async def _fetch(self, context: CallContext) -> None:
        reply: CallReply[Fetched] = CallReply()
        self._long[reply] = None
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
            write_object_reports(context.results, "objects", object_reports)

    async def _server_info(self, context: CallContext) -> None:
        reply: CallReply[Sequence[GovernorReport]] = CallReply()
        self._handler.server_info(reply)
        with _refusals_into(context):
            write_governor_reports(context.results, "governors", await reply.value())

    async def _patiently(self, reply: CallReply[L]) -> L:
        """The answer of a wait or a fetch, which its caller may give up."""
        try:
            return await reply.value()
        except asyncio.CancelledError:
            self._abandon(reply)
            raise
        finally:
            self._long.pop(reply, None)

    def _left(self, cause: str) -> None:
        for reply in list(self._long):
            self._abandon(reply)
        self._uploads.close()
        self._handler.left(cause)

    def _abandon(self, reply: CallReply[Any]) -> None:
        """Reports a wait or a fetch that nobody waits for any more, once."""
        if reply in self._long and not reply.told:
            del self._long[reply]
            self._handler.abandoned(reply)
