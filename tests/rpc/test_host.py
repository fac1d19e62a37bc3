"""Trio runs as the guest of the loop that carries Cap'n Proto."""

import asyncio
import os
import signal
import threading

import pytest
import trio
import trio.lowlevel

from rain.base.errors import InvariantError
from rain.rpc import host
from tests.support.waiting import turns_of_the_host


def test_the_status_of_the_trio_main_comes_out() -> None:
    async def main() -> int:
        await trio.lowlevel.checkpoint()
        return 7

    assert host.run(main) == 7


def test_an_exception_of_the_trio_main_comes_out_as_itself() -> None:
    async def main() -> int:
        await trio.lowlevel.checkpoint()
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        host.run(main)


def test_ctrl_c_interrupts_the_trio_main_and_then_works_as_before() -> None:
    async def main() -> int:
        os.kill(os.getpid(), signal.SIGINT)
        await trio.sleep_forever()
        return 0

    with pytest.raises(KeyboardInterrupt):
        host.run(main)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_trio_receives_signals() -> None:
    async def main() -> int:
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            os.kill(os.getpid(), signal.SIGTERM)
            async for number in signals:
                return number
        return 0

    assert host.run(main) == signal.SIGTERM


def test_a_second_program_can_run_after_the_first() -> None:
    async def main() -> int:
        return threading.active_count()

    assert host.run(main) == host.run(main)


def test_a_pulse_beats_once_however_often_it_is_poked() -> None:
    beats: list[bool] = []

    async def main() -> int:
        pulse = host.Pulse(lambda: beats.append(True))
        for _ in range(5):
            pulse.poke()
        assert beats == []
        await turns_of_the_host()
        pulse.poke()
        await turns_of_the_host()
        return len(beats)

    assert host.run(main) == 2


def test_the_rest_of_a_beat_comes_behind_what_the_beat_has_led_to() -> None:
    seen: list[str] = []

    async def main() -> int:
        def beat() -> None:
            seen.append("beat")
            host.host().loop.follow(lambda: seen.append("said"))

        pulse = host.Pulse(beat, lambda: seen.append("rest"))
        pulse.poke()
        await turns_of_the_host()
        pulse.poke()
        pulse.stop()
        await turns_of_the_host()
        return 0

    host.run(main)
    assert seen == ["beat", "said", "rest"]


def test_a_stopped_pulse_forgets_its_poke_and_hears_no_other() -> None:
    beats: list[bool] = []

    async def main() -> int:
        pulse = host.Pulse(lambda: beats.append(True))
        pulse.poke()
        pulse.stop()
        await turns_of_the_host()
        pulse.poke()
        await turns_of_the_host()
        return len(beats)

    assert host.run(main) == 0


def test_an_error_in_a_pulse_ends_the_program_and_no_pulse_beats_after_it() -> None:
    beats: list[bool] = []

    def broken() -> None:
        raise InvariantError("two owners")

    async def main() -> int:
        pulse, other = host.Pulse(broken), host.Pulse(lambda: beats.append(True))
        pulse.poke()
        other.poke()
        await trio.sleep_forever()
        return 0

    with pytest.raises(InvariantError, match="two owners"):
        host.run(main)
    assert beats == []


def test_an_error_in_a_timer_ends_the_program() -> None:
    def broken() -> None:
        raise FileNotFoundError("gone")

    async def main() -> int:
        host.call_later(0.001, broken)
        await trio.sleep_forever()
        return 0

    with pytest.raises(FileNotFoundError, match="gone"):
        host.run(main)


def test_a_timer_fires_unless_it_is_cancelled() -> None:
    fired: list[str] = []

    async def main() -> int:
        host.call_later(0.001, fired.append, "first")
        host.call_later(0.001, fired.append, "second").cancel()
        bell = host.Bell()
        host.call_later(0.005, bell.ring)
        await bell.wait()
        return 0

    host.run(main)
    assert fired == ["first"]


def test_a_trio_task_waits_for_a_coroutine_of_the_host() -> None:
    async def add(left: int, right: int) -> int:
        await asyncio.sleep(0)
        return left + right

    async def main() -> int:
        return await host.in_host(add, 2, 3)

    assert host.run(main) == 5


def test_an_error_of_the_host_coroutine_reaches_the_waiting_task() -> None:
    async def broken() -> int:
        await asyncio.sleep(0)
        raise LookupError("lost")

    async def main() -> int:
        with pytest.raises(LookupError, match="lost"):
            await host.in_host(broken)
        return 0

    assert host.run(main) == 0


def test_cancelling_the_trio_task_cancels_the_coroutine_of_the_host() -> None:
    seen: list[str] = []

    async def main() -> int:
        scope = trio.CancelScope()

        async def long() -> None:
            host.in_trio(scope.cancel)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise

        with scope:
            await host.in_host(long)
        assert scope.cancelled_caught
        return 0

    host.run(main)
    assert seen == ["cancelled"]


def test_a_bell_keeps_a_ring_that_came_before_the_wait() -> None:
    async def main() -> int:
        bell = host.Bell()
        bell.ring()
        bell.ring()
        await bell.wait()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bell.wait)
            await turns_of_the_host()
            assert len(nursery.child_tasks) == 1
            nursery.cancel_scope.cancel()
        return 0

    host.run(main)


def test_the_host_sets_an_event_of_trio_through_in_trio() -> None:
    async def main() -> int:
        event = trio.Event()
        host.call_later(0.001, host.in_trio, event.set)
        await event.wait()
        return 0

    host.run(main)


def test_calls_outside_of_a_program_are_refused_by_name() -> None:
    with pytest.raises(InvariantError, match="outside"):
        host.Pulse(print)
