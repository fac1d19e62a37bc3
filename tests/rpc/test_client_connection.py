"""A client's blocking calls reach a server over a real socket."""

import gc
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
import trio

from rain.base.errors import (
    ConnectionLostError,
    InvariantError,
    ProtocolError,
    RefusedError,
    SessionFailedError,
)
from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import KindId, SessionId, TaskId
from rain.base.resources import Resources
from rain.base.states import ObjectState, TaskState
from rain.base.wire.answers import GovernorReport, HoldUp, Overview
from rain.base.wire.demand import Demand, Need
from rain.base.wire.printed import PrintedLines, Watch
from rain.base.wire.requests import (
    CloseSession,
    DemandOf,
    Fetch,
    OpenDashboard,
    OpenSession,
    OverviewOf,
    Promise,
    ReportsOf,
    Request,
    ServerInfo,
    Submit,
    TakePrinted,
    Unkeep,
    WaitFor,
    WatchPrinted,
    WhatHoldsUp,
)
from rain.base.wire.submission import Submission, TaskColumns
from rain.daemon import program
from rain.rpc.client_calls import PendingCall
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.codec.split import PART_ROWS
from rain.rpc.handlers import Reply
from tests.rpc.client_scenes import OBJECT, SESSION, interrupted, play
from tests.rpc.fakes import FakeServer, serving
from tests.support.waiting import until_now


def test_every_call_gets_its_answer() -> None:
    def scene(client: ClientConnection) -> None:
        assert client.ask(OpenSession("name", '{"a": 1}', OnFailure.CONTINUE)) == 1
        client.ask(Submit(Submission(SESSION)))
        client.ask(Unkeep((OBJECT,)))
        answer = client.ask(WaitFor(SESSION, (TaskId(OBJECT),), (OBJECT,), "all"))
        assert answer.tasks == [TaskId(OBJECT)]
        assert answer.objects == [OBJECT]
        tasks, objects = client.ask(ReportsOf((TaskId(OBJECT),), (OBJECT,)))
        assert [report.state for report in tasks] == [TaskState.RUNNING]
        assert [report.state for report in objects] == [ObjectState.UNFINISHED]
        assert client.ask(ServerInfo()) == [GovernorReport("here:1", (), (), (), (("cpus", 2),))]
        assert client.ask(OverviewOf(SESSION)) == Overview(1, 2, 6, 1, 3, "here:7222")
        assert client.ask(WhatHoldsUp()).each == [HoldUp("no governor", "wait for one")]
        assert client.ask(DemandOf(5.0)) == Demand((Need(waiting=3),))
        client.ask(Promise((Resources(4),), "job 12 is queued"))
        assert client.ask(OpenDashboard()) == "here:7222"
        watch = Watch(frozenset([SESSION]), frozenset([TaskId(OBJECT)]))
        client.say(WatchPrinted(watch))
        assert client.ask(TakePrinted(wait=True)) == [
            PrintedLines(TaskId(5), "talk", True, "hello\n", 7, "there:1")
        ]
        client.say(WatchPrinted(None))
        client.say(CloseSession(SESSION))

    server = play(scene)
    assert server.journal.entries == [
        ("client joined",),
        ("open_session", "name", '{"a": 1}', OnFailure.CONTINUE),
        ("submit", Submission(SESSION)),
        ("unkeep", [OBJECT]),
        ("wait", SESSION, [OBJECT], [OBJECT], "all"),
        ("update", [OBJECT], [OBJECT]),
        ("server_info",),
        ("overview", SESSION),
        ("hold_ups",),
        ("demand", 5.0),
        ("promise", (Resources(4),), "job 12 is queued"),
        ("dashboard",),
        ("watch", Watch(frozenset([SESSION]), frozenset([TaskId(OBJECT)]))),
        ("printed", True),
        ("watch", None),
        ("close_session", SESSION),
        ("client left", "the other side closed the connection"),
    ]


