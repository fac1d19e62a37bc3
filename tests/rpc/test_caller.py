"""A connection of a client: a peer that any thread calls, and a thread that hears the answers."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from rain.rpc.ended import End, How
from rain.rpc.interface import Fields
from rain.rpc.questions import CallError
from tests.rpc.connected import Connected
from tests.rpc.peers import COUNTER


@pytest.fixture(params=[False, True], ids=["plain", "encrypted"])
def connected(request: pytest.FixtureRequest) -> Iterator[Connected]:
    one = Connected(encrypted=request.param)
    yield one
    one.close()


def test_a_thread_calls_and_gets_its_answer(connected: Connected) -> None:
    assert connected.call("add", number=2) == {"sum": 2}
    assert not connected.caller.peer.questions


def test_many_threads_call_at_once_and_each_gets_its_own_answer(connected: Connected) -> None:
    sums: list[int] = []

    def work() -> None:
        for _ in range(200):
            outcome = connected.call("add", number=1)
            assert isinstance(outcome, dict)
            sums.append(outcome["sum"])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sums) == list(range(1, 1601))


@pytest.mark.parametrize("way", ["plain", "encrypted"])
@pytest.mark.parametrize("scene", ["signal_handler", "interruption"])
def test_signals_between_any_two_steps_leave_the_stream_in_order(scene: str, way: str) -> None:
    """In a process of its own: what measures coverage takes locks of its own around each step."""
    environment = {key: text for key, text in os.environ.items() if not key.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.rpc.caller_under_signals", scene, way],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_what_the_socket_does_not_take_at_once_is_sent_all_the_same(connected: Connected) -> None:
    release = threading.Event()
    blocked = threading.Thread(target=lambda: connected.in_server(release.wait))
    blocked.start()
    for _ in range(200):
        connected.caller.peer.call(
            connected.root, COUNTER.methods["fail"], {"reason": "x" * 100_000}, lambda _: None
        )
    release.set()
    assert connected.call("add", number=3) == {"sum": 3}
    blocked.join()


def test_the_end_of_the_server_answers_everybody_who_waits(connected: Connected) -> None:
    connected.call("add", number=1)
    outcomes: list[Fields | CallError] = []
    done = threading.Event()

    def take(outcome: Fields | CallError) -> None:
        outcomes.append(outcome)
        done.set()

    connected.caller.peer.call(connected.root, COUNTER.methods["wait"], {}, take)
    connected.call("add", number=1)
    connected.in_server(connected.server.end_with_reason, "the server stops")
    assert done.wait(30)
    (error,) = outcomes
    assert isinstance(error, CallError)
    assert error.kind == "disconnected"
    assert connected.caller.ended == End(How.FAREWELL, "the server stops")
    assert not connected.caller.is_usable


def test_a_forked_child_closes_what_it_has_inherited_and_the_parent_goes_on(
    connected: Connected,
) -> None:
    connected.call("add", number=1)
    child = os.fork()
    if not child:
        os._exit(0 if not connected.caller.is_usable else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert connected.call("add", number=1) == {"sum": 2}
