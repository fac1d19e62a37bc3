"""A thread that is interrupted in a call leaves nothing behind that nobody knows of.

What has left counts as submitted, what nobody waits for is given up, and that it was refused is
told by the next call.
"""

import threading
from collections.abc import Callable
from typing import Any, Never

import pytest

from rain.base.errors import ConnectionLostError, RefusedError
from rain.base.failures import SessionFailure
from rain.base.ids import KindId
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.requests import (
    Fetch,
    HandlesGone,
    OpenSession,
    ReportsOf,
    ServerInfo,
    Submit,
    WaitFor,
)
from rain.base.wire.submission import ConstantColumns, Submission
from rain.rpc import client_submit
from rain.rpc.client_calls import ClientCalls, PendingCall
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.handlers import Reply
from rain.rpc.interface import Fields
from tests.rpc.client_scenes import OBJECT, SESSION, interrupted, play
from tests.rpc.fakes import FakeServer


def interrupt_when_sent(patched: pytest.MonkeyPatch) -> None:
    """Whatever is asked has left when Ctrl-C comes."""
    make = ClientCalls.make

    def make_and_be_interrupted(
        calls: ClientCalls, asked: PendingCall[Any], due: float | None = None
    ) -> None:
        make(calls, asked, due)
        raise KeyboardInterrupt

    patched.setattr(ClientCalls, "make", make_and_be_interrupted)


def test_nothing_remains_of_a_computation_that_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def scene(client: ClientConnection) -> None:
        waiting = client.begin(Submit(Submission(SESSION), (OBJECT,)))
        with monkeypatch.context() as patch:
            patch.setattr(PendingCall, "take", interrupted)
            with pytest.raises(KeyboardInterrupt):
                waiting()
        client.ask(ServerInfo())
        assert not client.is_waited_for

    def prepare(server: FakeServer) -> None:
        server.rules["compute"] = lambda reply: None

    assert len(play(scene, prepare).journal.named("abandoned")) == 1


