"""Sizes of joblib's batches follow what batches take."""

from rain.client.for_joblib.batches import GOAL, GROWTH, MOST, BatchSizes


def test_short_calls_come_in_batches_that_grow_until_they_take_long_enough() -> None:
    sizes = BatchSizes()
    seen = [sizes.next]

    while len(seen) < 8:
        sizes.completed(sizes.next, 0.001 + sizes.next * 20e-6)
        seen.append(sizes.next)

    assert seen[:5] == [1, GROWTH, GROWTH**2, GROWTH**3, GROWTH**4]
    assert GOAL <= seen[-1] * 20e-6 <= MOST


def test_long_calls_stay_alone() -> None:
    sizes = BatchSizes()
    sizes.completed(1, 5.0)
    assert sizes.next == 1


def test_batches_that_take_too_long_become_smaller() -> None:
    sizes = BatchSizes()
    sizes.next = 100
    sizes.completed(100, 10 * MOST)
    assert sizes.next == 1
    sizes.next = 1000
    sizes.completed(1000, 2 * MOST)
    assert sizes.next == 50


def test_batches_of_an_earlier_size_say_nothing() -> None:
    sizes = BatchSizes()
    sizes.completed(1, 0.001)
    sizes.completed(1, 0.001)
    assert sizes.next == GROWTH
