"""A body is compressed where that makes it arrive sooner, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.errors import ProtocolError
from rain.stream.packing import (
    BLOCK,
    ENOUGH,
    LARGEST_BLOCK,
    PROBE,
    SPAN,
    STRETCH,
    TOO_FAST,
    Gauge,
    Packing,
    Segment,
    pays,
)

SLOW = 12.5e6  # 100 Mbit/s
QUICK = BLOCK / 400e6  # seconds for a block at 400 MB/s


def test_a_slow_link_is_worth_compressing_for_and_a_fast_one_is_not() -> None:
    assert pays(SLOW, codec=400e6, share=0.3)
    assert not pays(1.2e9, codec=400e6, share=0.3)


def test_what_hardly_becomes_smaller_is_not_worth_it_on_any_link() -> None:
    assert not pays(SLOW, codec=400e6, share=0.95)
    assert not pays(SLOW, codec=400e6, share=1.0)


def test_a_processor_that_is_as_slow_as_the_link_does_not_compress() -> None:
    assert not pays(SLOW, codec=SLOW, share=0.1)


def test_an_unknown_link_is_measured_first_with_bytes_as_they_are() -> None:
    gauge = Gauge()
    packing = Packing(gauge)
    assert packing.plain() == PROBE
    gauge.rate = SLOW
    assert packing.plain() == 0


def test_nothing_is_tried_for_a_link_that_no_processor_keeps_up_with() -> None:
    assert Packing(Gauge(TOO_FAST)).plain() == STRETCH


def test_after_a_block_that_is_not_worth_it_many_bytes_go_as_they_are() -> None:
    packing = Packing(Gauge(SLOW))
    assert not packing.takes(Segment(BLOCK), QUICK)
    assert packing.plain() == STRETCH
    assert packing.plain() == 0  # and then there is another look


def test_one_block_that_something_held_up_does_not_end_compressing() -> None:
    packing = Packing(Gauge(SLOW))
    slow = BLOCK / SLOW  # seconds
    assert packing.takes(Segment(BLOCK, BLOCK // 4), slow)
    assert packing.takes(Segment(BLOCK, BLOCK // 4), QUICK)
    assert packing.takes(Segment(BLOCK, BLOCK // 4), slow)
    assert not packing.takes(Segment(BLOCK, BLOCK // 4), slow)
    assert packing.plain() == STRETCH
    assert not packing.takes(Segment(BLOCK, BLOCK // 4), slow)  # it is known to be slow


def test_what_the_link_did_before_a_run_to_see_it_by_does_not_count() -> None:
    gauge = Gauge(20e6)
    gauge.begin(0.0)
    gauge.look(0.5, sent=ENOUGH // 2, waiting=ENOUGH // 4, idled=True)
    assert gauge.idles
    gauge.begin(1.0, arrived=ENOUGH // 2)
    gauge.look(1.0 + SPAN, sent=10 * ENOUGH, waiting=ENOUGH)
    assert gauge.rate == pytest.approx(8.5 * ENOUGH / SPAN)


def test_a_link_that_idled_anywhere_in_a_span_may_be_faster() -> None:
    gauge = Gauge(50e6)
    gauge.begin(0.0)
    gauge.look(0.1, sent=1000, waiting=1000, idled=True)
    gauge.look(0.2, sent=2 * ENOUGH, waiting=ENOUGH)
    assert gauge.rate == 50e6
    gauge.look(0.4, sent=3 * ENOUGH, waiting=ENOUGH)  # and now it had something all the time
    assert gauge.rate == pytest.approx(ENOUGH / 0.2)


def test_a_link_that_idles_while_blocks_are_compressed_is_measured_again() -> None:
    gauge = Gauge(SLOW)
    packing = Packing(gauge)
    for _ in range(STRETCH // BLOCK):
        assert packing.plain() == 0
        assert packing.takes(Segment(BLOCK, BLOCK // 4), QUICK)
    assert packing.plain() == 0  # it was busy all the time, so its rate is known
    gauge.idles = True
    assert packing.plain() == PROBE
    assert packing.plain() == 0


def test_the_rate_is_that_of_acknowledged_bytes_and_not_of_what_the_kernel_has_taken() -> None:
    gauge = Gauge()
    gauge.begin(10.0)
    gauge.look(10.001, sent=4 * ENOUGH, waiting=4 * ENOUGH)
    assert gauge.rate is None
    gauge.look(10.1, sent=4 * ENOUGH, waiting=3 * ENOUGH)
    assert gauge.rate == pytest.approx(ENOUGH / 0.1)


def test_an_idle_link_may_be_faster_than_it_was_seen_to_be() -> None:
    gauge = Gauge(50e6)
    gauge.begin(0.0)
    gauge.look(1.0, sent=ENOUGH, waiting=0)
    assert (gauge.rate, gauge.idles) == (50e6, True)
    gauge.begin(0.0)
    gauge.look(1.0, sent=100_000_000, waiting=0)
    assert gauge.rate == pytest.approx(100e6)
    gauge.begin(0.0)
    gauge.look(1.0, sent=30_000_000, waiting=10_000_000)  # now it was busy
    assert gauge.rate == pytest.approx(20e6)


def test_a_moment_is_too_short_to_tell() -> None:
    gauge = Gauge()
    gauge.begin(0.0)
    gauge.look(SPAN / 2, sent=4 * ENOUGH, waiting=ENOUGH)
    assert gauge.rate is None


@given(st.integers(1, 1 << 62), st.integers(0, LARGEST_BLOCK))
def test_the_header_of_a_run_is_read_as_it_was_written(length: int, packed: int) -> None:
    run = Segment(length, packed if packed < length <= LARGEST_BLOCK else 0)
    assert Segment.decode(run.encode(), left=length) == run


@pytest.mark.parametrize(
    ("run", "left"),
    [
        (Segment(0), 10),
        (Segment(11), 10),
        (Segment(LARGEST_BLOCK + 1, 10), 1 << 40),  # a bomb
        (Segment(10, 10), 10),
        (Segment(10, 11), 10),
    ],
)
def test_a_run_that_cannot_be_is_refused_before_anything_of_it_is_received(
    run: Segment, left: int
) -> None:
    with pytest.raises(ProtocolError):
        Segment.decode(run.encode(), left)
