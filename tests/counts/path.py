"""The whole path of a task without processes, sockets or a clock, and a count of all that it takes.

The real client, the real reactors of a server and a governor, and the real codecs are joined by
queues; only what an executor computes is played. Everything happens in a fixed order, so that the
same program always costs the same: messages, bytes, turns, moves and calls of Python functions.
"""

from __future__ import annotations

import gc
import pathlib
import pickle
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import msgpack
from attrs import Factory, define

from rain.base.errors import RefusedError, SessionFailedError
from rain.base.failures import OnFailure
from rain.base.ids import ClientId, GovernorId, ObjectId, RequestId, SessionId, TaskId
from rain.base.requests import CloseSession, Fetch, OpenSession, ReportsOf, Submit, Unkeep, WaitFor
from rain.base.resources import Resources
from rain.base.wire import (
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
from rain.governor.calls import calls_frame
from rain.governor.messages import (
    CallExecutor,
    CallsDone,
    DropCached,
    EndStrays,
    ExecutorReady,
    OrdersReceived,
    SendUpdate,
    StartExecutor,
    Tick,
)
from rain.governor.messages import Effect as GovernorEffect
from rain.governor.messages import Event as GovernorEvent
from rain.governor.reactor import Reactor as GovernorReactor
from rain.rpc import schema
from rain.rpc.capnproto.layout import Layout
from rain.rpc.codec import from_bytes, to_bytes
from rain.rpc.codec.split import split_submission
from rain.rpc.codec.submission import SubmitPart, read_submit, write_submit
from rain.scheduler import DEFAULT
from rain.scheduler.shipped import SCHEDULERS
from rain.server.messages import (
    AnswerDone,
    AnswerFetch,
    AnswerSession,
    AnswerStates,
    AnswerWait,
    Asked,
    ClientJoined,
    GovernorJoined,
    GovernorUpdated,
    OrderGovernor,
    Refuse,
    TurnInput,
)
from rain.server.messages import Effect as ServerEffect
from rain.server.reactor import Reactor as ServerReactor
from rain.server.state import ReactorSettings, State
from tests.counts.counting import Counted, nobody_counts

V = TypeVar("V")

CPUS = 2
INSTANT = 0.0002  # seconds between two steps: about what a message takes to the next process
TASK_SECONDS = 0.00001
RESULT = pickle.dumps(1)

CLIENT = ClientId(1)
GOVERNOR = GovernorId(1)

_SUBMISSION = Layout.of(schema.client.Submission)


@define(eq=False)
class PlayedExecutor:
    """Answers every call with the same small value, all that one frame brings at once."""

    number: int
    outputs: dict[int, int] = Factory(dict)  # how many, by the kind of task
    frames: deque[CallExecutor] = Factory(deque)
    now: float = 1000.0123  # when it begins its next call

    def answer(self, counted: Counted) -> CallsDone:
        done = CallsDone(self.number, [], [], [])
        while self.frames:
            frame = self.frames.popleft()
            self.outputs.update({kind.id: len(kind.outputs) for kind in frame.task_kinds})
            for task, kind, *_ in frame.calls:
                results: list[Any] = [RESULT] * self.outputs[kind]
                start, self.now = self.now, self.now + TASK_SECONDS
                row: bytes = msgpack.packb([task, start, self.now, results])
                counted["bytes executor to governor"] += len(row)
                done.tasks.append(task)
                done.starts.append(start)
                done.durations.append(TASK_SECONDS)
                done.results.append(results)
        counted["messages executor to governor"] += 1
        return done


class Path:
    """Implements `rain.client.connection.Connection`; `counted` is what has happened so far."""

    cluster = b"the only one"
    here = None

    def __init__(self) -> None:
        self.counted = Counted()
        self._owner = threading.current_thread()
        self.now = 1000.0
        self._state = State(ReactorSettings(governor_silence=1e9))
        self._server = ServerReactor(SCHEDULERS[DEFAULT], self._state)
        self._inbox = TurnInput(self.now)
        self._server_due = self.now
        self._governor = GovernorReactor(
            Resources(CPUS), frozenset({"py"}), linger_seconds=5.0, now=self.now
        )
        self._events: list[GovernorEvent] = []
        self._executors: dict[int, PlayedExecutor] = {}
        self._answers: dict[RequestId, Any] = {}
        self._unread: list[RequestId] = []  # answers that the client looks at with its next call
        self._last_request = 0
        self._inbox.from_governors.append(GovernorJoined(GOVERNOR, "127.0.0.1:1", Resources(CPUS)))
        self._inbox.from_clients.append(ClientJoined(CLIENT))

    # What the client asks.

    def open_session(
        self,
        name: str,
        user: str = "",
        on_failure: OnFailure = OnFailure.STOP,
        parent: TaskId | None = None,
    ) -> SessionId:
        request = self._ask(
            lambda number: Asked(CLIENT, number, OpenSession(name, user, on_failure, parent))
        )
        session: SessionId = self._answer(request)
        return session

    def close_session(self, session: SessionId) -> None:
        self._answer(self._ask(lambda number: Asked(CLIENT, number, CloseSession(session))))

    def submit(self, submission: Submission) -> None:
        self._answer(self._submit(submission))

    def submit_soon(self, submission: Submission) -> None:
        self._unread.append(self._submit(submission))

    def _submit(self, submission: Submission, wanted: Sequence[ObjectId] = ()) -> RequestId:
        with nobody_counts():
            (part,) = split_submission(submission)  # what is counted here fits into one message
            submit = SubmitPart(part, (), last=True, wanted=wanted)
            encoded = _SUBMISSION.write(write_submit(submit))
            self.counted.message("client to server", len(encoded))
            request = read_submit(_SUBMISSION.read(encoded))
            arrived, objects = request.part, tuple(request.wanted)
            return self._ask(
                lambda number: Asked(CLIENT, number, Submit(arrived, objects)), told=True
            )

    def submit_and_wait(
        self, submission: Submission, objects: Sequence[ObjectId]
    ) -> Callable[[], WaitAnswer]:
        request = self._submit(submission, objects)
        return partial(self._answer, request)

    def has_left(self, session: SessionId) -> bool:
        return False

    def unkeep(self, objects: Sequence[ObjectId]) -> None:
        self._answer(self._ask(lambda number: Asked(CLIENT, number, Unkeep(tuple(objects)))))

    def wait(
        self,
        session: SessionId,
        tasks: Sequence[TaskId],
        objects: Sequence[ObjectId],
        mode: str,
        timeout: float | None = None,
        since: int = 0,
    ) -> WaitAnswer:
        named = tuple(tasks), tuple(objects)
        request = self._ask(
            lambda number: Asked(CLIENT, number, WaitFor(session, *named, mode, since))
        )
        answer: WaitAnswer = self._answer(request)
        return answer

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
        raise AssertionError("nobody is interrupted here")

    def cancel_unstarted(
        self, session: SessionId, objects: Sequence[ObjectId]
    ) -> Sequence[ObjectId]:
        raise AssertionError("nobody uses futures here")

    def submit_then(
        self,
        submission: Submission,
        objects: Sequence[ObjectId],
        then: Callable[[WaitAnswer | Exception], object],
    ) -> None:
        raise AssertionError("nobody uses futures here")

    def follow(
        self, session: SessionId, since: int, then: Callable[[WaitAnswer | Exception], object]
    ) -> None:
        raise AssertionError("nobody uses futures here")

    def ask_why(
        self,
        session: SessionId,
        object_id: ObjectId,
        then: Callable[[WaitAnswer | Exception], object],
    ) -> None:
        raise AssertionError("nobody uses futures here")

    def handles_gone(self, tasks: Sequence[TaskId], objects: Sequence[ObjectId]) -> None:
        """Left to the end of the session: a thread tells it, some time, which cannot be counted."""

    def take_handles(
        self, objects: Sequence[ObjectId], *, wants_data: bool = False
    ) -> Sequence[ObjectReport]:
        raise AssertionError("nobody shares a session here")

    def take_handles_then(
        self,
        objects: Sequence[ObjectId],
        then: Callable[[Sequence[ObjectReport] | Exception], object],
    ) -> None:
        raise AssertionError("no future is unpickled here")

    def fetch(self, object_id: ObjectId, into: pathlib.Path | None = None) -> Fetched:
        assert into is None, "nothing large is counted here"
        return self.fetch_many([object_id])[0]

    def fetch_many(self, object_ids: Sequence[ObjectId]) -> Sequence[Fetched]:
        asked = [
            self._ask(lambda number, one=one: Asked(CLIENT, number, Fetch(one)))  # type: ignore[misc] # mypy cannot infer a lambda's default
            for one in object_ids
        ]
        return [self._answer(request) for request in asked]

    def update(
        self, tasks: Sequence[TaskId], objects: Sequence[ObjectId]
    ) -> tuple[Sequence[TaskReport], Sequence[ObjectReport]]:
        named = tuple(tasks), tuple(objects)
        answer: tuple[Sequence[TaskReport], Sequence[ObjectReport]] = self._answer(
            self._ask(lambda number: Asked(CLIENT, number, ReportsOf(*named)))
        )
        return answer

    def logs(self, task: TaskId) -> str:
        raise AssertionError("nobody asks for logs here")

    def watch(self, watch: Watch | None) -> None:
        raise AssertionError("nobody watches here")

    def printed(self, *, wait: bool) -> Sequence[PrintedLines]:
        raise AssertionError("nobody watches here")

    def dashboard(self) -> str:
        raise AssertionError("nobody asks for a dashboard here")

    def server_info(self) -> Sequence[GovernorReport]:
        return [self._governor.report("127.0.0.1:1")]

    def overview(self, session: SessionId | None = None) -> Overview:
        raise AssertionError("nobody asks for an overview here")

    def join_session(self, session: SessionId, name: str, *, numbers: bool) -> JoinedSession:
        raise NotImplementedError("these programs join nobody")

    def terminate(self) -> None:
        raise NotImplementedError("these programs end nobody")

    def give_up(self) -> None:
        raise NotImplementedError("nobody dies here")

    def close(self) -> None:
        """There is nothing to close."""

    def _ask(self, event: Callable[[RequestId], Any], *, told: bool = False) -> RequestId:
        if not told:  # it is short: its length is that of nothing but ids
            self.counted["messages client to server"] += 1
        self._last_request += 1
        request = RequestId(self._last_request)
        self._inbox.from_clients.append(event(request))
        return request

    def _answer(self, request: RequestId) -> Any:
        """Lets time pass until the answer is there."""
        assert threading.current_thread() is self._owner, "turns must not depend on threads"
        with nobody_counts():
            for earlier in (*self._unread, request):
                while earlier not in self._answers:
                    self._step()
            for earlier in self._unread:
                _granted(self._answers.pop(earlier))
            self._unread.clear()
            return _granted(self._answers.pop(request))

    def _sent(self, way: str, value: V) -> V:
        encoded = to_bytes(value)
        self.counted.message(way, len(encoded))
        return from_bytes(type(value), encoded)

    # Time passes.

    def settle(self) -> None:
        """Until nothing is under way any more."""
        while self._is_busy():
            self._step()

    def rest(self, seconds: float) -> None:
        """Nobody asks anything for so long; what is done from time to time is done."""
        end = self.now + seconds
        while self.now < end:
            self._step()

    def _is_busy(self) -> bool:
        return bool(
            self._inbox.from_clients
            or self._inbox.from_governors
            or self._events
            or any(executor.frames for executor in self._executors.values())
        )

    def _step(self) -> None:
        """The server, the governor and then the executors do what they have to do."""
        if not self._is_busy():
            self.now = max(self.now, min(self._server_due, self._governor.next_time()))
            if self.now >= self._governor.next_time():
                self._events.append(Tick())
        self.now += INSTANT
        inbox = self._inbox
        if inbox.from_clients or inbox.from_governors or self.now >= self._server_due:
            self._server_turn()
        if self._events:
            self._governor_turn()
        for executor in self._executors.values():
            if executor.frames:
                self._events.append(executor.answer(self.counted))

    def _server_turn(self) -> None:
        given, self._inbox = self._inbox, TurnInput(0.0)
        given.now = self.now
        self.counted["turns server"] += 1
        with self.counted.calls("server"):
            output = self._server.turn(given)
            self._server.settle()
            self._server_due = self._server.next_time()
        self.counted["scheduler runs"] += output.scheduled
        for effect in output.effects:
            self._carry(effect)

    def _carry(self, effect: ServerEffect) -> None:
        match effect:
            case OrderGovernor(_, orders):
                orders = self._sent("server to governor", orders)
                self._events.append(OrdersReceived(orders))
            case AnswerWait(request, answer):
                self._answers[request] = self._sent("server to client", answer)
            case AnswerFetch(request, fetched):
                report = self._sent("server to client", fetched.report)
                self.counted["bytes server to client"] += len(fetched.data or b"")
                self._answers[request] = Fetched(report, fetched.data)
            case AnswerDone(request) | Refuse(request):
                self.counted["messages server to client"] += 1
                self._answers[request] = effect if isinstance(effect, Refuse) else None
            case AnswerSession(request, session):
                self.counted["messages server to client"] += 1
                self._answers[request] = session
            case AnswerStates(request, tasks, objects):
                self.counted["messages server to client"] += 1
                self._answers[request] = (tasks, objects)
            case _:
                raise AssertionError(f"nothing like this happens when all goes well: {effect}")

    def _governor_turn(self) -> None:
        events, self._events = self._events, []
        self.counted["turns governor"] += 1
        with self.counted.calls("governor"):
            effects = self._governor.turn(self.now, events)
        for effect in effects:
            self._carry_out(effect)

    def _carry_out(self, effect: GovernorEffect) -> None:
        match effect:
            case SendUpdate(update):
                arrived = self._sent("governor to server", update)
                self._inbox.from_governors.append(GovernorUpdated(GOVERNOR, arrived))
            case CallExecutor(executor):
                self.counted.message("governor to executor", len(calls_frame(effect, 1)))
                self._executors[executor].frames.append(effect)
            case StartExecutor(executor):
                self._executors[executor] = PlayedExecutor(executor)
                self._events.append(ExecutorReady(executor))
            case DropCached():
                self.counted["messages governor to executor"] += 1
            case EndStrays():
                pass  # tasks here leave nothing behind
            case _:
                raise AssertionError(f"nothing like this happens when all goes well: {effect}")


def _granted(answer: Any) -> Any:
    if isinstance(answer, Refuse):
        if isinstance(answer.reason, str):
            raise RefusedError(answer.reason)
        raise SessionFailedError(answer.reason)
    return answer


def count(program: Callable[[Client, Counted], None]) -> Counted:
    """What a program costs, with a client of its own; `Counted` lets it leave out its beginning.

    Garbage is collected before and not meanwhile, since finalizers would be counted where they
    happen to run.
    """
    path = Path()
    gc.collect()
    gc.disable()
    try:
        with Client.over(path) as client:
            program(client, path.counted)
            path.settle()
            return Counted(path.counted)
    finally:
        gc.enable()
