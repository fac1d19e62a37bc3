"""Sockets are heard where they are found, and what follows comes before the next look."""

import asyncio
import os
import socket
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

import pytest

from rain.base.errors import InvariantError
from rain.rpc import host, sequel
from rain.rpc.sequel import MANY, SequelLoop, running_loop
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


def play_alone(scene: Scene, *, debug: bool = False) -> list[str]:
    """The same in a loop that carries nothing else."""
    seen: list[str] = []

    async def main() -> None:
        await scene(running_loop(), seen)

    with asyncio.Runner(loop_factory=SequelLoop, debug=debug) as runner:
        runner.run(main())
    return seen


class Ear:
    """A socket in the loop; each byte that it reads pokes a pulse, if there is one."""

    def __init__(
        self, loop: SequelLoop, seen: list[str], poke: Callable[[], object] = lambda: None
    ) -> None:
        self._loop, self._seen, self._poke = loop, seen, poke
        self.ours, self.theirs = socket.socketpair()
        self.heard = asyncio.Event()  # set in the iteration behind
        loop.add_reader(self.ours, self._read)

    def _read(self) -> None:
        self._seen.append(self.ours.recv(10).decode())
        self._poke()
        self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        self._seen.append("next iteration")
        self.heard.set()

    def close(self) -> None:
        self._loop.remove_reader(self.ours)
        self.ours.close()
        self.theirs.close()


async def some_iterations() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_what_one_socket_brought_is_answered_before_the_next_iteration() -> None:
    async def scene(loop: SequelLoop, seen: list[str]) -> None:
        def turn() -> None:
            seen.append("turn")
            loop.follow(lambda: seen.append("send"))

        ear = Ear(loop, seen, host.Pulse(turn).poke)
        ear.theirs.send(b"a")
        await ear.heard.wait()
        ear.close()

    assert play(scene) == ["a", "turn", "send", "next iteration"]


def test_what_comes_to_a_busy_loop_is_answered_in_the_next_iteration() -> None:
    async def scene(loop: SequelLoop, seen: list[str]) -> None:
        ear = Ear(loop, seen, host.Pulse(lambda: seen.append("turn")).poke)
        ear.theirs.send(b"a")
        await some_iterations()
        ear.close()

    assert sorted(play(scene)) == ["a", "next iteration", "turn"]


@pytest.mark.parametrize("busy", [False, True])
def test_what_two_sockets_brought_together_is_one_turn(busy: bool) -> None:
    async def scene(loop: SequelLoop, seen: list[str]) -> None:
        pulse = host.Pulse(lambda: seen.append("turn"))
        ears = [Ear(loop, seen, pulse.poke) for _ in range(2)]
        for ear, said in zip(ears, (b"a", b"b"), strict=True):
            ear.theirs.send(said)
        if not busy:
            await ears[0].heard.wait()
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
        ear = Ear(loop, seen, pulse.poke)
        ear.theirs.send(b"a")
        await ear.heard.wait()
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


