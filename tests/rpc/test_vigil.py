"""Who stays awake looks again and again, and sleeps when that does not pay any more."""

import asyncio
import socket
from collections.abc import Callable

import pytest

from rain.rpc.sequel import SequelLoop, running_loop
from rain.rpc.vigil import LOST, Found, Vigil

EVENT: Found = [(3, 1)]


class Night:
    """A clock that moves with every look, and what the looks find."""

    def __init__(self, *found: Found, a_look: float = 0.00001) -> None:
        self.now = 100.0
        self.looks = 0
        self.gave_way = 0
        self._found = list(found)
        self._a_look = a_look
        self.vigil = Vigil(lambda: self.now, self._give_way)

    def look(self) -> Found:
        self.looks += 1
        self.now += self._a_look
        return self._found.pop(0) if self._found else []

    def _give_way(self) -> None:
        self.gave_way += 1


def test_nobody_stays_awake_unless_it_was_asked_for() -> None:
    night = Night()
    assert not night.vigil
    night.vigil.begin(0.001)
    assert night.vigil


def test_it_ends_with_what_is_found() -> None:
    night = Night([], [], EVENT)
    night.vigil.begin(1.0)
    assert night.vigil.keep(night.look, 1.0) == EVENT
    assert night.looks == 3


def test_it_gives_way_between_two_looks() -> None:
    night = Night([], [], EVENT)
    night.vigil.begin(1.0)
    night.vigil.keep(night.look, 1.0)
    assert night.gave_way == 2


def test_it_ends_when_its_time_is_over() -> None:
    night = Night(a_look=2**-12)
    night.vigil.begin(4 * 2**-12)
    assert night.vigil.keep(night.look, 1.0) == []
    assert night.looks == 4


def test_it_does_not_outlast_what_is_due_sooner() -> None:
    night = Night(a_look=2**-12)
    night.vigil.begin(1.0)
    assert night.vigil.keep(night.look, 2 * 2**-12) == []
    assert night.looks == 2


def test_it_ends_when_somebody_else_has_used_the_cpu() -> None:
    night = Night(a_look=2 * LOST)
    night.vigil.begin(1.0)
    assert night.vigil.keep(night.look, 1.0) == []
    assert night.looks == 1


def test_one_is_kept_once() -> None:
    night = Night(EVENT)
    night.vigil.begin(1.0)
    night.vigil.keep(night.look, 1.0)
    assert not night.vigil


class WatchedVigil(Vigil):
    """Keeps what was found."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Found] = []

    def keep(self, look: Callable[[], Found], longest: float) -> Found:
        found = super().keep(look, longest)
        self.found.append(found)
        return found


def test_a_loop_that_stays_awake_hears_a_socket_and_a_timer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rain.rpc.sequel.Vigil", WatchedVigil)

    async def main() -> None:
        loop = running_loop()
        heard, due = asyncio.Event(), asyncio.Event()
        ours, theirs = socket.socketpair()

        def read() -> None:
            ours.recv(1)
            heard.set()

        with ours, theirs:
            loop.add_reader(ours, read)
            theirs.send(b"a")
            loop.stay_awake(3600.0)
            await heard.wait()
            loop.call_later(0.001, due.set)
            loop.stay_awake(3600.0)
            await due.wait()
            loop.remove_reader(ours)
        vigil = loop._vigil  # pyright: ignore[reportPrivateUsage]  # which has watched itself
        assert isinstance(vigil, WatchedVigil)
        assert [bool(found) for found in vigil.found] == [True, False]

    with asyncio.Runner(loop_factory=SequelLoop) as runner:
        runner.run(main())
