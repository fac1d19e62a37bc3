"""A governor that is started before its server, and one that leaves a server that stands still."""

from __future__ import annotations

from typing import Any, cast

import pytest
import structlog
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock

from rain.base.errors import StartError
from rain.governor.uplink import Uplink, reach
from rain.rpc.governor_endpoint import RefusedHereError
from rain.rpc.handlers import ControlHandler, Resumes, ServerLink

THERE = cast("ServerLink", object())


class Server:
    """One that answers from some time on."""

    def __init__(self, since: float, refusal: StartError | None = None) -> None:
        self.since = since
        self.refusal = refusal
        self.asked = 0

    async def connect(self, resumes: Resumes | None) -> ServerLink:
        assert resumes is None
        self.asked += 1
        if self.refusal is not None:
            raise self.refusal
        if trio.current_time() < self.since:
            raise StartError("cannot reach the server")
        return THERE


def connected(server: Server, seconds: float) -> tuple[ServerLink, list[Any]]:
    async def run() -> ServerLink:
        server.since += trio.current_time()
        return await reach(server.connect, seconds, structlog.get_logger())

    with capture_logs() as logs:
        return trio.run(run, clock=MockClock(autojump_threshold=0)), [*logs]


def test_it_waits_until_the_server_is_there_and_says_so_once() -> None:
    found, logs = connected(Server(60.0), 120.0)
    assert found is THERE
    assert [(one["event"], one["cause"]) for one in logs] == [
        ("waits for the server", "cannot reach the server")
    ]


def test_it_does_not_wait_unless_it_is_told_to() -> None:
    server = Server(60.0)
    with pytest.raises(StartError, match="cannot reach"):
        connected(server, 0.0)
    assert server.asked == 1


def test_it_gives_up_in_time() -> None:
    with pytest.raises(StartError, match="cannot reach"):
        connected(Server(60.0), 30.0)


def test_a_server_that_is_there_and_refuses_is_not_asked_again() -> None:
    server = Server(0.0, RefusedHereError("another version"))
    with pytest.raises(RefusedHereError):
        connected(server, 120.0)
    assert server.asked == 1


class Standstill:
    """A connection to a server that stands still."""

    async def drained(self) -> None:
        await trio.sleep_forever()


def test_a_governor_that_leaves_does_not_wait_for_a_server_that_stands_still() -> None:
    async def connect(handler: ControlHandler, resumes: Resumes | None) -> ServerLink:
        return cast("ServerLink", Standstill())

    async def leave() -> None:
        uplink = Uplink(connect, structlog.get_logger())
        await uplink.register(cast("ControlHandler", object()), 0.0)
        await uplink.drained()

    trio.run(leave, clock=MockClock(autojump_threshold=0))
