"""Whoever is interrupted in a call leaves nothing behind that nobody knows of.

What has left counts as submitted, what nobody waits for is given up, and that it was refused is
told by the next call.
"""

from typing import Any, Never

import pytest

from rain.base.errors import RefusedError
from rain.base.failures import SessionFailure
from rain.base.wire import Submission
from rain.rpc import client_endpoint
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.client_requests import Box, Requests
from tests.rpc.client_scenes import OBJECT, SESSION, interrupted, play
from tests.rpc.fakes import FakeServer


def interrupt_when_sent(patched: pytest.MonkeyPatch) -> None:
    """Whatever is asked has left when Ctrl-C comes."""
    ask = Requests.ask

    def ask_and_be_interrupted(*arguments: Any, **words: Any) -> None:
        ask(*arguments, **words)
        raise KeyboardInterrupt

    patched.setattr(Requests, "ask", ask_and_be_interrupted)


def test_nothing_remains_of_a_computation_that_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def scene(client: ClientConnection) -> None:
        waiting = client.submit_and_wait(Submission(SESSION), [OBJECT])
        with monkeypatch.context() as patch:
            patch.setattr(Box, "take", interrupted)
            with pytest.raises(KeyboardInterrupt):
                waiting()
        client.server_info()
        assert client.unanswered == 0

    def prepare(server: FakeServer) -> None:
        server.rules["compute"] = lambda reply: None

    assert len(play(scene, prepare).journal.named("abandoned")) == 1


@pytest.mark.parametrize("way", ["submit", "submit_soon", "submit_and_wait"])
def test_a_submission_that_is_interrupted_has_left_when_it_was_sent(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once while it is encoded, and once when it was sent."""

    def begin(client: ClientConnection) -> None:
        if way == "submit_and_wait":
            client.submit_and_wait(Submission(SESSION), [OBJECT])
        else:
            getattr(client, way)(Submission(SESSION))

    def scene(client: ClientConnection) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(client_endpoint, "encode_submission", interrupted)
            with pytest.raises(KeyboardInterrupt):
                begin(client)
        assert not client.has_left(SESSION)
        with monkeypatch.context() as patched:
            interrupt_when_sent(patched)
            with pytest.raises(KeyboardInterrupt):
                begin(client)
        assert client.has_left(SESSION)
        assert not client.has_left(SESSION)
        client.open_session("behind it")

    def prepare(server: FakeServer) -> None:
        server.rules["submit"] = server.rules["compute"] = lambda reply: None

    journal = play(scene, prepare).journal
    assert len(journal.named("submit") + journal.named("compute")) == 1


def test_the_refusal_of_an_interrupted_submission_is_told_by_the_next_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def scene(client: ClientConnection) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(Box, "take", interrupted)
            with pytest.raises(KeyboardInterrupt):
                client.submit(Submission(SESSION))
        assert client.has_left(SESSION)
        client.open_session("behind it")  # its answer comes after the refusal
        with pytest.raises(RefusedError, match="two producers"):
            client.wait(SESSION, [], [], "session")

    def prepare(server: FakeServer) -> None:
        server.rules["submit"] = lambda reply: reply.refuse("two producers")

    play(scene, prepare)


@pytest.mark.parametrize("moment", ["while it is sent", "before it is answered", "afterwards"])
def test_the_refusal_of_an_interrupted_computation_is_told_by_the_next_call(
    moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = Box.take

    def take_and_be_interrupted(box: Box, timeout: float | None = None) -> Never:
        if moment == "afterwards":
            with pytest.raises(RefusedError):
                take(box, timeout)
        raise KeyboardInterrupt

    def scene(client: ClientConnection) -> None:
        with monkeypatch.context() as patched:
            if moment == "while it is sent":
                interrupt_when_sent(patched)
            patched.setattr(Box, "take", take_and_be_interrupted)
            with pytest.raises(KeyboardInterrupt):
                client.submit_and_wait(Submission(SESSION), [OBJECT])()
        client.open_session("behind it")  # its answer comes after the refusal
        with pytest.raises(RefusedError, match="two producers"):
            client.wait(SESSION, [], [], "session")
        client.wait(SESSION, [], [], "session")  # and it was told once
        assert client.unanswered == 0

    def prepare(server: FakeServer) -> None:
        server.rules["compute"] = lambda reply: reply.refuse("two producers")

    play(scene, prepare)


def test_that_a_task_of_an_interrupted_computation_has_failed_is_no_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def scene(client: ClientConnection) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(Box, "take", interrupted)
            with pytest.raises(KeyboardInterrupt):
                client.submit_and_wait(Submission(SESSION), [OBJECT])()
        client.open_session("behind it")
        client.wait(SESSION, [], [], "session")

    def prepare(server: FakeServer) -> None:
        server.rules["compute"] = lambda reply: reply.refuse(SessionFailure("it broke"))

    play(scene, prepare)


def test_nothing_is_kept_of_an_interrupted_computation_when_somebody_behind_it_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connections: list[Requests] = []
    give_up = Requests.give_up_waiting

    def seen(requests: Requests, number: int) -> None:
        connections.append(requests)
        give_up(requests, number)

    def scene(client: ClientConnection) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(Requests, "give_up_waiting", seen)
            patched.setattr(Box, "take", interrupted)
            for _ in range(3):
                with pytest.raises(KeyboardInterrupt):
                    client.submit_and_wait(Submission(SESSION), [OBJECT])()
        client.open_session("behind it")
        client.open_session("and once more: what was given up late is known by now")
        assert len(connections) == 3
        assert not any(vars(requests)["_given_up"] for requests in connections)
        assert client.unanswered == 0

    def prepare(server: FakeServer) -> None:
        server.rules["compute"] = lambda reply: None

    assert len(play(scene, prepare).journal.named("abandoned")) == 3


def test_a_box_that_is_left_gives_what_it_holds_and_what_comes() -> None:
    for early in (True, False):
        box, told = Box(), list[object]()
        refusal = RefusedError("no")
        if early:
            box.put(refusal)
        box.leave_to(told.append)
        if not early:
            box.put(refusal)
        assert told == [refusal]
