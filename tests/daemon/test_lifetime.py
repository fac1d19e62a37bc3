"""Which signals end a daemon, and which ones let it begin to leave."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
import trio

from rain.daemon.lifetime import end


def ended_by(number: signal.Signals, leave: Callable[[], bool] = lambda: False) -> str:
    """Why a daemon ends that gets a signal when it waits for one."""

    async def send(before: object) -> None:
        while signal.getsignal(number) == before:
            await trio.lowlevel.checkpoint()
        os.kill(os.getpid(), number)

    async def main() -> str:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send, signal.getsignal(number))
            return await end(None, leave=leave)
        raise AssertionError

    return trio.run(main)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR2, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_a_daemon_that_need_not_leave_first(number: signal.Signals) -> None:
    assert ended_by(number) == f"the signal {number.name}"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR2])
def test_the_first_signal_lets_a_daemon_leave_and_the_next_one_ends_it(
    number: signal.Signals,
) -> None:
    asked: list[bool] = []

    def leave() -> bool:
        asked.append(not asked)
        if asked[-1]:
            os.kill(os.getpid(), number)
        return asked[-1]

    assert ended_by(number, leave) == f"the signal {number.name}"
    assert asked == [True, False]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_an_interrupt_ends_a_daemon_that_would_have_left(number: signal.Signals) -> None:
    assert ended_by(number, lambda: True) == f"the signal {number.name}"


def test_the_end_of_the_terminal_does_not_end_a_daemon_of_nohup() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def hang_up() -> bool:
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGINT)
        return True

    try:
        assert ended_by(signal.SIGTERM, hang_up) == "the signal SIGINT"
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
