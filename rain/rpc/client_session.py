"""The calls of a client, as coroutines in the thread of its connection."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from rain.base.errors import RefusedError
from rain.base.ids import ObjectId, SessionId, TaskId, session_of
from rain.base.wire import (
    Fetched,
    GovernorReport,
    JoinedSession,
    ObjectReport,
    TaskReport,
)
from rain.rpc.background import Background
from rain.rpc.client_calls import Calls
from rain.rpc.client_requests import Put, Requests
from rain.rpc.client_submit import Upload, upload_all
from rain.rpc.codec.answers import (
    read_described_objects,
    read_governor_reports,
    read_object_report,
    read_task_reports,
)
from rain.rpc.codec.border import reading
from rain.rpc.codec.failures import read_on_failure
from rain.rpc.codec.responses import Answer
from rain.stream.reading import StreamReader

FETCHES_IN_FLIGHT = 64
REPORTS_AT_ONCE = 10_000


class ClientSession:
    """The calls that `ClientConnection` makes in its thread.

    A call that comes after a submission must reach the server after it, so everybody passes the
    submissions that are still being sent. And the answer to a submission comes before that to any
    call behind it: whoever is answered knows whether a submission before has failed.
    """

    def __init__(self, calls: Calls, reader: StreamReader, thread: Background) -> None:
        self._calls = calls
        self._reader = reader
        self.requests = Requests(calls.connection, calls.lost, thread)
        # What went wrong with a submission that nobody waited for: told by the next call that
        # concerns its session, in whatever thread.
        self.failed: dict[SessionId, Exception] = {}

    def announce_close(self) -> None:
        """From the thread that closes: nobody asks anything any more."""
        self._calls.announce_close()
        self.requests.refuse_more()

    def close(self) -> None:
        self._calls.close()

    def give_up(self) -> None:
        self._calls.give_up()

    def hush(self) -> None:
        self.requests.is_silent = True

    def upload_and_ask(
        self, number: int, messages: list[bytes], uploads: list[Upload], put: Put
    ) -> None:
        """Sends a submission behind its large constants. From the thread that asks."""
        self.requests.ask_after(
            number, messages, put, lambda: upload_all(self._reader, self._calls.key, uploads)
        )

    def note_failure(self, session: SessionId, answer: Answer | Exception) -> None:
        """Takes the answer to a submission that nobody waits for."""
        if isinstance(answer, Exception):
            self.failed.setdefault(session, answer)

    def note_refusal(self, session: SessionId, answer: Answer | Exception) -> None:
        """Takes the answer to a submission whose results nobody waits for any more.

        That one of its tasks has failed is no news of the submission.
        """
        if isinstance(answer, RefusedError):
            self.note_failure(session, answer)

    def raise_failure(self, session: SessionId) -> None:
        """Tells, once, that a submission of this session has failed."""
        failure = self.failed.pop(session, None)
        if failure is not None:
            raise failure

    async def join_session(self, session: SessionId, name: str, numbers: bool) -> JoinedSession:
        await self.requests.passed()
        request = self._calls.service.joinSession_request()
        request.session, request.name, request.numbers = session, name, numbers
        results = await self._calls.answer(request.send())
        with reading("a joined session"):
            return JoinedSession(
                SessionId(results.session),
                results.name,
                read_on_failure(results.onFailure.raw),
                results.first,
            )

    async def terminate(self) -> None:
        await self.requests.passed()
        await self._calls.answer(self._calls.service.terminate())

    async def fetch(self, object_id: ObjectId) -> Fetched:
        async with self._concerning(session_of(object_id)):
            return await self._fetch(object_id)

    async def fetch_many(self, object_ids: Sequence[ObjectId]) -> list[Fetched]:
        if not object_ids:
            return []
        room = asyncio.Semaphore(FETCHES_IN_FLIGHT)

        async def one(object_id: ObjectId) -> Fetched:
            async with room:
                return await self._fetch(object_id)

        async with self._concerning(session_of(object_ids[0])):
            fetches = [asyncio.create_task(one(object_id)) for object_id in object_ids]
            try:
                return [await fetch for fetch in fetches]
            finally:
                for fetch in fetches:
                    fetch.cancel()
                await asyncio.gather(*fetches, return_exceptions=True)

    async def update(
        self, tasks: Sequence[TaskId], objects: Sequence[ObjectId]
    ) -> tuple[list[TaskReport], list[ObjectReport]]:
        """Reports of tasks and objects; in several messages when there are many."""
        await self.requests.passed()
        task_reports: list[TaskReport] = []
        object_reports: list[ObjectReport] = []
        longest = max(len(tasks), len(objects), 1)
        for start in range(0, longest, REPORTS_AT_ONCE):
            end = start + REPORTS_AT_ONCE
            call = self._calls.service.update(
                tasks=list(tasks[start:end]), objects=list(objects[start:end])
            )
            results = await self._calls.answer(call)
            with reading("reports"):
                task_reports += read_task_reports(results.tasks)
                object_reports += read_described_objects(results.objects, results.described)
        return task_reports, object_reports

    async def logs(self, task: TaskId) -> str:
        """What a task has printed."""
        await self.requests.passed()
        call = self._calls.service.update(tasks=[task], objects=[], logs=True)
        results = await self._calls.answer(call)
        with reading("what a task has printed"):
            (report,) = read_task_reports(results.tasks)
        return report.logs

    async def server_info(self) -> list[GovernorReport]:
        results = await self._calls.answer(self._calls.service.serverInfo())
        with reading("the server's info"):
            return read_governor_reports(results.governors)

    async def _fetch(self, object_id: ObjectId) -> Fetched:
        """The report and the bytes, or who has them."""
        results = await self._calls.answer(self._calls.service.fetch(object=object_id))
        with reading("a fetched object"):
            data: bytes | None = results.data if results.inline else None
            return Fetched(read_object_report(results.report), data, results.holder)

    @asynccontextmanager
    async def _concerning(self, session: SessionId) -> AsyncGenerator[None, None]:
        """Around a call that concerns a session: a submission that failed before is told first."""
        self.raise_failure(session)
        await self.requests.passed()
        try:
            yield
        finally:
            # If the call was refused, it was most likely because of that submission.
            self.raise_failure(session)