def test_for_a_socket_alone_there_is_no_iteration_of_asyncios(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    iterations = 0
    ordinary = sequel.ordinary_iteration

    def counted(loop: SequelLoop) -> None:
        nonlocal iterations
        iterations += 1
        ordinary(loop)

    monkeypatch.setattr(sequel, "ordinary_iteration", counted)

    async def scene(loop: SequelLoop, seen: list[str]) -> None:
        done = asyncio.Event()
        ours, theirs = socket.socketpair()

        def read() -> None:
            seen.append(ours.recv(1).decode())
            if len(seen) == 1:
                seen.append(str(iterations))
            if seen[-1] == "z":
                seen.append(str(iterations))
                done.set()
            else:
                loop.follow(lambda: theirs.send(b"z" if len(seen) > 20 else b"a"))

        with ours, theirs:
            loop.add_reader(ours, read)
            theirs.send(b"a")
            await done.wait()
            loop.remove_reader(ours)

    seen = play_alone(scene)
    assert len(seen) > 20
    assert seen[-1] == seen[1], "as many iterations at the end as at the beginning"


def test_a_loop_that_always_hears_something_does_all_else_as_well() -> None:
    async def scene(loop: SequelLoop, _: list[str]) -> None:
        ears = [socket.socketpair() for _ in range(3)]
        for ours, theirs in ears:
            theirs.send(b"never read")
            loop.add_reader(ours, lambda: None)
        timer, another_thread, writable = asyncio.Event(), asyncio.Event(), asyncio.Event()
        loop.call_later(0.001, timer.set)
        await timer.wait()
        thread = threading.Thread(target=lambda: loop.call_soon_threadsafe(another_thread.set))
        thread.start()
        await another_thread.wait()
        writer, reader = socket.socketpair()
        loop.add_writer(writer, writable.set)
        await writable.wait()
        loop.remove_writer(writer)
        thread.join()
        for ours, theirs in [*ears, (writer, reader)]:
            loop.remove_reader(ours)
            ours.close()
            theirs.close()

    play_alone(scene)


def test_more_sockets_than_one_look_takes_are_all_heard() -> None:
    async def scene(loop: SequelLoop, seen: list[str]) -> None:
        ears = [Ear(loop, seen) for _ in range(MANY + 10)]
        for ear in ears:
            ear.theirs.send(b"a")
        for ear in ears:
            await ear.heard.wait()
            ear.close()

    assert play_alone(scene).count("a") == MANY + 10


def test_a_reader_that_was_removed_by_another_one_hears_nothing() -> None:
    async def scene(loop: SequelLoop, seen: list[str]) -> None:
        ears: list[Ear] = []

        def remove_the_others() -> None:
            for ear in ears:
                if not ear.heard.is_set():
                    loop.remove_reader(ear.ours)
            done.set()

        done = asyncio.Event()
        ears += [Ear(loop, seen, remove_the_others) for _ in range(2)]
        for ear in ears:
            ear.theirs.send(b"a")
        await done.wait()
        await some_iterations()
        for ear in ears:
            ear.close()

    assert play_alone(scene) == ["a", "next iteration"]


def test_a_socket_that_was_closed_with_its_reader_is_refused_by_name() -> None:
    async def scene(loop: SequelLoop, _: list[str]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            loop.add_reader(ours, lambda: None)
            descriptor = ours.detach()
            with pytest.raises(InvariantError, match="closed before its reader was removed"):
                loop.remove_reader(ours)
            loop.remove_reader(descriptor)
            os.close(descriptor)

    play_alone(scene)


def test_the_end_of_a_socket_is_heard() -> None:
    async def scene(loop: SequelLoop, seen: list[str]) -> None:
        ear = Ear(loop, seen)
        ear.theirs.close()
        await ear.heard.wait()
        ear.close()

    assert play_alone(scene)[:2] == ["", "next iteration"]


def test_an_error_of_a_reader_is_told_and_the_others_are_heard() -> None:
    async def scene(loop: SequelLoop, seen: list[str]) -> None:
        def fail() -> None:
            broken.ours.recv(1)
            raise FileNotFoundError("gone")

        loop.set_exception_handler(lambda _, context: seen.append(repr(context["exception"])))
        broken, sound = Ear(loop, seen), Ear(loop, seen)
        loop.add_reader(broken.ours, fail)
        for ear in (broken, sound):
            ear.theirs.send(b"a")
        await sound.heard.wait()
        await some_iterations()
        broken.close()
        sound.close()

    seen = play_alone(scene)
    assert sorted(seen) == ["FileNotFoundError('gone')", "a", "next iteration"]


def test_an_interrupt_in_a_reader_comes_out_of_the_loop() -> None:
    async def scene(loop: SequelLoop, seen: list[str]) -> None:
        def interrupt() -> None:
            ours.recv(1)
            raise KeyboardInterrupt

        ours, theirs = socket.socketpair()
        with ours, theirs:
            loop.add_reader(ours, interrupt)
            theirs.send(b"a")
            await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        play_alone(scene)


def test_a_reader_may_stop_the_loop() -> None:
    loop = SequelLoop()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        loop.add_reader(ours, loop.stop)
        theirs.send(b"a")
        loop.run_forever()
        loop.remove_reader(ours)
    loop.close()


def test_a_reader_runs_in_the_context_in_which_it_was_added() -> None:
    name: ContextVar[str] = ContextVar("name", default="nobody")

    async def scene(loop: SequelLoop, seen: list[str]) -> None:
        name.set("the one who adds")
        ear = Ear(loop, seen, lambda: seen.append(name.get()))
        ear.theirs.send(b"a")
        await ear.heard.wait()
        ear.close()

    assert play_alone(scene) == ["a", "the one who adds", "next iteration"]


def test_in_debug_mode_all_is_heard_as_well() -> None:
    async def scene(loop: SequelLoop, seen: list[str]) -> None:
        ear = Ear(loop, seen, lambda: loop.follow(lambda: seen.append("turn")))
        ear.theirs.send(b"a")
        await ear.heard.wait()
        ear.close()

    assert play_alone(scene, debug=True) == ["a", "next iteration", "turn"]
