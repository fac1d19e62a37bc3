"""The shapes are what they say, and know their own answers."""

import pytest

from bench.shapes import (
    Call,
    Function,
    Shape,
    WrongAnswer,
    chain,
    check_answers,
    deepest_tree,
    independent,
    merge,
    overhead_shapes,
    round_trip,
    tree,
)

SMALL = [independent(7), merge(7), tree(1), tree(4), chain(1), chain(9), round_trip(3)]


def compute(function: Function, arguments: list[int]) -> int:
    match function:
        case Function.INC:
            (number,) = arguments
            return number + 1
        case Function.ADD:
            left, right = arguments
            return left + right
        case Function.TOTAL:
            return sum(arguments)


def evaluate(shape: Shape) -> list[int]:
    """The results by a plain loop, layer after layer."""
    values: list[int] = []
    for layer in shape.layers:
        values += [
            compute(layer.function, [*call.numbers, *(values[i] for i in call.needs)])
            for call in layer.calls
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
    [(independent(7), 7), (merge(7), 8), (tree(4), 15), (chain(9), 9), (round_trip(3), 1)],
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


def test_the_chain_and_the_round_trips_do_not_grow_without_end() -> None:
    by_name = {shape.name: shape for shape in overhead_shapes(5000)}

    assert by_name["chain"].task_count == 1000
    assert by_name["round trip"].rounds == 100
    assert by_name["independent"].task_count == 5000


def test_right_answers_pass() -> None:
    check_answers(chain(3), [3])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1, 2, 4], "independent: result 2 is 4, not 3"),
        ([1, 2], "independent: 2 results came, and there should be 3"),
    ],
)
def test_wrong_answers_are_refused_by_name(given: list[object], words: str) -> None:
    with pytest.raises(WrongAnswer, match=words):
        check_answers(independent(3), given)
