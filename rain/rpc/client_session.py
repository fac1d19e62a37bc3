"""The calls of a client, as coroutines in the thread of its connection."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from rain.base.errors import ConnectionLostError, RefusedError, SessionFailedError
from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, SessionId, TaskId, session_of
from rain.base.wire import (
    Fetched,
    GovernorReport,
    ObjectReport,
    Submission,
    TaskReport,
    WaitAnswer,
)
from rain.rpc.client_calls import Calls
from rain.rpc.client_submit import send_submission
from rain.rpc.codec.answers import (
    read_governor_reports,
    read_object_report,
    read_object_reports,
    read_task_reports,
    read_wait_answer,
)
from rain.rpc.codec.border import reading
from rain.rpc.codec.failures import on_failure_number
from rain.stream.reading import StreamReader

FETCHES_IN_FLIGHT = 64
REPORTS_AT_ONCE = 10_000


class ClientSession:
    """The calls that `ClientConnection` makes in its thread.

    A call that comes after a submission must reach the server after it. `_gate` is held while a
    submission is being sent, and everybody else passes through it before sending.
    """

    def __init__(self, calls: Calls, reader: StreamReader) -> None:
        self._calls = calls
        self._reader = reader
        self._gate = asyncio.Lock()
        self._sending: dict[SessionId, list[asyncio.Task[None]]] = {}
        # What went wrong with a submission that nobody waited for: told by the next call that
        # concerns its session.
        self._failed: dict[SessionId, Exception] = {}

    def close(self) -> None:
        self._calls.close()

    async def open_session(self, name: str, user: str, on_failure: OnFailure) -> SessionId:
        await self._pass()
        request = self._calls.service.openSession_request()
        request.name, request.user = name, user
        request.onFailure = on_failure_number(on_failure)
        results = await self._calls.answer(request.send())
        return SessionId(results.session)

    async def close_session(self, session: SessionId) -> None:
        await self._pass()
        await self._calls.answer(self._calls.service.closeSession(session=session))

    async def submit(self, submission: Submission) -> None:
        """Returns when the submission is accepted. Whoever gives up waiting does not stop it."""
        self._raise_failure(submission.session)
        await asyncio.shield(self._start(submission))

    def submit_soon(self, submission: Submission) -> None:
        """Sends a submission; its refusal is told by the next call that concerns its session."""
        task = self._start(submission)

        def ended(task: asyncio.Task[None]) -> None:
            error = None if task.cancelled() else task.exception()
            if isinstance(error, Exception):
                self._failed.setdefault(submission.session, error)

        task.add_done_callback(ended)

    async def unkeep(self, objects: Sequence[ObjectId]) -> None:
        if objects:
            async with self._concerning(session_of(objects[0])):
                await self._calls.answer(self._calls.service.unkeep(objects=list(objects)))

    async def wait(
        self,
        session: SessionId,
        tasks: Sequence[TaskId],
        objects: Sequence[ObjectId],
        mode: str,
        timeout: float | None,
    ) -> WaitAnswer:
        async with asyncio.timeout(timeout), self._concerning(session):
            call = self._calls.service.wait(
                session=session, tasks=list(tasks), objects=list(objects), mode=mode
            )
            results = await self._calls.answer(call)
            with reading("the answer to a wait"):
                return read_wait_answer(results.answer)

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
        await self._pass()
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
                object_reports += read_object_reports(results.objects)
        return task_reports, object_reports

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

    async def _pass(self) -> None:
        """Waits until the submissions before are sent."""
        async with self._gate:
            pass

    def _start(self, submission: Submission) -> asyncio.Task[None]:
        task = asyncio.create_task(self._send(submission))
        self._sending.setdefault(submission.session, []).append(task)

        def forget(task: asyncio.Task[None]) -> None:
            sending = self._sending[submission.session]
            sending.remove(task)
            if not sending:
                del self._sending[submission.session]

        task.add_done_callback(forget)
        return task

    async def _send(self, submission: Submission) -> None:
        async with self._gate:
            calls = await send_submission(self._calls, self._reader, submission)
        failure: Exception | None = None
        for call in calls:
            try:
                await self._calls.answer(call)
            except (RefusedError, SessionFailedError, ConnectionLostError) as error:
                failure = failure or error
        if failure is not None:
            raise failure

    @asynccontextmanager
    async def _concerning(self, session: SessionId) -> AsyncGenerator[None, None]:
        """Around a call that concerns a session: a submission that failed before is told first."""
        self._raise_failure(session)
        await self._pass()
        try:
            yield
        except (RefusedError, SessionFailedError):
            # Most likely it was refused because of that submission, whose answer is on its way.
            await self._settle(session)
            raise
        await self._settle(session)

    async def _settle(self, session: SessionId) -> None:
        sending = self._sending.get(session)
        if sending:
            await asyncio.wait(list(sending))
        self._raise_failure(session)

    def _raise_failure(self, session: SessionId) -> None:
        failure = self._failed.pop(session, None)
        if failure is not None:
            raise failure
