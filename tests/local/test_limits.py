"""Calls of local mode that take too long, and signals that come while it works."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from queue import SimpleQueue
from typing import Any

import pytest

from rain.client import CancelledError, Client, Program, TaskTimeout
from rain.client.future import Future
from rain.local.cluster import HereCluster
from rain.local.limits import limited
from rain.local.shield import Shield


@pytest.fixture
def heard() -> Iterator[list[str]]:
    """What handlers of two signals have heard; that of the first one raises."""
    told: list[str] = []

    def raises(*_: object) -> None:
        told.append("first")
        raise InterruptedError

    def notes(*_: object) -> None:
        told.append("second")

    former = signal.signal(signal.SIGUSR1, raises), signal.signal(signal.SIGUSR2, notes)
    yield told
    for number, handler in zip((signal.SIGUSR1, signal.SIGUSR2), former, strict=True):
        signal.signal(number, handler)


def spin() -> None:
    while True:
        time.sleep(0.001)  # an interruption comes between two lines


started = threading.Event()
"""Calls of this module run in this process: functions of modules are pickled by name."""


def sleeps() -> None:
    started.set()
    time.sleep(3600)


# Time limits.


def test_a_timeout_ends_a_call_in_the_main_thread_even_in_a_sleep(client: Client) -> None:
    with pytest.raises(TaskTimeout, match=r"longer than its timeout of 0\.1 s") as why:
        client.options(timeout=0.1).submit(time.sleep, 3600).result()

    assert [run.cause for run in why.value.runs] == ["timeout"]
    assert client.submit(abs, -1).result() == 1


def test_a_timeout_ends_a_call_in_another_thread_and_uses_up_a_try(client: Client) -> None:
    done: SimpleQueue[Future[Any]] = SimpleQueue()
    client.options(timeout=0.1, tries=2).submit(spin).add_done_callback(done.put)

    error = done.get().exception()

    assert isinstance(error, TaskTimeout)
    assert [run.cause for run in error.runs] == ["timeout", "timeout"]


def test_a_timeout_ends_a_program(client: Client) -> None:
    with client.new_session() as session, pytest.raises(TaskTimeout):
        session.compute(Program("sleep 3600", stdout=True, timeout=0.1)())


def test_a_call_that_is_in_time_is_let_alone(client: Client) -> None:
    quick = client.options(timeout=3600)

    assert [quick.submit(abs, -number).result() for number in range(20)] == list(range(20))


def test_time_in_a_debugger_does_not_count() -> None:
    looked, ended = threading.Event(), threading.Event()

    with ExitStack() as stack:

        def begin() -> None:
            stack.enter_context(limited(0.01, lambda _: ended.set()))

        # A frame of the debugger, from the first moment on, for many times the limit.
        prompt: dict[str, Any] = {"__name__": "bdb", "begin": begin, "wait": looked.wait}
        prompt["is_ended"] = ended.is_set
        exec("begin(); wait(0.2); too_early = is_ended()", prompt)  # noqa: S102 # as it does
        assert not prompt["too_early"]
        ended.wait()


def test_another_thread_cancels_a_call_that_sleeps_in_the_main_thread(client: Client) -> None:
    started.clear()
    future = client.submit(sleeps)

    def cancel() -> None:
        started.wait()
        future.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(CancelledError):
        future.result()
    canceller.join()
    assert client.submit(abs, -1).result() == 1


def test_a_signal_that_a_sleep_has_missed_is_sent_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given: the first one comes in the moment before the sleep begins
    real, sent = signal.pthread_kill, list[int]()

    def lossy(thread: int, number: int) -> None:
        sent.append(number)
        if len(sent) > 1:
            real(thread, number)

    monkeypatch.setattr(signal, "pthread_kill", lossy)
    started.clear()
    future = client.submit(sleeps)

    def cancel() -> None:
        started.wait()
        future.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()

    # when
    with pytest.raises(CancelledError):
        future.result()

    # then
    canceller.join()
    assert len(sent) > 1


# Signals.


def test_handlers_are_called_when_a_turn_is_over_also_if_one_raises(heard: list[str]) -> None:
    shield = Shield()

    def signalled() -> None:
        with shield:
            with shield:
                signal.raise_signal(signal.SIGUSR1)
                signal.raise_signal(signal.SIGUSR2)
            assert heard == []

    with pytest.raises(InterruptedError):
        signalled()

    assert heard == ["first", "second"]
    signal.raise_signal(signal.SIGUSR2)
    assert heard == ["first", "second", "second"]


def test_a_handler_that_raises_leaves_no_half_of_a_turn(
    client: Client, heard: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = HereCluster.settle

    def interrupted(cluster: HereCluster) -> None:
        signal.raise_signal(signal.SIGUSR1)
        settle(cluster)

    futures = client.map(abs, range(-5, 0))
    with monkeypatch.context() as patch:
        patch.setattr(HereCluster, "settle", interrupted)
        with pytest.raises(InterruptedError):
            client.gather(futures)

    assert heard == ["first"]
    assert client.gather(futures) == [5, 4, 3, 2, 1]


def test_a_handler_submits_and_waits_in_the_middle_of_a_turn(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    results: list[int] = []
    sent: list[int] = []
    settle = HereCluster.settle

    def interrupted(cluster: HereCluster) -> None:
        if len(sent) < 5:
            sent.append(signal.SIGUSR1)
            signal.raise_signal(signal.SIGUSR1)
        settle(cluster)

    def submits(*_: object) -> None:
        results.append(client.submit(abs, -7).result())

    former = signal.signal(signal.SIGUSR1, submits)
    try:
        futures = client.map(abs, range(-5, 0))
        with monkeypatch.context() as patch:
            patch.setattr(HereCluster, "settle", interrupted)
            assert client.gather(futures) == [5, 4, 3, 2, 1]
    finally:
        signal.signal(signal.SIGUSR1, former)
    assert results == [7] * 5
