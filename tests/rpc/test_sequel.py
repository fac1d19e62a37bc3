"""What follows from what was heard comes before the next look at the system's events."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest

from rain.rpc import host
from rain.rpc.sequel import SequelLoop, running_loop
from tests.support.waiting import turns_of_the_host

Scene = Callable[[SequelLoop, list[str]], Awaitable[None]]


def play(scene: Scene) -> list[str]:
    """What a scene writes down, in its order."""
    seen: list[str] = []

    async def main() -> int:
        await host.in_host(in_the_host)
        await turns_of_the_host()
        return 0

    async def in_the_host() -> None:
        await scene(running_loop(), seen)

    host.run(main)
    return seen


class Ear:
    """A socket in the loop; each byte that it reads pokes a pulse, if there is one."""

    def __init__(self, loop: SequelLoop, seen: list[str], pulse: host.Pulse) -> None:
        self._loop, self._seen, self._pulse = loop, seen, pulse
        self._ours, self.theirs = socket.socketpair()
        loop.add_reader(self._ours, self._read)

    def _read(self) -> None:
        self._seen.append(self._ours.recv(10).decode())
        self._pulse.poke()
        self._loop.call_soon(self._seen.append, "next iteration")

    def close(self) -> None:
        self._loop.remove_reader(self._ours)
        self._ours.close()
        self.theirs.close()


async def some_iterations() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_what_one_socket_brought_is_answered_before_the_next_iteration() -> None:
    async def scene(loop: SequelLoop, seen: list[str]) -> None:
        def turn() -> None:
            seen.append("turn")
            loop.follow(lambda: seen.append("send"))

        ear = Ear(loop, seen, host.Pulse(turn))
        ear.theirs.send(b"a")
        await some_iterations()
        ear.close()

    assert play(scene) == ["a", "turn", "send", "next iteration"]


def test_what_two_sockets_brought_together_is_one_turn() -> None:
    async def scene(loop: SequelLoop, seen: list[str]) -> None:
        pulse = host.Pulse(lambda: seen.append("turn"))
        ears = [Ear(loop, seen, pulse) for _ in range(2)]
        for ear, said in zip(ears, (b"a", b"b"), strict=True):
            ear.theirs.send(said)
        await some_iterations()
        for ear in ears:
            ear.close()

    seen = play(scene)
    assert sorted(seen[:2]) == ["a", "b"]
    assert seen.count("turn") == 1


def test_turns_that_follow_from_turns_do_not_keep_the_loop_from_looking() -> None:
    async def scene(loop: SequelLoop, seen: list[str]) -> None:
        def turn() -> None:
            seen.append("turn")
            if seen.count("turn") < 50:
                pulse.poke()

        pulse = host.Pulse(turn)
        ear = Ear(loop, seen, pulse)
        ear.theirs.send(b"a")
        for _ in range(60):
            await asyncio.sleep(0)
        ear.close()

    seen = play(scene)
    assert seen.count("turn") == 50
    assert seen.index("next iteration") < 10


def test_what_is_queued_behind_an_error_is_still_done() -> None:
    async def main() -> int:
        await host.in_host(in_the_host)
        return 0

    seen: list[str] = []

    def broken() -> None:
        raise FileNotFoundError("gone")

    async def in_the_host() -> None:
        loop = running_loop()
        loop.follow(broken)
        loop.follow(lambda: seen.append("done"))
        await some_iterations()

    with pytest.raises(FileNotFoundError, match="gone"):
        host.run(main)
    assert seen == ["done"]
