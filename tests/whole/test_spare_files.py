"""Large results and uploads are written over files that have gone, and no reader sees that."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from rain.client import Client, Future

pytestmark = pytest.mark.whole

NUMBERS = 1 << 18  # two MiB

held: list[Any] = []  # in an executor, which keeps it for all calls of this module


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setenv("RAIN_DELETE_LIST_TIMEOUT", "0")  # what is released is deleted at once
    with Client(cpus=1) as made:
        yield made


def inode_of(array: Any) -> int:
    """The file that is mapped where this array is."""
    place = array.__array_interface__["data"][0]
    with open("/proc/self/maps", encoding="ascii") as file:  # noqa: PTH123
        for line in file:
            span, _, _, _, inode = line.split()[:5]
            start, end = (int(number, 16) for number in span.split("-"))
            if start <= place < end:
                return int(inode)
    raise AssertionError("the array is not in memory")


def hold(array: Any) -> int:
    held.append(array)
    return inode_of(array)


def values_held(_: int) -> list[set[float]]:
    return [set(array.tolist()) for array in held]


Make = Callable[[Client, float], Future[Any]]


def result(client: Client, number: float) -> Future[Any]:
    return client.submit(np.full, NUMBERS, number)


def uploaded(client: Client, number: float) -> Future[Any]:
    return client.put(np.full(NUMBERS, number))


def inodes(client: Client, make: Make, read: Any, numbers: range) -> list[int]:
    """Makes arrays one after the other, each after the one before was read and released."""
    found: list[int] = []
    for number in numbers:
        made = make(client, float(number))
        found.append(client.submit(read, made).result())
        assert client.submit(np.ndarray.sum, made).result() == number * NUMBERS
        del made
    return found


@pytest.mark.parametrize("make", [result, uploaded])
def test_files_are_used_again(client: Client, make: Make) -> None:
    deadline = time.monotonic() + 60
    known: set[int] = set()
    while time.monotonic() < deadline:
        found = inodes(client, make, inode_of, range(10))
        if known & set(found) or len(set(found)) < len(found):
            return
        known.update(found)
    raise AssertionError("no file was used again")


@pytest.mark.parametrize("make", [result, uploaded])
def test_an_array_that_a_function_has_kept_does_not_change(client: Client, make: Make) -> None:
    inodes(client, make, inode_of, range(1, 10))
    kept = inodes(client, make, hold, range(10, 15))
    assert len(set(kept)) == 5
    later = inodes(client, make, inode_of, range(15, 40))
    assert not set(kept) & set(later)
    values = client.submit(values_held, 0).result()
    assert values == [{float(number)} for number in range(10, 15)]


def test_an_uploaded_array_that_the_program_has_fetched_does_not_change(client: Client) -> None:
    inodes(client, uploaded, inode_of, range(1, 5))
    fetched = [uploaded(client, float(number)).result() for number in range(5, 10)]
    inodes(client, uploaded, inode_of, range(10, 30))
    assert [set(array.tolist()) for array in fetched] == [{float(n)} for n in range(5, 10)]
