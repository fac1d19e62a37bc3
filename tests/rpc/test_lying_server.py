"""What a server says is spoiled behind the door: its client gets the truth, or an error by name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio

from rain.base.errors import ConnectionLostError, ProtocolError, RainError, StartError
from rain.base.failures import OnFailure
from rain.base.ids import GovernorId, ObjectId, SessionId, TaskId, pack
from rain.base.leading import Servers
from rain.base.resources import Resources
from rain.base.states import ObjectState, TaskState
from rain.base.wire.answers import Fetched, JoinedSession, ObjectReport, TaskReport
from rain.base.wire.orders import Orders
from rain.base.wire.requests import (
    CancelUnstarted,
    DemandOf,
    Fetch,
    JoinSession,
    OpenSession,
    OverviewOf,
    ReportsOf,
    Request,
    ServerInfo,
    Submit,
    TakeHandles,
    TakePrinted,
    WaitFor,
    WhatHoldsUp,
)
from rain.daemon import program
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.governor_endpoint import connect_governor
from rain.rpc.handlers import GovernorHello
from tests.rpc.client_scenes import OBJECT, SESSION, play
from tests.rpc.fakes import FakeControl, FakeServer, serving
from tests.support.lying import lying
from tests.support.malformed import Serving, beside_a_server, spoiled
from tests.support.submissions import Draft

LIES_TO_CLIENTS = 100
LIES_TO_GOVERNORS = 60
OTHER = ObjectId(pack(1, 11))


def asked_for_everything(client: ClientConnection) -> None:
    """What goes wrong with one call does not keep the next ones from being made."""
    attempt = suppress(RainError, TimeoutError)
    session = SESSION
    with attempt:
        session = client.ask(OpenSession("first", "{}", OnFailure.CONTINUE))
    draft = Draft(session)
    constant = draft.constant(b"hello", keep=True)
    task, (made,) = draft.task(constant, keep=True, config=b"config")
    first = Submit(draft.take())
    second = draft.constant(b"hi", keep=True)
    requests: tuple[Request[Any], ...] = (
        first,
        Fetch(constant),
        ReportsOf((task,), (constant, made)),
        ReportsOf((task,), (), logs=True),
        WaitFor(session, (task,), (made,), "all"),
        JoinSession(session, "", numbers=True),
        Submit(draft.take(), (second,)),
        TakeHandles((constant,)),
        CancelUnstarted(session, (made,)),
        OverviewOf(SessionId(0)),
        WhatHoldsUp(),
        DemandOf(),
        TakePrinted(wait=False),
        ServerInfo(),
    )
    for request in requests:
        with attempt:
            client.ask(request, timeout=0.01 if isinstance(request, WaitFor) else None)


def test_whatever_a_server_says_its_client_gets_an_answer_or_an_error_by_name(
    tmp_path: Path,
) -> None:
    def hear(serving: Serving, at: int, lie: Callable[[bytes], bytes]) -> int:
        with lying(serving.port, at, lie) as proxy:
            with suppress(StartError):
                client = ClientConnection("127.0.0.1", proxy.port)
                try:
                    asked_for_everything(client)
                finally:
                    client.close()
            return proxy.pieces

    def script(serving: Serving) -> None:
        pieces = hear(serving, -1, bytes)
        assert pieces > 10
        for seed in range(LIES_TO_CLIENTS):
            hear(serving, seed % pieces, partial(spoiled, Random(seed)))
        serving.still_serves()

    beside_a_server(tmp_path, script)


def test_whatever_a_server_says_its_governor_hears_orders_or_has_lost_it() -> None:
    async def hear(server: FakeServer, port: int, at: int, lie: Callable[[bytes], bytes]) -> int:
        control = FakeControl()
        with lying(port, at, lie) as proxy:
            async with trio.open_nursery() as nursery:
                with suppress(StartError):
                    upstream = await connect_governor(
                        nursery,
                        Servers([("127.0.0.1", proxy.port)]),
                        control,
                        GovernorHello(GovernorId(77), "0.0.0.0:7000", Resources.of({"cpus": 8})),
                    )
                    link = server.governors[-1]
                    for number in range(4):
                        link.order(Orders(drops=[ObjectId(number)]))
                        link.running(TaskId(number), Unheard())
                    link.watch(3, None)
                    link.stop("enough")
                    await control.journal.until("left")
                    upstream.close()
            return proxy.pieces

    async def main() -> int:
        server = FakeServer()
        async with serving(server, 300) as here:
            pieces = await hear(server, here.port, -1, bytes)
            assert pieces >= 2
            for seed in range(LIES_TO_GOVERNORS):
                await hear(server, here.port, seed % pieces, partial(spoiled, Random(seed)))
        return 0

    program.run(main)


class Unheard:
    """The reply that a governor sends is looked at by nobody."""

    def answer(self, value: object) -> None: ...

    def refuse(self, reason: object) -> None: ...


OF_ANOTHER = ObjectReport(OTHER, ObjectState.FINISHED, 2, "text")


WRONG: list[tuple[str, Any, Request[Any]]] = [
    ("fetch", Fetched(OF_ANOTHER, b"no"), Fetch(OBJECT)),
    (
        "update",
        ([TaskReport(TaskId(OTHER), TaskState.FINISHED)], []),
        ReportsOf((TaskId(OBJECT),), ()),
    ),
    ("update", ([], [OF_ANOTHER]), ReportsOf((), (OBJECT,))),
    ("update", ([], []), ReportsOf((TaskId(OBJECT),), (), logs=True)),
    ("take_handles", [], TakeHandles((OBJECT,))),
    ("open_session", SessionId(0), OpenSession("name")),
    ("open_session", SessionId(-7), OpenSession("name")),
    (
        "join_session",
        JoinedSession(SESSION, "name", OnFailure.STOP, 10),
        JoinSession(SESSION, "", numbers=True),
    ),
]


@pytest.mark.parametrize(("call", "answer", "request_"), WRONG)
def test_an_answer_about_something_else_ends_the_connection(
    call: str, answer: Any, request_: Request[Any]
) -> None:
    def scene(client: ClientConnection) -> None:
        with pytest.raises(ProtocolError, match=r"something else|there is no session|numbers from"):
            client.ask(request_)
        with pytest.raises(ConnectionLostError, match="it has sent an invalid message"):
            client.ask(ServerInfo())

    def prepare(server: FakeServer) -> None:
        server.rules[call] = lambda reply: reply.answer(answer)

    play(scene, prepare)
