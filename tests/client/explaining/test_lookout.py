"""A program that waits is warned of what holds its tasks up, and goes on waiting."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from rain.base.errors import ConnectionLostError
from rain.base.wire.answers import HoldUps
from rain.base.wire.requests import Request, WhatHoldsUp
from rain.client import Client, RainWarning
from rain.client.explaining.lookout import Lookout, warn_aside
from tests.client.fake import FakeConnection


class Held(FakeConnection):
    """A server that tells what holds tasks up."""

    def __init__(self) -> None:
        super().__init__()
        self.is_waited_for = True
        self.asked = 0
        self.holding: HoldUps | Exception = HoldUps()

    def ask(self, request: Request[Any], timeout: float | None = None) -> Any:
        if not isinstance(request, WhatHoldsUp):
            return super().ask(request, timeout)
        assert request.past
        self.asked += 1
        if isinstance(self.holding, Exception):
            raise self.holding
        return self.holding

    def ask_then(self, request: Request[Any], then: Callable[[Any], object]) -> None:
        assert isinstance(request, WhatHoldsUp)
        self.asked += 1
        then(self.holding)

    def beats(self, count: int) -> None:
        for _ in range(count):
            self.beat()


def test_each_reason_is_told_once() -> None:
    server, warned = Held(), list[str]()
    _alive = Lookout(server, warned.append)
    server.holding = HoldUps(("no governor", "no gpu"), ("waits", "given up in 9 seconds"))
    server.beats(2)
    server.holding = HoldUps(("no gpu", "no disk"), ("given up in 1 second", "waits"))
    server.beats(2)

    assert warned == ["no governor; waits", "no gpu; given up in 9 seconds", "no disk; waits"]


def test_who_waits_for_long_is_asked_for_less_and_less_often() -> None:
    server = Held()
    _alive = Lookout(server, print)

    server.beats(64)
    assert server.asked == 6  # after 2, 4, 8, 16, 32 and 52 seconds
    server.beats(120)
    assert server.asked == 12


def test_nobody_asks_for_a_program_that_does_not_wait_or_only_for_a_moment() -> None:
    server = Held()
    _alive = Lookout(server, print)
    for waits in (False, False, True, False, True, False):
        server.is_waited_for = waits
        server.beats(1)

    assert not server.asked


def test_a_server_that_cannot_tell_is_no_reason_to_warn() -> None:
    server, warned = Held(), list[str]()
    _alive = Lookout(server, warned.append)
    server.holding = ConnectionLostError("it has gone")
    server.beats(2)

    assert server.asked == 1
    assert warned == []


FAILED = HoldUps(("the scheduler has failed",), ("rain plans",))


def test_a_program_that_never_waits_for_long_is_told_of_failures_when_it_closes_its_client() -> (
    None
):
    server = Held()
    lookout = Lookout(server, print)
    server.holding = FAILED
    lookout.begin()

    with pytest.warns(RainWarning, match="^the scheduler has failed; rain plans$"):
        lookout.look_back()


def test_a_program_that_was_told_is_not_told_again_at_the_end() -> None:
    server, warned = Held(), list[str]()
    lookout = Lookout(server, warned.append)
    server.holding = FAILED
    lookout.begin()
    server.beats(2)
    lookout.look_back()  # a warning would be an error

    assert server.asked == 2
    assert len(warned) == 1


def test_a_client_without_a_session_does_not_ask_at_the_end() -> None:
    server = Held()
    Lookout(server, print).look_back()

    assert not server.asked


@pytest.mark.parametrize("error", [ConnectionLostError("it has gone"), TimeoutError()])
def test_a_server_that_does_not_answer_at_the_end_is_left(error: Exception) -> None:
    server = Held()
    lookout = Lookout(server, print)
    server.holding = error
    lookout.begin()
    lookout.look_back()

    assert server.asked == 1


def test_a_warning_at_the_end_that_raises_leaves_nothing_open() -> None:
    server, ended = Held(), list[str]()

    class Cluster:
        def close(self) -> None:
            ended.append("cluster")

    client = Client.over(server, Cluster())
    with client.new_session("s"):
        server.holding = FAILED
    with warnings.catch_warnings():
        warnings.simplefilter("error", RainWarning)
        with pytest.raises(RainWarning, match="the scheduler has failed"):
            client.close()

    assert server.closed
    assert ended == ["cluster"]


def test_a_warning_names_the_line_where_the_program_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str, int]] = []
    shown = threading.Event()

    def show(message: Warning | str, _: type[Warning], name: str, line: int, *__: object) -> None:
        seen.append((str(message), name, line))
        shown.set()

    monkeypatch.setattr(warnings, "showwarning", show)
    with warnings.catch_warnings():
        warnings.simplefilter("always", RainWarning)
        warn_aside("a task is held up")
        assert shown.wait(60)

    ((text, name, line),) = seen
    assert text == "a task is held up"
    assert name == __file__
    first = test_a_warning_names_the_line_where_the_program_waits.__code__.co_firstlineno
    assert first < line < first + 20
