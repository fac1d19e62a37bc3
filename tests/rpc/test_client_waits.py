"""What a client waits for, and what comes with the answer."""

import threading
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from rain.base.errors import (
    ConnectionLostError,
    InvariantError,
)
from rain.base.ids import KindId, ObjectId
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.answers import Delivery, WaitAnswer
from rain.base.wire.requests import Cancel, CancelUnstarted, ServerInfo, Submit, WaitFor
from rain.base.wire.submission import ConstantColumns, Submission
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.handlers import Reply
from rain.stream.reading import StreamReader
from tests.rpc.client_scenes import OBJECT, SESSION, play


def test_small_results_come_with_the_wait() -> None:
    delivery = Delivery([OBJECT], [3], ["text"], [b"abc"])

    def scene(client: ClientConnection) -> None:
        assert client.ask(WaitFor(SESSION, (), (OBJECT,), "all")).delivery == delivery

    answer = WaitAnswer([], [OBJECT], delivery)
    play(scene, lambda server: server.rules.update(wait=lambda reply: reply.answer(answer)))


def test_a_delivery_over_the_limit_is_cut() -> None:
    delivery = Delivery(
        [ObjectId(number) for number in range(60)], [1 << 20] * 60, [""] * 60, [bytes(1 << 20)] * 60
    )

    def scene(client: ClientConnection) -> None:
        seen = client.ask(WaitFor(SESSION, (), (OBJECT,), "all")).delivery
        assert 0 < len(seen.ids) < 60
        assert seen.data == delivery.data[: len(seen.ids)]

    answer = WaitAnswer([], [OBJECT], delivery)
    play(scene, lambda server: server.rules.update(wait=lambda reply: reply.answer(answer)))


def test_a_wait_that_times_out_is_abandoned_on_the_server() -> None:
    def scene(client: ClientConnection) -> None:
        with pytest.raises(TimeoutError):
            client.ask(WaitFor(SESSION, (), (), "session"), timeout=0.01)
        client.ask(ServerInfo())

    server = play(scene, lambda server: server.rules.update(wait=lambda reply: None))
    names = [entry[0] for entry in server.journal.entries]
    assert names == ["client joined", "wait", "abandoned", "server_info", "client left"]


def test_waits_of_a_client_that_leaves_are_abandoned_before_it_has_left() -> None:
    replies: list[Reply[Any]] = []

    def scene(client: ClientConnection) -> None:
        waiting = threading.Thread(target=partial(lost, client))
        waiting.start()
        reached.wait()
        client.close()
        waiting.join()

    def lost(client: ClientConnection) -> None:
        with pytest.raises(ConnectionLostError, match="was closed"):
            client.ask(WaitFor(SESSION, (), (), "session"))

    def hold(reply: Reply[Any]) -> None:
        replies.append(reply)
        reached.set()

    reached = threading.Event()
    server = play(scene, lambda server: server.rules.update(wait=hold))
    assert server.journal.entries[2:] == [
        ("abandoned", replies[0]),
        ("client left", "the other side closed the connection"),
    ]


def test_an_answer_to_a_client_that_has_gone_goes_nowhere() -> None:
    def scene(client: ClientConnection) -> None:
        with pytest.raises(TimeoutError):
            client.ask(WaitFor(SESSION, (), (), "session"), timeout=0.01)

    held: list[Reply[Any]] = []
    server = play(scene, lambda server: server.rules.update(wait=held.append))
    assert server.journal.named("abandoned") == [(held[0],)]
    held[0].answer(WaitAnswer())
    with pytest.raises(InvariantError, match="twice"):
        held[0].refuse("no")


def test_a_cancellation_comes_behind_the_end_of_the_wait_that_was_interrupted() -> None:
    def scene(client: ClientConnection) -> None:
        with pytest.raises(TimeoutError):
            client.ask(WaitFor(SESSION, (), (OBJECT,), "all"), timeout=0.01)
        client.say(Cancel(SESSION, (), (OBJECT,)))
        client.ask(ServerInfo())

    server = play(scene, lambda server: server.rules.update(wait=lambda reply: None))

    names = [entry[0] for entry in server.journal.entries]
    assert names.index("abandoned") < names.index("cancel")
    assert server.journal.named("cancel") == [(SESSION, [], [OBJECT], False, False)]


def test_a_client_that_cancels_what_has_not_started_is_told_what_that_was() -> None:
    other = ObjectId(OBJECT + 1)

    def scene(client: ClientConnection) -> None:
        assert client.ask(CancelUnstarted(SESSION, (OBJECT, other))) == [other]

    server = play(scene)
    assert server.journal.named("cancel_unstarted") == [(SESSION, [OBJECT, other])]


@pytest.mark.parametrize("end", ["timeout", "close"])
def test_a_wait_behind_the_upload_of_another_thread_ends_in_time(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on, over = threading.Event(), threading.Event(), threading.Event()

    def upload(*_: object) -> None:
        begun.set()
        goes_on.wait()

    def submit(client: ClientConnection) -> None:
        constants = ConstantColumns([OBJECT], [KindId(1)], [bytes(INLINE_LIMIT + 1)])
        with suppress(ConnectionLostError):
            client.ask(Submit(Submission(SESSION, constants=constants)))

    def wait(client: ClientConnection) -> None:
        expected = TimeoutError if end == "timeout" else ConnectionLostError
        with pytest.raises(expected):
            client.ask(
                WaitFor(SESSION, (), (), "session"), timeout=0.05 if end == "timeout" else None
            )
        over.set()

    def scene(client: ClientConnection) -> None:
        submitting = threading.Thread(target=submit, args=(client,))
        waiting = threading.Thread(target=wait, args=(client,))
        submitting.start()
        begun.wait()
        waiting.start()
        if end == "close":
            client.close()
        try:
            assert over.wait(30)
        finally:
            client.close()
            goes_on.set()
            submitting.join()
            waiting.join()

    monkeypatch.setattr(StreamReader, "upload", upload)
    assert play(scene).journal.named("wait") == []
