"""The search for the shortest tasks that are worth it, on systems that are formulas."""

from collections.abc import Callable
from random import Random

import pytest

from bench.searching import LONGEST, MOST_TRIES, SHORTEST, Search


def with_overhead(microseconds: float) -> Callable[[int], float]:
    return lambda length: length / (length + microseconds)


def found_by(
    efficiency_at: Callable[[int], float], start: int = 1000
) -> tuple[float | None, list[int]]:
    """The answer, and the lengths that were tried."""
    searching = Search(start)
    tried: list[int] = []
    while (length := searching.length) is not None:
        tried.append(length)
        searching.note(efficiency_at(length))
    return searching.answer, tried


@pytest.mark.parametrize("overhead", [50, 300, 1_000, 12_900, 99_000])
@pytest.mark.parametrize("start", [1, 1_000, 10**6])
def test_half_of_the_time_is_work_when_tasks_are_as_long_as_their_overhead(
    overhead: int, start: int
) -> None:
    found, tried = found_by(with_overhead(overhead), start)

    assert found == pytest.approx(overhead, rel=0.01)
    assert len(tried) < 16


def test_a_good_start_saves_most_of_the_search() -> None:
    _, tried = found_by(with_overhead(300), start=320)

    assert len(tried) < 9


def test_what_is_always_efficient_is_so_at_the_shortest_length() -> None:
    found, _ = found_by(lambda length: 0.9)

    assert found == SHORTEST


def test_what_is_never_efficient_has_no_answer() -> None:
    found, tried = found_by(lambda length: 0.1)

    assert found is None
    assert tried[-1] == LONGEST


@pytest.mark.parametrize("disturbed", range(9))
def test_one_disturbed_run_does_not_change_the_answer(disturbed: int) -> None:
    runs = 0

    def efficiency_at(length: int) -> float:
        nonlocal runs
        runs += 1
        return 0.05 if runs == disturbed + 1 else with_overhead(300)(length)

    found, _ = found_by(efficiency_at)

    assert found == pytest.approx(300, rel=0.1)


def test_noise_moves_the_answer_little_and_ends_the_search_all_the_same() -> None:
    for seed in range(100):
        random = Random(seed)

        def efficiency_at(length: int, random: Random = random) -> float:
            return with_overhead(300)(length) * random.uniform(0.9, 1.0)

        found, tried = found_by(efficiency_at)

        assert found is not None
        assert 240 < found < 450
        assert len(tried) <= MOST_TRIES
