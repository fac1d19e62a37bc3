"""Turns come when something has arrived, or when their time has come."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from rain.daemon.turns import TurnLoop


class Daemon:
    """Notes when it takes turns, and asks for the next ones as a test says."""

    def __init__(self, next_times: list[float]) -> None:
        self.turns = TurnLoop(self._turn, self._settle, trio.current_time)
        self.taken: list[float] = []
        self._next_times = next_times

    def _turn(self) -> None:
        self.taken.append(trio.current_time())

    def _settle(self) -> float:
        return self._next_times.pop(0) if self._next_times else inf


def play(next_times: list[float], scene: Callable[[Daemon], Awaitable[None]]) -> list[float]:
    """The times of the turns that a scene leads to."""
    daemon = Daemon(next_times)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(daemon.turns.run)
            await scene(daemon)
            daemon.turns.stop()

    trio.run(main, clock=MockClock(autojump_threshold=0))
    return daemon.taken


def test_what_rings_before_a_turn_is_one_turn() -> None:
    async def scene(daemon: Daemon) -> None:
        daemon.turns.ring()
        daemon.turns.ring()
        await trio.sleep(1)
        daemon.turns.ring()
        await trio.sleep(1)

    assert play([], scene) == [0.0, 1.0]


def test_a_turn_comes_at_the_time_that_the_one_before_has_asked_for() -> None:
    async def scene(daemon: Daemon) -> None:
        daemon.turns.ring()
        await trio.sleep(10)

    assert play([2.0, 2.5, 7.0], scene) == [0.0, 2.0, 2.5, 7.0]


def test_a_time_that_every_turn_moves_to_later_brings_one_turn() -> None:
    async def scene(daemon: Daemon) -> None:
        for _ in range(4):
            daemon.turns.ring()
            await trio.sleep(1)
        await trio.sleep(10)

    assert play([2.0, 3.0, 4.0, 5.0], scene) == [0.0, 1.0, 2.0, 3.0, 5.0]


def test_a_time_may_be_moved_to_earlier_and_not_to_later() -> None:
    async def scene(daemon: Daemon) -> None:
        daemon.turns.ring()
        await trio.sleep(1)
        daemon.turns.ring_at(3.0)
        daemon.turns.ring_at(4.0)
        await trio.sleep(10)

    assert play([5.0], scene) == [0.0, 3.0]


def test_a_time_that_is_over_brings_a_turn_when_the_others_had_theirs() -> None:
    async def scene(daemon: Daemon) -> None:
        await trio.sleep(5)
        daemon.turns.ring()
        await wait_all_tasks_blocked()

    assert play([1.0], scene) == [5.0, 5.0]


def test_there_is_no_turn_after_the_end() -> None:
    async def scene(daemon: Daemon) -> None:
        daemon.turns.ring()
        daemon.turns.stop()
        await trio.sleep(10)

    assert play([1.0], scene) == []


def test_a_turn_that_is_wanted_at_once_is_made_at_once_unless_the_turns_were_stopped() -> None:
    async def scene(daemon: Daemon) -> None:
        daemon.turns.turn_now()
        assert daemon.taken == [0.0]
        daemon.turns.stop()
        daemon.turns.turn_now()

    assert play([], scene) == [0.0]
