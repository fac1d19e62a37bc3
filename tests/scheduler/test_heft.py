"""HEFT: everything at submit, by rank, where it ends first, gaps included."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.kinds import ObjectKind
from rain.scheduler.heft import REMEMBERED, Calendar, HeftScheduler
from tests.support.scenes import Scene, scene_with
from tests.support.submissions import timed

LARGE = 1_000_000_000
"""Eight seconds on a link whose bandwidth nobody has measured."""


def heft(*cpus: int) -> Scene:
    return scene_with(HeftScheduler(), *cpus)


def test_a_whole_graph_gets_its_places_when_it_is_submitted() -> None:
    s = heft(1, 1)
    first, made = timed(s.draft, 5.0)
    second, _ = timed(s.draft, 5.0, made)
    s.submit()
    assert s.world.task(first).scheduled is not None
    assert s.world.task(second).scheduled is not None


def test_nothing_moves_any_more_when_somebody_idle_joins() -> None:
    s = heft(1)
    for _ in range(10):
        timed(s.draft, 5.0)
    s.submit()
    late = s.world.governor(cpus=4)
    s.world.turn()
    assert not late.node.scheduled
    assert len(s.node(0).scheduled) == 10


def test_the_task_with_the_longest_way_before_it_goes_first() -> None:
    s = heft(1)
    alone, _ = timed(s.draft, 6.0)
    begin, made = timed(s.draft, 1.0)
    timed(s.draft, 8.0, made)
    s.submit()
    assert s.world.task(begin).priority > s.world.task(alone).priority


def test_the_way_of_the_data_counts_in_the_rank() -> None:
    # given: a chain of small tasks with large data between them, and a task that takes longer
    s = heft(1)
    alone, _ = timed(s.draft, 6.0)
    begin, made = timed(s.draft, 1.0)
    timed(s.draft, 1.0, made)
    s.draft.submission.object_kinds[0] = ObjectKind(s.draft.blob_kind(), size_hint=LARGE)
    # when
    s.submit()
    # then
    assert s.world.task(begin).priority > s.world.task(alone).priority


@pytest.mark.parametrize(("busy", "home"), [(3.0, 0), (30.0, 1)])
def test_a_task_waits_for_its_data_only_as_long_as_that_is_sooner(busy: float, home: int) -> None:
    # given: a large object on the first governor, which is busy for so long
    s = heft(1, 1)
    make, made = timed(s.draft, 1.0)
    s.draft.submission.kept.append(made)
    s.submit()
    s.governors[0].finish(make, size=LARGE)
    other, _ = timed(s.draft, busy)
    s.submit()
    assert s.world.task(other).scheduled is s.node(0)
    # when
    reader, _ = timed(s.draft, 1.0, made)
    s.submit()
    # then
    assert s.world.task(reader).scheduled is s.node(home)


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 20), st.integers(1, 9)), max_size=30))
def test_a_calendar_never_books_more_than_there_is(wishes: list[tuple[int, int, int]]) -> None:
    calendar = Calendar(3)
    for cpus, ready, seconds in wishes:
        start = calendar.first_gap(cpus, float(ready), float(seconds))
        assert start >= ready
        calendar.book(cpus, start, start + seconds)
    for moment, _, _ in calendar.bookings:
        assert sum(n for begin, end, n in calendar.bookings if begin <= moment < end) <= 3


def test_a_task_slips_in_before_what_was_planned_when_the_gap_is_long_enough() -> None:
    calendar = Calendar(1)
    calendar.book(1, 10.0, 20.0)
    assert calendar.first_gap(1, 0.0, 10.0) == 0.0
    assert calendar.first_gap(1, 3.0, 7.0) == 3.0
    assert calendar.first_gap(1, 0.0, 11.0) == 20.0


def test_what_was_booked_long_ago_counts_as_full() -> None:
    calendar = Calendar(1)
    for number in range(REMEMBERED + 1):
        calendar.book(1, 2.0 * number, 2.0 * number + 1.0)
    assert calendar.first_gap(1, 0.0, 1.0) == 1.0  # the first gap, behind the booking that is gone
    assert len(calendar.bookings) == REMEMBERED
