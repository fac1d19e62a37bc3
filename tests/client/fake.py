"""A server in a list: a connection that remembers what it is asked, and answers at once.

Every task is finished as soon as somebody waits for it. The bytes of constants are kept; those of
outputs are what a test puts into `outputs`, or b"".
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from secrets import token_bytes
from typing import Any

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
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.answers import (
    Delivery,
    Fetched,
    GovernorReport,
    HoldUps,
    JoinedSession,
    ObjectReport,
    Overview,
    TaskReport,
    WaitAnswer,
)
from rain.base.wire.printed import PrintedLines, Watch
from rain.base.wire.requests import (
    Cancel,
    CancelUnstarted,
    CloseSession,
    Fetch,
    HandlesGone,
    JoinSession,
    OpenDashboard,
    OpenSession,
    OverviewOf,
    ReportsOf,
    Request,
    ServerInfo,
    Statement,
    Submit,
    TakeHandles,
    TakePrinted,
    Terminate,
    Unkeep,
    WaitFor,
    WatchPrinted,
    WhatHoldsUp,
)
from rain.base.wire.submission import Submission
from rain.client import Client
from rain.client.session import Session
from rain.stream.ranges import Piece, Range, piece_of
from rain.stream.staged import Staged

Then = Callable[[Any], object]


class FakeConnection:
    """Implements `rain.client.connection.Connection`."""

    here = None
    is_interrupted_here = False
    address = ""
    returns = True
    is_waited_for = False

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
        self.done: list[int] = []  # tasks, in the order of their ends; told to the follower
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

    def at_each_beat(self, call: Callable[[], object]) -> None:
        self.beat = call

    # What the client asks.

    def ask(self, request: Request[Any], timeout: float | None = None) -> Any:
        match request:
            case WaitFor():
                return self._wait(request, timeout)
            case Submit(submission):
                return self.submit(submission)
            case Fetch():
                return self.ask_all([request])[0]
            case ReportsOf():
                return self._reports(request)
            case Unkeep(objects):
                self._called("unkeep", request.concerns)
                return self._unkeep(objects)
            case TakeHandles():
                self._called("take_handles", request.concerns)
                return self._take(request)
            case CancelUnstarted(_, objects):
                self._called("cancel_unstarted")
                self.asked_unstarted.append(list(objects))
                return [one for one in objects if one not in self.running]
            case _:
                return self._ask_server(request)

    def _ask_server(self, request: Request[Any]) -> Any:
        match request:
            case OpenSession(name):
                self._called("open_session")
                session = SessionId(len(self.sessions) + 1)
                self.sessions[session] = name
                return session
            case JoinSession(session, name, numbers):
                self._called("join_session")
                self.joins += numbers
                first = FIRST_SHARED + (self.joins - 1) * SHARED_RANGE if numbers else 0
                return JoinedSession(session, name or "joined", OnFailure.STOP, first)
            case ServerInfo():
                self._called("server_info")
                task, obj = TaskId(1 << 32 | 10), ObjectId(1 << 32 | 11)
                return [GovernorReport("127.0.0.1:1000", (task,), (obj,), (), (("cpus", 4),))]
            case OverviewOf(of):
                self._called("overview", of)
                return self.of_session if of else Overview(2, 8, 10, 3, 5, "0.0.0.0:7222")
            case TakePrinted(wait):
                assert wait
                return self.lines.get()
            case OpenDashboard():
                self._called("dashboard")
                return "0.0.0.0:7222"
            case CloseSession(session):
                self._called("close_session", session)
            case WhatHoldsUp(past):
                assert past
                return HoldUps()  # not noted: every client asks this before it leaves
            case _:
                assert isinstance(request, Terminate)
                self._called("terminate")
        return None

    def ask_all(self, requests: Sequence[Request[Any]]) -> Sequence[Any]:
        asked = [request.object for request in requests if isinstance(request, Fetch)]
        assert len(asked) == len(requests)
        self._called("fetch" if len(asked) == 1 else "fetch_many", session_of(asked[0]))
        return [self._fetched(object_id) for object_id in asked]

    def ask_then(self, request: Request[Any], then: Callable[[Any], object]) -> None:
        match request:
            case Submit(submission, wanted):
                self.submit(submission)
                self.answers.append((list(wanted), then))
            case WaitFor(mode="news", since=since):
                self._called("follow")
                self.followed.append((since, then))
            case WaitFor(objects=(object_id,)):
                self._called("ask_why")
                self.asked_why.append((object_id, then))
            case TakeHandles(objects):
                self._called("take_handles_then")
                gone = [one for one in objects if one in self.unknown]
                if gone:
                    then(RefusedError(f"the data object {spell(gone[0])} is unknown"))
                else:
                    then(self._take(request))
            case _:
                raise AssertionError(f"nobody asks this: {request}")

    def begin(self, submit: Submit) -> Callable[[], WaitAnswer]:
        self.calls.append("begin")
        self.submit(submit.submission)
        return lambda: self._wait(WaitFor(submit.concerns, (), submit.wanted, "all"))

    def say(self, said: Statement | WatchPrinted | CloseSession | Submit) -> None:
        match said:
            case Submit(submission):
                self.calls.append("submit_soon")
                self.submit(submission)
            case CloseSession(session):
                self._called("close_session")
                del self.sessions[session]
            case Cancel(_, tasks, objects, whole, always, recursive, grace):
                self._called("cancel")
                self.cancelled_hows.append((recursive, grace))
                self.cancelled.append((list(tasks), list(objects), whole))
                self.always = always
            case HandlesGone(tasks, objects):
                self._called("handles_gone")
                self.gone_tasks += tasks
                self._unkeep(objects)
            case WatchPrinted(watch):
                self._called("watch")
                self.watches.append(watch)
                if watch is None:
                    self.lines.put([])

    def has_left(self, submission: Submission) -> bool:
        return self.left

    def stage(self, parts: Sequence[bytes | memoryview]) -> Staged | None:
        return None

    def complete(self, fetched: Fetched, into: Path | None = None) -> Fetched:
        if into is None or fetched.data is None:
            return fetched
        into.write_bytes(fetched.data)
        return Fetched(fetched.report)

    def complete_all(self, fetched: Sequence[Fetched]) -> list[Fetched]:
        return [self.complete(one) for one in fetched]

    def piece(self, fetched: Fetched, wanted: Range) -> Piece:
        assert fetched.data is not None
        return piece_of(fetched.data, wanted)

    def give_up(self) -> None:
        self._called("give_up")

    def close(self) -> None:
        self._called("close")
        self.closed = True

    # How it answers.

    def submit(self, submission: Submission) -> None:
        self._called("submit", submission.session)
        submission.check()
        self.submissions.append(submission)
        self.data.update(zip(submission.constants.ids, submission.constants.data, strict=True))
        for output in submission.tasks.outputs:
            self.data[output] = self.outputs.get(output, b"")
        self.kept.update(submission.kept)
        self.on_submit()

    def _wait(self, asked: WaitFor, timeout: float | None = None) -> WaitAnswer:
        tasks, objects, mode = asked.tasks, asked.objects, asked.mode
        self.waits.append((list(tasks), list(objects), mode, timeout))
        self._called("wait", asked.session)
        if mode in ("news", "glance"):
            news = [TaskId(task) for task in self.done[asked.since :]]
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

    def _unkeep(self, objects: Sequence[ObjectId]) -> None:
        self.unkept.append(list(objects))
        self.kept.difference_update(objects)
        self.on_unkeep()

    def _take(self, asked: TakeHandles) -> Sequence[ObjectReport]:
        self.taken += [(one, asked.wants_data) for one in asked.objects]
        return self._reports(ReportsOf((), asked.objects))[1]

    def _data_of(self, obj: int) -> bytes:
        return self.outputs.get(obj, self.data.get(obj, b""))

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

    def _reports(self, request: ReportsOf) -> tuple[Sequence[TaskReport], Sequence[ObjectReport]]:
        asked = (*request.tasks, *request.objects)
        self._called("logs" if request.logs else "update", session_of(asked[0]) if asked else None)
        return (
            [
                TaskReport(
                    task,
                    TaskState.RUNNING if task in self.unfinished else TaskState.FINISHED,
                    user='{"note": 1}',
                    debug="a line",
                    logs=f"printed by {task}" if request.logs else "",
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
                for task in request.tasks
            ],
            [
                ObjectReport(obj, ObjectState.UNFINISHED)
                if obj in self.unfinished
                else self._fetched(obj).report
                for obj in request.objects
            ],
        )

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