CALLS: dict[str, Callable[[ClientConnection], object]] = {
    "open_session": lambda client: client.ask(OpenSession("name")),
    "submit": lambda client: client.ask(Submit(Submission(SESSION))),
    "unkeep": lambda client: client.ask(Unkeep((OBJECT,))),
    "wait": lambda client: client.ask(WaitFor(SESSION, (), (), "session")),
    "fetch": lambda client: client.complete(client.ask(Fetch(OBJECT))),
    "update": lambda client: client.ask(ReportsOf((), ())),
    "server_info": lambda client: client.ask(ServerInfo()),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_call_can_be_refused_and_told_that_its_session_failed(name: str) -> None:
    reasons: list[str | SessionFailure] = ["because"]
    failure = SessionFailure("it broke", "lines", TaskId(OBJECT))

    def scene(client: ClientConnection) -> None:
        with pytest.raises(RefusedError, match=r"^because$"):
            CALLS[name](client)
        reasons[0] = failure
        with pytest.raises(SessionFailedError, match="it broke") as caught:
            CALLS[name](client)
        assert caught.value.failure == failure

    def refuse(reply: Reply[Any]) -> None:
        reply.refuse(reasons[0])

    play(scene, lambda server: server.rules.update({name: refuse}))


@pytest.mark.parametrize("outcome", ["done", "refused"])
def test_the_end_of_a_session_is_not_answered_and_what_is_asked_next_comes_behind_it(
    outcome: str,
) -> None:
    def end(reply: Reply[Any]) -> None:
        if outcome == "done":
            reply.answer(None)
        else:
            reply.refuse("it is closed already")

    def scene(client: ClientConnection) -> None:
        client.say(CloseSession(SESSION))
        client.ask(ServerInfo())
        assert not client.is_waited_for
        client.ask(OpenSession("next"))

    server = play(scene, lambda server: server.rules.update(close_session=end))
    assert [entry[0] for entry in server.journal.entries[1:3]] == ["close_session", "server_info"]


def test_several_threads_share_a_connection() -> None:
    def scene(client: ClientConnection) -> None:
        def work(number: int) -> None:
            for step in range(20):
                task = TaskId(number * 100 + step)
                assert client.ask(WaitFor(SESSION, (task,), (), "all")).tasks == [task]

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()

    assert len(play(scene).journal.named("wait")) == 120


def test_a_client_that_breaks_the_protocol_is_closed_alone_and_told_why() -> None:
    def judge(reply: Reply[Any]) -> None:
        raise ProtocolError("that session is not yours")

    async def main() -> int:
        server = FakeServer(rules={"unkeep": judge})

        def script(port: int) -> None:
            bad = ClientConnection("127.0.0.1", port)
            good = ClientConnection("127.0.0.1", port)
            expected = (
                f"the server at 127.0.0.1:{port} closed the connection: that session is not yours"
            )
            for _ in range(2):
                with pytest.raises(ConnectionLostError, match=f"^{re.escape(expected)}$"):
                    bad.ask(Unkeep((OBJECT,)))
            good.ask(OpenSession(""))
            good.close()
            bad.close()

        async with serving(server) as here:
            await trio.to_thread.run_sync(script, here.port)
            assert ("that session is not yours",) in await server.journal.until("client left", 2)
        return 0

    program.run(main)


def test_a_killed_server_gives_one_clear_error() -> None:
    async def main() -> int:
        server = FakeServer()

        def script(port: int) -> None:
            client = ClientConnection("127.0.0.1", port)
            expected = f"the server at 127.0.0.1:{port} closed the connection"
            with pytest.raises(ConnectionLostError, match=f"^{re.escape(expected)}$"):
                client.ask(WaitFor(SESSION, (), (), "session"))
            requests: tuple[Request[object], ...] = (
                OpenSession(""),
                Submit(Submission(SESSION)),
                Fetch(OBJECT),
                ServerInfo(),
            )
            for request in requests:
                with pytest.raises(ConnectionLostError, match=f"^{re.escape(expected)}$"):
                    client.ask(request)
            client.close()
            client.close()

        async with serving(server) as here:
            server.rules["wait"] = lambda reply: here.listener.close("killed")
            await trio.to_thread.run_sync(script, here.port)
        return 0

    program.run(main)


def test_our_own_mistake_in_the_client_is_not_blamed_on_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", shown.append)

    def broken(*_: object) -> None:
        raise InvariantError("two answers")

    def scene(client: ClientConnection) -> None:
        client.ask_then(ServerInfo(), broken)
        with pytest.raises(ConnectionLostError, match="closed by an error of the client itself"):
            client.ask(WaitFor(SESSION, (), (), "session"))

    play(scene)
    until_now(lambda: shown)  # by the thread that has closed the connection before
    assert [str(one.exc_value) for one in shown] == ["two answers"]


def test_our_own_mistake_in_a_handler_ends_the_server() -> None:
    def broken(reply: Reply[Any]) -> None:
        raise InvariantError("two owners")

    def scene(client: ClientConnection) -> None:
        with pytest.raises(ConnectionLostError):
            client.ask(OpenSession(""))

    with pytest.raises(InvariantError, match="two owners"):
        play(scene, lambda server: server.rules.update(open_session=broken))


def test_the_end_of_a_session_does_not_overtake_what_was_submitted_before() -> None:
    count = PART_ROWS + 1  # in two messages
    tasks = TaskColumns(
        ids=[TaskId(number) for number in range(count)],
        kinds=[KindId(1)] * count,
        configs=[b""] * count,
        input_counts=[0] * count,
    )

    def scene(client: ClientConnection) -> None:
        client.say(Submit(Submission(SESSION, tasks=tasks)))
        client.say(CloseSession(SESSION))
        client.ask(ServerInfo())
        assert not client.is_waited_for

    entries = play(scene).journal.entries[1:3]
    assert [entry[0] for entry in entries] == ["submit", "close_session"]


@pytest.mark.parametrize("late", [False, True])
def test_a_session_that_nobody_waits_for_any_more_is_closed(
    late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Reply[SessionId]] = []

    def open_when_asked_again(reply: Reply[Any]) -> None:
        while opened:
            opened.pop().answer(SessionId(7))
        reply.answer([])

    def scene(client: ClientConnection) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(PendingCall, "take", interrupted)
            with pytest.raises(KeyboardInterrupt):
                client.ask(OpenSession("unwanted"))
        for _ in range(2):
            client.ask(ServerInfo())
        assert not client.is_waited_for

    def prepare(server: FakeServer) -> None:
        server.rules["server_info"] = open_when_asked_again
        if late:
            server.rules["open_session"] = opened.append

    closed = play(scene, prepare).journal.named("close_session")
    assert closed == [(SessionId(7 if late else 1),)]


def test_a_request_after_the_end_is_refused_by_name() -> None:
    def scene(client: ClientConnection) -> None:
        client.close()
        with pytest.raises(ConnectionLostError, match="was closed"):
            client.ask(OpenSession("late"))
        with pytest.raises(ConnectionLostError, match="was closed"):
            client.ask(WaitFor(SESSION, (), (), "session"))

    play(scene)
