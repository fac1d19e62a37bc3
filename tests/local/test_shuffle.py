"""Shuffles as users write them, in local mode."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from rain.client import Client, RainException, get_client

Array = np.ndarray[tuple[int], np.dtype[np.int64]]


def by_remainder(numbers: Iterable[int], parts: int) -> list[list[int]]:
    listed = list(numbers)
    return [[number for number in listed if number % parts == part] for part in range(parts)]


def joined(pieces: Iterable[list[int]]) -> list[int]:
    return [number for piece in pieces for number in piece]


def only_even_parts(array: Array, parts: int) -> dict[int, Array]:
    return {part: array[part::parts] for part in range(0, parts, 2)}


def sums(pieces: Iterable[Array]) -> tuple[int, int]:
    counted = [int(piece.sum()) for piece in pieces]
    return len(counted), sum(counted)


def each_joined(parts: list[Iterable[list[int]]]) -> list[list[int]]:
    return [joined(part) for part in parts]


def both(left: Iterable[list[int]], right: Iterable[list[int]], *, also: int) -> list[int]:
    return [*joined(left), also, *joined(right)]


def test_each_part_is_merged_of_one_piece_of_each_input_in_their_order(client: Client) -> None:
    parts = client.shuffle([range(5), [7, 3, 6]], by_remainder, joined, parts=3)
    assert client.gather(parts) == [[0, 3, 3, 6], [1, 4, 7], [2]]


def test_inputs_may_be_futures_and_pieces_may_be_large_or_lack(client: Client) -> None:
    inputs = [client.submit(np.arange, 1_000_000), np.arange(10)]
    parts = client.shuffle(inputs, only_even_parts, sums, parts=3)
    expected = [sum(range(p, 1_000_000, 3)) + sum(range(p, 10, 3)) for p in (0, 2)]
    assert client.gather(parts) == [(2, expected[0]), (0, 0), (2, expected[1])]


def test_a_call_reads_parts_of_several_exchanges_where_its_arguments_are(client: Client) -> None:
    left = client.exchange([range(4)], by_remainder, parts=2)
    right = client.exchange([range(4, 8)], by_remainder, parts=2)
    calls = [
        client.submit(both, one, right=two, also=9) for one, two in zip(left, right, strict=True)
    ]
    assert client.gather(calls) == [[0, 2, 9, 4, 6], [1, 3, 9, 5, 7]]
    nested = client.submit(each_joined, [*left])
    assert nested.result() == [[0, 2], [1, 3]]


def test_parts_of_nothing_are_empty(client: Client) -> None:
    assert client.gather(client.shuffle([], by_remainder, joined, parts=2)) == [[], []]


def test_the_failure_of_a_split_is_that_of_every_part(client: Client) -> None:
    parts = client.shuffle([[1], ["one"]], by_remainder, joined, parts=2)
    for part in parts:
        with pytest.raises(TypeError, match="not all arguments converted"):
            part.result()


def test_a_split_with_too_few_pieces_is_told_so(client: Client) -> None:
    parts = client.shuffle([[1]], lambda numbers, parts: [numbers], joined, parts=2)
    with pytest.raises(RainException, match="1 pieces for 2 parts"):
        parts[0].result()


def test_wrong_numbers_of_parts_are_refused_at_once(client: Client) -> None:
    with pytest.raises(RainException, match="parts is a number from 1 to"):
        client.exchange([1], by_remainder, parts=0)
    exchange = client.exchange([[1]], by_remainder, parts=2)
    with pytest.raises(IndexError, match="there are 2 parts, and none with the number 2"):
        exchange.part(2)


def test_options_hold_for_splits_and_merges(client: Client) -> None:
    named = client.options(name="mine", tries=2)
    parts = named.shuffle([[1, 2]], by_remainder, joined, parts=2)
    assert client.gather(parts) == [[2], [1]]
    assert repr(parts[0]) == "<Future 'mine' finished>"


def test_nothing_of_a_shuffle_stays(client: Client) -> None:
    parts = client.shuffle([range(100)] * 5, by_remainder, joined, parts=7)
    client.gather(parts)
    del parts
    client.submit(abs, 1).result()
    (info,) = client.get_server_info()["governors"]
    stays = set(info["objects"]) - set(info["objects_to_delete"])
    assert len(stays) <= 3, info  # functions


def inner(count: int) -> list[list[int]]:
    client = get_client()
    return client.gather(client.shuffle([range(count)] * 2, by_remainder, joined, parts=2))


def test_a_task_shuffles(client: Client) -> None:
    assert client.submit(inner, 3).result() == [[0, 2, 0, 2], [1, 1]]


@pytest.mark.parametrize("rounds", [2, 3, 7, 100])
def test_in_several_rounds_each_part_is_merged_of_the_same_pieces(
    client: Client, rounds: int
) -> None:
    inputs = [range(5), [7, 3, 6], [], [9], range(2), [4], [8, 8]]
    parts = client.shuffle(inputs, by_remainder, joined, parts=3, rounds=rounds)
    assert client.gather(parts) == client.gather(
        client.shuffle(inputs, by_remainder, joined, parts=3)
    )


def twice(pieces: Iterable[list[int]]) -> list[int]:
    return [*joined(pieces), *joined(pieces)]


def test_parts_in_rounds_may_lack_pieces_and_are_iterated_as_often_as_one_likes(
    client: Client,
) -> None:
    arrays = [np.arange(number, 1_000_000) for number in range(5)]
    parts = client.shuffle(arrays, only_even_parts, sums, parts=3, rounds=3)
    expected = [sum(int(one[part::3].sum()) for one in arrays) for part in (0, 2)]
    assert client.gather(parts) == [(5, expected[0]), (0, 0), (5, expected[1])]

    exchange = client.exchange([[1, 2], [3], [4]], by_remainder, parts=2, rounds=2)
    calls = [client.submit(twice, exchange.part(1)), client.submit(joined, exchange.part(1))]
    assert client.gather(calls) == [[1, 3, 1, 3], [1, 3]]


@pytest.mark.parametrize("rounds", [0, -1, 101, 1.5, True])
def test_wrong_numbers_of_rounds_are_refused_at_once(client: Client, rounds: Any) -> None:
    with pytest.raises(RainException, match="rounds is a number from 1 to 100"):
        client.shuffle([1], by_remainder, joined, parts=1, rounds=rounds)


def test_nothing_of_a_shuffle_in_rounds_stays(client: Client) -> None:
    parts = client.shuffle([range(100)] * 6, by_remainder, joined, parts=7, rounds=3)
    client.gather(parts)
    del parts
    client.submit(abs, 1).result()
    (info,) = client.get_server_info()["governors"]
    stays = set(info["objects"]) - set(info["objects_to_delete"])
    assert len(stays) <= 4, info  # functions
