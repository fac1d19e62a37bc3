"""A server in a list: a connection that remembers what it is asked, and answers at once.

Every task is finished as soon as somebody waits for it. The bytes of constants are kept; those of
outputs are what a test puts into `outputs`, or b"".
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from secrets import token_bytes

from rain.base.errors import RefusedError, SessionFailedError
from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import (
    FIRST_SHARED,
    SHARED_RANGE,
    ObjectId,
    SessionId,
    TaskId,
    session_of,
    spell,
    unpack,
)
from rain.base.runs import RunReport, RunState
from rain.base.states import ObjectState, TaskState
from rain.base.wire import (
    INLINE_LIMIT,
    Delivery,
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
from rain.client import Client
from rain.client.session import Session

Then = Callable[[WaitAnswer | Exception], object]


class FakeConnection:
    """Implements `rain.client.connection.Connection`."""

    here = None

    def __init__(self) -> None:
        self.cluster = token_bytes(16)
        self.calls: list[str] = []
        self.sessions: dict[int, str] = {}
        self.submissions: list[Submission] = []
        self.data: dict[int, bytes] = {}
        self.outputs: dict[int, bytes] = {}
        self.content_types: dict[int, str] = {}
        self.notes: dict[int, str] = {}
        self.kept: set[int] = set()
        self.unkept: list[list[int]] = []
        self.gone_tasks: list[int] = []
        self.waits: list[tuple[list[int], list[int], str, float | None]] = []
        self.unfinished: set[int] = set()
        self.told = 0
        self.done: list[int] = []  # tasks, in the order of their ends; told to who follows
        self.failed_tasks: set[int] = set()  # those of them
        self.cancelled: list[tuple[list[int], list[int], bool]] = []
        self.cancelled_hows: list[tuple[bool, float | None]] = []
        self.always = False
        self.asked_unstarted: list[list[int]] = []
        self.running: set[int] = set()  # objects whose tasks run: these are not cancelled
        self.answers: list[tuple[list[ObjectId], Then]] = []
        self.followed: list[tuple[int, Then]] = []
        self.asked_why: list[tuple[ObjectId, Then]] = []
        self.errors: dict[str, BaseException] = {}
        self.failures: dict[int, SessionFailure] = {}
        self.on_unkeep: Callable[[], None] = lambda: None
        self.on_submit: Callable[[], None] = lambda: None
        self.taken: list[tuple[ObjectId, bool]] = []
        self.watches: list[Watch | None] = []
        self.lines: SimpleQueue[list[PrintedLines]] = SimpleQueue()  # that tasks print
        self.unknown: set[ObjectId] = set()  # objects of which no handle can be had
        self.deliver = True
        self.closed = False
        self.joins = 0
        self.of_session = Overview(2, 8, 4, 1, 2)
        self.left = False  # what was submitted last, although an error was raised

    def _called(self, name: str, session: int | None = None) -> None:
        self.calls.append(name)
        if name in self.errors:
            raise self.errors[name]
        if session in self.failures:
            raise SessionFailedError(self.failures[session])

    def open_session(
        self,
        name: str,
        user: str = "",
        on_failure: OnFailure = OnFailure.STOP,
        parent: TaskId | None = None,
    ) -> SessionId:
        self._called("open_session")
        session = SessionId(len(self.sessions) + 1)
        self.sessions[session] = name
        return session

    def join_session(self, session: SessionId, name: str, *, numbers: bool) -> JoinedSession:
        self._called("join_session")
        if not numbers:
            return JoinedSession(session, name or "joined", OnFailure.STOP, 0)
        self.joins += 1
        first = FIRST_SHARED + (self.joins - 1) * SHARED_RANGE
        return JoinedSession(session, name or "joined", OnFailure.STOP, first)

    def close_session(self, session: SessionId) -> None:
        self._called("close_session")
        del self.sessions[session]

    def submit(self, submission: Submission) -> None:
        self._called("submit", submission.session)
        submission.check()
        self.submissions.append(submission)
        self.data.update(zip(submission.constants.ids, submission.constants.data, strict=True))
        for output in submission.tasks.outputs:
            self.data[output] = self.outputs.get(output, b"")
        self.kept.update(submission.kept)
        self.on_submit()

    def submit_soon(self, submission: Submission) -> None:
        self.calls.append("submit_soon")
        self.submit(submission)

    def submit_and_wait(
        self, submission: Submission, objects: Sequence[ObjectId]
    ) -> Callable[[], WaitAnswer]:
        self.calls.append("submit_and_wait")
        self.submit(submission)
        return lambda: self.wait(submission.session, (), objects, "all")

    def has_left(self, session: SessionId) -> bool:
        return self.left

    def unkeep(self, objects: Sequence[ObjectId]) -> None:
        self._called("unkeep", session_of(objects[0]))
        self.unkept.append(list(objects))
        self.kept.difference_update(objects)
        self.on_unkeep()

    def wait(
        self,
        session: SessionId,
        tasks: Sequence[TaskId],
        objects: Sequence[ObjectId],
        mode: str,
        timeout: float | None = None,
        since: int = 0,
    ) -> WaitAnswer:
        self.waits.append((list(tasks), list(objects), mode, timeout))
        self._called("wait", session)
        if mode in ("news", "glance"):
            news = [TaskId(task) for task in self.done[since:]]
            if mode == "news" and not news:
                raise TimeoutError("the wait took too long")
            self.told += len(news)
            return WaitAnswer(news, failed=[task for task in news if task in self.failed_tasks])
        done_tasks = [task for task in tasks if task not in self.unfinished]
        done_objects = [obj for obj in objects if obj not in self.unfinished]
        complete = len(done_tasks) + len(done_objects) == len(tasks) + len(objects)
        if mode != "some" and (self.unfinished if mode == "session" else not complete):
            raise TimeoutError("the wait took too long")
        if mode == "some" and not (done_tasks or done_objects):
            raise TimeoutError("the wait took too long")
        delivery = Delivery()
        if self.deliver:
            for obj in sorted(self.kept):
                data = self._data_of(obj)
                if len(data) <= INLINE_LIMIT and obj not in self.notes:
                    delivery.ids.append(ObjectId(obj))
                    delivery.sizes.append(len(data))
                    delivery.content_types.append(self.content_types.get(obj, ""))
                    delivery.data.append(data)
        return WaitAnswer(done_tasks, done_objects, delivery)

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
        self._called("cancel")
        self.cancelled_hows.append((recursive, grace))
        self.cancelled.append((list(tasks), list(objects), whole))
        self.always = always

    def cancel_unstarted(
        self, session: SessionId, objects: Sequence[ObjectId]
    ) -> Sequence[ObjectId]:
        self._called("cancel_unstarted")
        self.asked_unstarted.append(list(objects))
        return [one for one in objects if one not in self.running]

    def submit_then(
        self,
        submission: Submission,
        objects: Sequence[ObjectId],
        then: Callable[[WaitAnswer | Exception], object],
    ) -> None:
        self.submit(submission)
        self.answers.append((list(objects), then))

    def follow(
        self, session: SessionId, since: int, then: Callable[[WaitAnswer | Exception], object]
    ) -> None:
        self._called("follow")
        self.followed.append((since, then))

    def ask_why(
        self,
        session: SessionId,
        object_id: ObjectId,
        then: Callable[[WaitAnswer | Exception], object],
    ) -> None:
        self._called("ask_why")
        self.asked_why.append((object_id, then))

    def handles_gone(self, tasks: Sequence[TaskId], objects: Sequence[ObjectId]) -> None:
        self._called("handles_gone")
        self.gone_tasks += tasks
        self.unkept.append(list(objects))
        self.kept.difference_update(objects)
        self.on_unkeep()

    def take_handles(
        self, objects: Sequence[ObjectId], *, wants_data: bool = False
    ) -> Sequence[ObjectReport]:
        self._called("take_handles", session_of(objects[0]))
        self.taken += [(one, wants_data) for one in objects]
        _, reports = self.update([], objects)
        return reports

    def take_handles_then(
        self,
        objects: Sequence[ObjectId],
        then: Callable[[Sequence[ObjectReport] | Exception], object],
    ) -> None:
        self._called("take_handles_then")
        self.taken += [(one, True) for one in objects]
        gone = [one for one in objects if one in self.unknown]
        if gone:
            then(RefusedError(f"the data object {spell(gone[0])} is unknown"))
        else:
            then(self.update([], objects)[1])

    def _data_of(self, obj: int) -> bytes:
        return self.outputs.get(obj, self.data.get(obj, b""))

    def fetch(self, object_id: ObjectId, into: Path | None = None) -> Fetched:
        self._called("fetch", session_of(object_id))
        fetched = self._fetched(object_id)
        if into is None or fetched.data is None:
            return fetched
        into.write_bytes(fetched.data)
        return Fetched(fetched.report)

    def _fetched(self, object_id: ObjectId) -> Fetched:
        data = self._data_of(object_id)
        report = ObjectReport(
            object_id,
            ObjectState.FINISHED,
            len(data),
            self.content_types.get(object_id, ""),
            self.notes.get(object_id, ""),
        )
        return Fetched(report, data)

    def fetch_many(self, object_ids: Sequence[ObjectId]) -> Sequence[Fetched]:
        self._called("fetch_many", session_of(object_ids[0]))
        return [self._fetched(object_id) for object_id in object_ids]

    def update(
        self, tasks: Sequence[TaskId], objects: Sequence[ObjectId]
    ) -> tuple[Sequence[TaskReport], Sequence[ObjectReport]]:
        asked = (*tasks, *objects)
        self._called("update", session_of(asked[0]) if asked else None)
        return (
            [
                TaskReport(
                    task,
                    TaskState.RUNNING if task in self.unfinished else TaskState.FINISHED,
                    user='{"note": 1}',
                    debug="a line",
                    runs=(
                        RunReport(
                            1,
                            "127.0.0.1:1000",
                            RunState.FINISHED,
                            told_time="2026-01-01T00:00:00Z",
                            start_time="2026-01-01T00:00:00Z",
                            duration=0.25,
                        ),
                    ),
                )
                for task in tasks
            ],
            [
                ObjectReport(obj, ObjectState.UNFINISHED)
                if obj in self.unfinished
                else self._fetched(obj).report
                for obj in objects
            ],
        )

    def logs(self, task: TaskId) -> str:
        self._called("logs", session_of(task))
        return f"printed by {task}"

    def watch(self, watch: Watch | None) -> None:
        self._called("watch")
        self.watches.append(watch)
        if watch is None:
            self.lines.put([])

    def printed(self, *, wait: bool) -> Sequence[PrintedLines]:
        assert wait
        return self.lines.get()

    def server_info(self) -> Sequence[GovernorReport]:
        self._called("server_info")
        task, obj = TaskId(1 << 32 | 10), ObjectId(1 << 32 | 11)
        return [GovernorReport("127.0.0.1:1000", (task,), (obj,), (), (("cpus", 4),))]

    def overview(self, session: SessionId | None = None) -> Overview:
        self._called("overview", session)
        return Overview(2, 8, 10, 3, 5, "0.0.0.0:7222") if session is None else self.of_session

    def dashboard(self) -> str:
        self._called("dashboard")
        return "0.0.0.0:7222"

    def terminate(self) -> None:
        self._called("terminate")

    def give_up(self) -> None:
        self._called("give_up")

    def close(self) -> None:
        self._called("close")
        self.closed = True

    # What tests ask.

    def kinds_told(self) -> tuple[list[str], list[str]]:
        """Names of the task kinds and labels of the object kinds, as they were told."""
        return (
            [kind.name for message in self.submissions for kind in message.task_kinds],
            [kind.label for message in self.submissions for kind in message.object_kinds],
        )

    def numbers(self, ids: Sequence[int]) -> list[int]:
        return [unpack(packed_id).id for packed_id in ids]


class World:
    """A client, its fake server, and one open session that is not active."""

    def __init__(self) -> None:
        self.server = FakeConnection()
        self.client = Client.over(self.server)
        self.session: Session = self.client.new_session("test")


@contextmanager
def world() -> Generator[World]:
    made = World()
    try:
        yield made
    finally:
        made.server.errors.clear()
        made.client.close()
