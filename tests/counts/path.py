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
from typing import Any, TypeVar, cast

import msgpack
from attrs import Factory, define

from rain.base.errors import RefusedError, SessionFailedError
from rain.base.ids import ClientId, GovernorId, RequestId
from rain.base.resources import Resources
from rain.base.wire.answers import Fetched, HoldUps, WaitAnswer
from rain.base.wire.requests import (
    AnyRequest,
    CloseSession,
    HandlesGone,
    Request,
    ServerInfo,
    Statement,
    Submit,
    WatchPrinted,
    WhatHoldsUp,
)
from rain.base.wire.submission import Submission
from rain.client import Client
from rain.governor.core.effects import (
    CallExecutor,
    DropCached,
    EndStrays,
    SendUpdate,
    StartExecutor,
)
from rain.governor.core.effects import Effect as GovernorEffect
from rain.governor.core.events import CallsDone, ExecutorReady, OrdersReceived, Tick
from rain.governor.core.events import Event as GovernorEvent
from rain.governor.core.reactor import Reactor as GovernorReactor
from rain.governor.core.reactor_settings import DataLimits, Offer, PoolSettings
from rain.governor.executors.messages import calls_frame
from rain.rpc import schema
from rain.rpc.capnproto.layout import Layout
from rain.rpc.codec import from_bytes, to_bytes
from rain.rpc.codec.split import split_submission
from rain.rpc.codec.submission import SubmitPart, read_submit, write_submit
from rain.scheduler import DEFAULT
from rain.scheduler.shipped import SCHEDULERS
from rain.server.core.messages import (
    Answered,
    Asked,
    ClientJoined,
    GovernorJoined,
    GovernorUpdated,
    Granted,
    OrderGovernor,
    Refuse,
    TurnInput,
)
from rain.server.core.messages import Effect as ServerEffect
from rain.server.core.reactor import Reactor as ServerReactor
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from rain.stream.ranges import Piece, Range
from rain.stream.staged import Staged
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
    address = ""
    here = None
    is_interrupted_here = False
    is_waited_for = False
    returns = False

    def __init__(self) -> None:
        self.counted = Counted()
        self._owner = threading.current_thread()
        self.now = 1000.0
        self._state = State(ReactorSettings(governor_silence=1e9))
        self._server = ServerReactor(SCHEDULERS[DEFAULT], self._state)
        self._inbox = TurnInput(self.now)
        self._server_due = self.now
        self._governor = GovernorReactor(
            Offer(Resources(CPUS)), PoolSettings(), DataLimits(5.0), now=self.now
        )
        self._events: list[GovernorEvent] = []
        self._executors: dict[int, PlayedExecutor] = {}
        self._answers: dict[RequestId, Any] = {}
        self._unread: list[RequestId] = []  # answers that the client looks at with its next call
        self._last_request = 0
        self._inbox.from_governors.append(GovernorJoined(GOVERNOR, "127.0.0.1:1", Resources(CPUS)))
        self._inbox.from_clients.append(ClientJoined(CLIENT))

    # What the client asks.

    def at_each_beat(self, call: Callable[[], object]) -> None:
        """No time passes here."""

    def ask(self, request: Request[Any], timeout: float | None = None) -> Any:
        if isinstance(request, WhatHoldsUp):
            return HoldUps()  # no reactor is asked
        assert timeout is None, "nobody is in a hurry here"
        if isinstance(request, ServerInfo):
            return [self._governor.report("127.0.0.1:1")]
        return self._answer(self._ask(request))

    def ask_all(self, requests: Sequence[Request[Any]]) -> Sequence[Any]:
        asked = [self._ask(request) for request in requests]
        return [self._answer(number) for number in asked]

    def ask_then(self, request: Request[Any], then: Callable[[Any], object]) -> None:
        raise AssertionError("nobody uses futures here")

    def begin(self, submit: Submit) -> Callable[[], WaitAnswer]:
        return partial(self._answer, self._ask(submit))

    def say(self, said: Statement | WatchPrinted | CloseSession | Submit) -> None:
        match said:
            case Submit():
                self._unread.append(self._ask(said))
            case CloseSession():
                self._answer(self._ask(said))
            case HandlesGone():
                pass  # left to the end of the session: a thread tells it, which cannot be counted
            case _:
                raise AssertionError(f"nobody says this here: {said}")

    def has_left(self, submission: Submission) -> bool:
        return False

    def stage(self, parts: Sequence[bytes | memoryview]) -> Staged | None:
        return None

    def complete(self, fetched: Fetched, into: pathlib.Path | None = None) -> Fetched:
        assert into is None, "nothing large is counted here"
        return fetched

    def complete_all(self, fetched: Sequence[Fetched]) -> list[Fetched]:
        return [self.complete(one) for one in fetched]

    def piece(self, fetched: Fetched, wanted: Range) -> Piece:
        raise AssertionError("nothing large is counted here")

    def give_up(self) -> None:
        raise AssertionError("nobody dies here")

    def close(self) -> None:
        """There is nothing to close."""

    def _ask(self, request: Request[Any]) -> RequestId:
        if isinstance(request, Submit):
            with nobody_counts():
                return self._send(self._arrived(request))
        self.counted["messages client to server"] += 1  # short: its length is that of ids
        return self._send(request)

    def _arrived(self, submit: Submit) -> Submit:
        """As it arrives at the server."""
        (part,) = split_submission(submit.submission)  # what is counted here fits into one message
        encoded = _SUBMISSION.write(
            write_submit(SubmitPart(part, (), last=True, wanted=submit.wanted))
        )
        self.counted.message("client to server", len(encoded))
        read = read_submit(_SUBMISSION.read(encoded))
        return Submit(read.part, tuple(read.wanted))

    def _send(self, request: Request[Any]) -> RequestId:
        self._last_request += 1
        number = RequestId(self._last_request)
        self._inbox.from_clients.append(Asked(CLIENT, number, cast("AnyRequest", request)))
        return number

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
            case Answered(request, WaitAnswer() as answer):
                self._answers[request] = self._sent("server to client", answer)
            case Answered(request, Fetched(report, data)):
                report = self._sent("server to client", report)
                self.counted["bytes server to client"] += len(data or b"")
                self._answers[request] = Fetched(report, data)
            case Answered(request, answer) | Granted(request, answer):
                self.counted["messages server to client"] += 1
                self._answers[request] = answer
            case Refuse(request):
                self.counted["messages server to client"] += 1
                self._answers[request] = effect
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
