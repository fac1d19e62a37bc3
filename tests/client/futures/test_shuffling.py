"""What a shuffle submits: few tasks, with few inputs each."""

from collections import Counter

import pytest

from rain.client.futures.shuffling import groups
from tests.client.futures_server import Server, server

__all__ = ["server"]


def split(value: int, parts: int) -> list[int]:
    raise AssertionError(f"there is no server that calls it: {value}, {parts}")


def merge(pieces: object) -> object:
    raise AssertionError(f"as above: {pieces}")


def submitted(server: Server, inputs: int, parts: int, rounds: int) -> tuple[int, Counter[int]]:
    """How many tasks there are, and how many have this number of inputs."""
    made = server.client.shuffle(range(inputs), split, merge, parts=parts, rounds=rounds)
    assert len(made) == parts
    server.client.open_futures().sending.send()
    columns = [one.tasks for one in server.connection.submissions]
    counts = Counter(count for tasks in columns for count in tasks.input_counts)
    return server.told, counts


def test_a_thousand_inputs_and_parts_are_as_many_tasks_and_one_between(server: Server) -> None:
    # each split and merge reads its function, and one thing more
    assert submitted(server, 1000, 1000, 1) == (2001, Counter({1: 1000, 2: 1000, 1000: 1}))


def test_each_round_is_one_task_more_for_each_part(server: Server) -> None:
    tasks, counts = submitted(server, 1000, 1000, 4)
    assert tasks == 1000 + 4 + 3 * 1000 + 1000
    # the rounds; what is collected first, and later behind what was collected before; the merges
    assert counts == Counter({1: 1000, 250: 4, 2: 1000, 3: 2000, 5: 1000})


@pytest.mark.parametrize(
    ("inputs", "rounds", "sizes"),
    [(7, 3, [2, 2, 3]), (7, 1, [7]), (2, 5, [1, 1]), (0, 3, [0]), (4, 2, [2, 2])],
)
def test_rounds_have_about_the_same_number_of_inputs_in_their_order(
    inputs: int, rounds: int, sizes: list[int]
) -> None:
    made = groups(range(inputs), rounds)
    assert [len(group) for group in made] == sizes
    assert [one for group in made for one in group] == list(range(inputs))
