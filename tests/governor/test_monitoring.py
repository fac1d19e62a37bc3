"""How busy a machine is, from what its kernel writes."""

from __future__ import annotations

from pathlib import Path

import structlog
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from rain.base.resources import Resources
from rain.base.transfers import Transfers
from rain.base.wire.update import Monitoring
from rain.governor.core.events import Event, Sampled
from rain.governor.core.tiers import Tiers
from rain.governor.machine import load_sampler as sampler
from rain.governor.machine.monitoring import Reading, read_cores, read_memory, read_network, sample
from tests.governor.held_objects import make
from tests.governor.world import World, stored

STAT = """cpu  30 0 10 160 0 0 0 0 0 0
cpu0 20 0 10 70 0 0 0 0 5 0
cpu1 10 0 0 80 10 0 0 0 0 0
intr 1 2 3
"""
MEMINFO = "MemTotal:  1000 kB\nMemFree:   100 kB\nMemAvailable: 250 kB\nHugePages_Total: 0\n"
DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs
    lo: 100 1 0 0 0 0 0 0 200 1 0 0 0 0 0 0
  eth0:300 1 0 0 0 0 0 0 400 1 0 0 0 0 0 0
"""
times = st.integers(0, 10**6)


def test_the_times_of_cores_count_waiting_as_idle_and_guests_once() -> None:
    assert read_cores(STAT) == ((30, 100), (10, 100))


def test_memory_is_in_use_unless_it_is_available() -> None:
    assert read_memory(MEMINFO) == 75
    assert read_memory("") == 0


def test_interfaces_are_read_also_without_a_blank_after_the_colon() -> None:
    assert read_network(DEV) == (("lo", 100, 200), ("eth0", 300, 400))


def test_a_sample_tells_of_the_time_between_two_readings() -> None:
    before = Reading(((30, 100), (10, 100)), 10, ())
    now = Reading(((80, 200), (10, 150)), 75, (("eth0", 300, 400),))
    assert sample(before, now) == Monitoring((50, 0), 75, ("eth0",), (300,), (400,))


def test_a_core_that_was_switched_on_meanwhile_makes_all_times_count_from_the_start() -> None:
    now = Reading(((50, 100), (1, 4)), 0, ())
    assert sample(Reading(((50, 100),), 0, ()), now).cpu_usage == (50, 25)


@given(st.lists(st.tuples(times, times), max_size=4), st.lists(st.tuples(times, times), max_size=4))
def test_percents_stay_percents_whatever_the_counters_do(
    before: list[tuple[int, int]], now: list[tuple[int, int]]
) -> None:
    made = sample(Reading(tuple(before), 0, ()), Reading(tuple(now), 0, ()))
    made.check()
    assert len(made.cpu_usage) == len(now)


def test_the_reader_reads_the_three_files(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    for name, text in (("stat", STAT), ("meminfo", MEMINFO), ("net/dev", DEV)):
        (tmp_path / name).write_text(text)
    assert sampler.read(tmp_path).mem_usage == 75


def test_the_kernel_of_this_machine_is_understood() -> None:
    reading = sampler.read()
    assert reading.cores
    assert reading.network


def test_a_sample_names_the_governors_that_cannot_be_connected_to() -> None:
    closed = [(f"10.0.0.{number}:7000", "Connection refused") for number in range(20)]
    told: list[Event] = []

    async def main() -> None:
        with trio.move_on_after(12):
            await sampler.keep_sampling(
                5.0, lambda: closed, Transfers, told.append, structlog.get_logger()
            )

    trio.run(main, clock=MockClock(autojump_threshold=0))
    assert len(told) == 2
    for event in told:
        assert isinstance(event, Sampled)
        assert event.monitoring.closed_ways == tuple(closed[: sampler.MOST_WAYS])


def test_a_sample_goes_with_the_next_update_once() -> None:
    world = World(Resources(1))
    made = Monitoring((1, 2), 3, ("lo",), (4,), (5,))
    world.turn(Sampled(made))
    world.tick(5.0)
    assert [update.monitoring for update in world.updates] == [[made], []]


def test_a_sample_tells_what_is_stored_in_shared_memory_and_what_on_the_disk() -> None:
    world = World(Resources(1), tiers=Tiers(1000))
    make(world, 10, stored(world, 300, shared=True))
    make(world, 11, stored(world, 500))
    world.turn(Sampled(Monitoring((1, 2), 3, ("lo",), (4,), (5,))))
    world.tick(5.0)
    (sample,) = [one for update in world.updates for one in update.monitoring]
    assert (sample.memory_bytes, sample.disk_bytes) == (300, 500)
