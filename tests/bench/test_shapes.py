"""The shapes are what they say, and know their own answers."""

from typing import Any

import pytest

from bench.overhead import overhead_shapes
from bench.patterns import PATTERNS, needs, rows
from bench.pipelines import bag, groupby, join, pipelines, transpose_sum
from bench.results import Unit
from bench.shapes import (
    Call,
    Shape,
    WrongAnswer,
    chain,
    check_answers,
    deepest_tree,
    independent,
    merge,
    merge_slow,
    tree,
)

SMALL = [
    independent(7),
    merge(7),
    merge_slow(3, 1),
    tree(1),
    tree(4),
    chain(1),
    chain(9),
    chain(9, fused=True),
    *(rows(pattern, 5, 6, 1) for pattern in PATTERNS),
    transpose_sum(3, 4),
    groupby(10, 7, keys=3),
    join(3, 20),
    bag(10, 13, distinct=5),
    *pipelines(4),
]


def evaluate(shape: Shape) -> list[Any]:
    """The results by a plain loop, layer after layer."""
    values: list[Any] = []
    for layer in shape.layers:
        function = layer.function.function
        values += [
            function(*call.numbers, *(values[i] for i in call.needs)) for call in layer.calls
        ]
    return [values[i] for i in shape.results]


@pytest.mark.parametrize("shape", SMALL, ids=lambda shape: f"{shape.name}-{shape.task_count}")
def test_a_shape_gives_the_answers_that_it_states(shape: Shape) -> None:
    assert evaluate(shape) == list(shape.answers)


@pytest.mark.parametrize("shape", SMALL, ids=lambda shape: f"{shape.name}-{shape.task_count}")
def test_a_layer_needs_only_earlier_layers(shape: Shape) -> None:
    before = 0
    for layer in shape.layers:
        assert all(need < before for call in layer.calls for need in call.needs)
        before += len(layer.calls)


@pytest.mark.parametrize(
    ("shape", "count"),
    [(independent(7), 7), (merge(7), 8), (tree(4), 15), (chain(9), 9)],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_a_shape_counts_its_tasks(shape: Shape, count: int) -> None:
    assert shape.task_count == count


def test_a_tree_of_depth_two_adds_two_sums() -> None:
    bottom, top = tree(2).layers

    assert bottom.calls == (Call(numbers=(0, 1)), Call(numbers=(2, 3)))
    assert top.calls == (Call(needs=(0, 1)),)


@pytest.mark.parametrize(("tasks", "depth"), [(1, 1), (2, 1), (3, 2), (6, 2), (7, 3), (10_000, 13)])
def test_the_deepest_tree_stays_within_the_number_of_tasks(tasks: int, depth: int) -> None:
    assert deepest_tree(tasks) == depth
    assert tree(depth).task_count <= tasks < tree(depth + 1).task_count


def test_the_chain_and_the_tree_do_not_grow_without_end() -> None:
    shapes = {
        quantity.name: (quantity, shape) for quantity, shape in overhead_shapes([5000, 90000])
    }

    assert list(shapes) == ["independent, 5,000", "independent, 90,000", "merge", "tree", "chain"]
    assert shapes["merge"][0].tasks == 5001
    assert shapes["tree"][0].tasks == 2**14 - 1
    assert shapes["chain"][0].tasks == 1000
    assert shapes["chain"][0].unit is Unit.MILLISECONDS


@pytest.mark.parametrize(
    ("pattern", "read"),
    [
        ("stencil", (3, 4, 5)),
        ("nearest", (2, 3, 4, 5, 6)),
        ("fft", (2, 4, 6)),
        ("spread", (0, 1, 3, 4, 6)),
        ("all-to-all", (0, 1, 2, 3, 4, 5, 6, 7)),
    ],
)
def test_a_pattern_says_what_a_task_reads_of_the_row_before(
    pattern: str, read: tuple[int, ...]
) -> None:
    assert needs(pattern, 8, 2, 4) == read


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_stays_within_the_row(pattern: str) -> None:
    for step in range(1, 6):
        for column in range(5):
            assert set(needs(pattern, 5, step, column)) <= set(range(5))


def test_right_answers_pass() -> None:
    check_answers(chain(3), [3])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1, 2, 4], "independent: result 2 is 4, not 3"),
        ([1, 2], "independent: 2 results instead of 3"),
    ],
)
def test_wrong_answers_are_refused_by_name(given: list[object], words: str) -> None:
    with pytest.raises(WrongAnswer, match=words):
        check_answers(independent(3), given)