@pytest.mark.parametrize("way", ["ask", "say", "begin", "ask_then"])
def test_a_submission_that_is_interrupted_has_left_when_it_was_sent(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once while it is encoded, and once when it was sent."""

    sent = Submission(SESSION)

    def begin(client: ClientConnection) -> None:
        match way:
            case "ask":
                client.ask(Submit(sent))
            case "say":
                client.say(Submit(sent))
            case "begin":
                client.begin(Submit(sent, (OBJECT,)))
            case _:
                client.ask_then(Submit(sent), lambda answer: None)

    def scene(client: ClientConnection) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(client_submit, "encode_parts", interrupted)
            with pytest.raises(KeyboardInterrupt):
                begin(client)
        assert not client.has_left(sent)
        with monkeypatch.context() as patched:
            interrupt_when_sent(patched)
            with pytest.raises(KeyboardInterrupt):
                begin(client)
        assert client.has_left(sent)
        assert not client.has_left(sent), "told once"
        client.ask(OpenSession("behind it"))

    def prepare(server: FakeServer) -> None:
        server.rules["submit"] = server.rules["compute"] = lambda reply: None

    journal = play(scene, prepare).journal
    assert len(journal.named("submit") + journal.named("compute")) == 1


def test_the_refusal_of_an_interrupted_submission_is_told_by_the_next_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = Submission(SESSION)

    def scene(client: ClientConnection) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(PendingCall, "take", interrupted)
            with pytest.raises(KeyboardInterrupt):
                client.ask(Submit(sent))
        assert client.has_left(sent)
        client.ask(OpenSession("behind it"))  # its answer comes after the refusal
        with pytest.raises(RefusedError, match="two producers"):
            client.ask(WaitFor(SESSION, (), (), "session"))

    def prepare(server: FakeServer) -> None:
        server.rules["submit"] = lambda reply: reply.refuse("two producers")

    play(scene, prepare)


@pytest.mark.parametrize("moment", ["while it is sent", "before it is answered", "afterwards"])
def test_the_refusal_of_an_interrupted_computation_is_told_by_the_next_call(
    moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = PendingCall[Any].take

    def take_and_be_interrupted(asked: PendingCall[Any], timeout: float | None = None) -> Never:
        if moment == "afterwards":
            with pytest.raises(RefusedError):
                take(asked, timeout)
        raise KeyboardInterrupt

    def scene(client: ClientConnection) -> None:
        with monkeypatch.context() as patched:
            if moment == "while it is sent":
                interrupt_when_sent(patched)
            patched.setattr(PendingCall, "take", take_and_be_interrupted)
            with pytest.raises(KeyboardInterrupt):
                client.begin(Submit(Submission(SESSION), (OBJECT,)))()
        client.ask(OpenSession("behind it"))  # its answer comes after the refusal
        with pytest.raises(RefusedError, match="two producers"):
            client.ask(WaitFor(SESSION, (), (), "session"))
        client.ask(WaitFor(SESSION, (), (), "session"))  # and it was told once
        assert not client.is_waited_for

    def prepare(server: FakeServer) -> None:
        server.rules["compute"] = lambda reply: reply.refuse("two producers")

    play(scene, prepare)


def test_the_late_refusal_of_an_interrupted_computation_with_uploads_is_told_by_the_next_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # given: a submission that the server decides on later
    replies: list[Reply[Any]] = []
    constants = ConstantColumns([OBJECT], [KindId(1)], [bytes(INLINE_LIMIT + 1)])
    sent = Submission(SESSION, constants=constants)

    def scene(client: ClientConnection) -> None:
        with monkeypatch.context() as patched:
            interrupt_when_sent(patched)
            with pytest.raises(KeyboardInterrupt):
                client.begin(Submit(sent, (OBJECT,)))
        assert client.has_left(sent)
        # when
        client.ask(ServerInfo())  # it is refused before that is answered
        # then
        with pytest.raises(RefusedError, match="two producers"):
            client.ask(WaitFor(SESSION, (), (), "session"))

    def decide(reply: Reply[Any]) -> None:
        replies[0].refuse("two producers")
        reply.answer([])

    def prepare(server: FakeServer) -> None:
        server.rules.update(submit=replies.append, server_info=decide)

    play(scene, prepare)


def test_that_a_task_of_an_interrupted_computation_has_failed_is_no_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def scene(client: ClientConnection) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(PendingCall, "take", interrupted)
            with pytest.raises(KeyboardInterrupt):
                client.begin(Submit(Submission(SESSION), (OBJECT,)))()
        client.ask(OpenSession("behind it"))
        client.ask(WaitFor(SESSION, (), (), "session"))

    def prepare(server: FakeServer) -> None:
        server.rules["compute"] = lambda reply: reply.refuse(SessionFailure("it broke"))

    play(scene, prepare)


def test_nothing_is_kept_of_an_interrupted_computation_when_somebody_behind_it_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def scene(client: ClientConnection) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(PendingCall, "take", interrupted)
            for _ in range(3):
                with pytest.raises(KeyboardInterrupt):
                    client.begin(Submit(Submission(SESSION), (OBJECT,)))()
        client.ask(OpenSession("behind it"))
        assert not client.is_waited_for

    def prepare(server: FakeServer) -> None:
        server.rules["compute"] = lambda reply: None

    assert len(play(scene, prepare).journal.named("abandoned")) == 3


def test_a_call_that_is_left_gives_what_has_come_and_what_comes() -> None:
    for early in (True, False):
        asked = PendingCall(lambda fields: None, lambda error: ConnectionLostError("gone"))
        told: list[object] = []
        refusal: Fields = {"refusal": {"refused": "no"}}
        if early:
            asked.returned(refusal)
        asked.leave_to(told.append)
        if not early:
            asked.returned(refusal)
        assert [str(one) for one in told] == ["no"]


def in_the_middle_of_sending(client: ClientConnection, handler: Callable[[], object]) -> None:
    """Does this once, as a signal handler, in the next thread that sends."""
    caller: Any = client._calls._caller  # pyright: ignore[reportPrivateUsage] # there is no other way into the middle
    send_all = caller._send_all

    def interrupted() -> bool:
        caller._send_all = send_all
        handler()
        left: bool = send_all()
        return left

    caller._send_all = interrupted


def test_a_handler_in_the_middle_of_sending_may_say_something_but_not_wait() -> None:
    def scene(client: ClientConnection) -> None:
        def handle() -> None:
            assert client.is_interrupted_here
            for wait in (
                lambda: client.ask(ServerInfo()),
                lambda: client.ask_all([Fetch(OBJECT)]),
                lambda: client.begin(Submit(Submission(SESSION), (OBJECT,))),
            ):
                with pytest.raises(RefusedError, match="a signal handler cannot wait here"):
                    wait()
            client.say(HandlesGone((), (OBJECT,)))

        in_the_middle_of_sending(client, handle)
        client.ask(ReportsOf((), ()))
        assert not client.is_interrupted_here

    names = [entry[0] for entry in play(scene).journal.entries]
    assert names == ["client joined", "update", "handles_gone", "client left"]


def test_no_other_thread_waits_for_one_that_was_interrupted_while_it_sent() -> None:
    def scene(client: ClientConnection) -> None:
        def handle() -> None:
            other = threading.Thread(target=client.say, args=[HandlesGone((), (OBJECT,))])
            other.start()
            other.join(30)
            assert not other.is_alive()

        in_the_middle_of_sending(client, handle)
        client.ask(ReportsOf((), ()))

    names = [entry[0] for entry in play(scene).journal.entries]
    assert names == ["client joined", "update", "handles_gone", "client left"]
