"""A task costs the server about the same on one governor and a hundred, among few and many.

Seconds are not asserted: what is counted are calls, of Python's functions and of C's, in the turns
of the server and where messages are written and read. The governors answer before the next turn.
"""

from __future__ import annotations

import gc
import sys
from types import FrameType
from typing import Any

import pytest

from rain.base.ids import ClientId, GovernorId, ObjectId, RequestId, SessionId
from rain.base.resources import Resources
from rain.base.wire.orders import Orders
from rain.base.wire.requests import CloseSession, OpenSession, Submit
from rain.base.wire.update import Update
from rain.rpc.codec import from_bytes, to_bytes
from rain.scheduler import DEFAULT
from rain.scheduler.shipped import SCHEDULERS
from rain.server.core.messages import (
    Asked,
    ClientEvent,
    ClientJoined,
    GovernorEvent,
    GovernorJoined,
    GovernorUpdated,
    Granted,
    OrderGovernor,
    TurnInput,
)
from rain.server.core.reactor import Reactor
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from tests.support.fake_client import answer_of
from tests.support.submissions import Draft

TASKS = 1000
CLIENT = ClientId(1)
INSTANT = 0.0002

MORE = {10: 1.12, 100: 1.13}
"""At most this factor more calls than one governor takes; today 1.110 and 1.120."""

ORDERS = {1: 2, 10: 8, 100: 8}

AMONG = {100: 1.33, 10_000: 1.05, 30_000: 1.05}
"""At most this factor more than among a thousand; today 1.315, 1.039 and 1.042."""


class Server:
    """A reactor and governors that have finished everything as soon as they are told of it."""

    def __init__(self, governors: int) -> None:
        self.calls = self.orders = 0
        self._now = 1000.0
        self._state = State(ReactorSettings(governor_silence=1e9))
        self._reactor = Reactor(SCHEDULERS[DEFAULT], self._state)
        self._news: list[GovernorEvent] = [
            GovernorJoined(GovernorId(number), f"host:{number}", Resources(2))
            for number in range(1, governors + 1)
        ]
        self._turn(ClientJoined(CLIENT))

    def merge(self, tasks: int = TASKS) -> None:
        """A session of its own: tasks that read nothing, and one that reads what they make."""
        (answer,) = self._turn(Asked(CLIENT, RequestId(1), OpenSession("merge")))
        opened = SessionId(answer_of(answer, int))
        draft = Draft(opened)
        made: list[ObjectId] = [draft.task()[1][0] for _ in range(tasks)]
        draft.task(*made, keep=True)
        self._turn(Asked(CLIENT, RequestId(2), Submit(draft.take())))
        session = self._state.graph.sessions[opened]
        while session.unfinished or self._state.growing:
            self._turn()
        self._turn(Asked(CLIENT, RequestId(3), CloseSession(opened)))

    def _turn(self, *events: ClientEvent) -> list[Granted]:
        self._now += INSTANT
        if not self._news and not events:
            self._now = max(self._now, self._reactor.next_time())
        given = TurnInput(self._now, self._news, list(events))
        sys.setprofile(self._saw)
        try:
            output = self._reactor.turn(given)
            encoded = [
                (effect.governor, to_bytes(effect.orders))
                for effect in output.effects
                if isinstance(effect, OrderGovernor)
            ]
            self._reactor.settle()
        finally:
            sys.setprofile(None)
        answered = [(number, _answer(from_bytes(Orders, orders))) for number, orders in encoded]
        self.orders += len(encoded)
        sys.setprofile(self._saw)
        try:
            self._news = [
                GovernorUpdated(number, from_bytes(Update, update))
                for number, update in answered
                if update
            ]
        finally:
            sys.setprofile(None)
        return [effect for effect in output.effects if isinstance(effect, Granted)]

    def _saw(self, frame: FrameType, event: str, argument: Any) -> None:
        if event in {"call", "c_call"}:
            self.calls += 1


def _answer(orders: Orders) -> bytes:
    tasks, update = orders.tasks, Update()
    if not tasks.ids:
        return b""
    finished = update.finished
    finished.ids, finished.runs = tasks.ids, tasks.runs
    finished.durations = [0.0] * len(tasks.ids)
    finished.output_counts = [1] * len(tasks.ids)
    finished.sizes, finished.data = [0] * len(tasks.ids), [b""] * len(tasks.ids)
    return to_bytes(update)


def counted(governors: int, tasks: int = TASKS) -> tuple[int, int]:
    """Calls and orders of the third merge: what tasks of this name take is known in the second,
    and how many a governor finishes between two messages in the third."""
    server = Server(governors)
    server.merge(tasks)
    server.merge(tasks)
    gc.collect()
    gc.disable()
    try:
        calls, orders = server.calls, server.orders
        server.merge(tasks)
        return server.calls - calls, server.orders - orders
    finally:
        gc.enable()


@pytest.mark.parametrize("governors", MORE)
def test_a_task_takes_hardly_more_calls_on_many_governors(governors: int) -> None:
    one, orders_to_one = counted(1)
    many, orders_to_many = counted(governors)

    print(f"{governors} governors: {many / one:.3f} times, {orders_to_many} orders")  # noqa: T201 # -rP shows it
    assert many <= MORE[governors] * one
    assert orders_to_one <= ORDERS[1]
    assert orders_to_many <= ORDERS[governors]


@pytest.mark.parametrize("tasks", AMONG)
def test_a_task_takes_as_many_calls_among_few_as_among_many(tasks: int) -> None:
    few, _ = counted(1)
    many, _ = counted(1, tasks)

    ratio = (many / tasks) / (few / TASKS)
    print(f"{tasks} tasks: {ratio:.3f} times")  # noqa: T201 # -rP shows it
    assert 1 / AMONG[tasks] <= ratio <= AMONG[tasks]
