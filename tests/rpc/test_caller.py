"""A connection of a client: a peer that any thread calls, and a thread that hears the answers."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import trio

from rain.rpc.caller import Caller
from rain.rpc.interface import Fields
from rain.rpc.link import Link
from rain.rpc.peer import CallError, Remote
from tests.rpc.peers import COUNTER, Counter
from tests.rpc.test_link import LONGEST, sockets


class Connected:
    """A caller, and a server of trio in another thread."""

    def __init__(self) -> None:
        one, other = sockets()
        self.counter = Counter()
        self.server = Link(other, self.counter.offered, LONGEST)
        self.thread = threading.Thread(target=lambda: trio.run(self._serve))
        self.serving = threading.Event()
        self.token: Any = None
        self.thread.start()
        self.serving.wait()
        self.caller = Caller(one)
        self.root: Remote = self.caller.peer.bootstrap()

    async def _serve(self) -> None:
        self.token = trio.lowlevel.current_trio_token()
        self.serving.set()
        await self.server.run()

    def in_server(self, function: Any, *args: Any) -> Any:
        return trio.from_thread.run_sync(function, *args, trio_token=self.token)

    def call(self, method: str, **params: Any) -> Fields | CallError:
        came: list[Fields | CallError] = []
        done = threading.Event()

        def take(outcome: Fields | CallError) -> None:
            came.append(outcome)
            done.set()

        self.caller.peer.call(self.root, COUNTER.methods[method], params, take)
        assert done.wait(30)
        return came[0]

    def close(self) -> None:
        self.caller.close("the test is over")
        self.caller.join(30)
        self.thread.join(30)
        assert not self.thread.is_alive()


@pytest.fixture
def connected() -> Iterator[Connected]:
    one = Connected()
    yield one
    one.close()


def test_a_thread_calls_and_gets_its_answer(connected: Connected) -> None:
    assert connected.call("add", number=2) == {"sum": 2}
    assert connected.caller.peer.open_questions == 0


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


def test_a_signal_handler_may_call_while_the_same_thread_calls(connected: Connected) -> None:
    handled = 0

    def handle(*_: object) -> None:
        nonlocal handled
        handled += 1
        connected.caller.peer.call(
            connected.root, COUNTER.methods["add"], {"number": 1}, lambda _: None
        )

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        for _ in range(2000):
            connected.call("add", number=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert handled > 10
    assert connected.call("add", number=0) == {"sum": 2000 + handled}


class Interrupt(Exception):
    """What the signal handler of a test raises."""


def test_an_interruption_between_any_two_steps_leaves_the_stream_in_order(
    connected: Connected,
) -> None:
    def interrupt(*_: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        for number in range(400):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.00001 + number % 40 * 0.00001)
                connected.caller.peer.call(
                    connected.root,
                    COUNTER.methods["fail"],
                    {"reason": "x" * 100_000},
                    lambda _: None,
                )
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupt:
                interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted
    assert connected.call("add", number=7) == {"sum": 7}


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
    assert connected.caller.cause == "the server stops"
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
