"""The functions of the tasks, the same for every system.

Worker processes of all systems import this module by name: a turn adds the checkout to
`PYTHONPATH`, so that no system has to send code.
"""

import time
from collections import Counter
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]


def inc(number: int) -> int:
    return number + 1


def same(text: str) -> str:
    return text


def add(left: int, right: int) -> int:
    return left + right


def total(*numbers: int) -> int:
    return sum(numbers)


def busy(microseconds: int, *before: int) -> int:
    """Computes for a time and counts the steps.

    It is the CPU time of the thread, so that a preempted task still does all of its work.
    """
    end = time.thread_time_ns() + microseconds * 1000
    while time.thread_time_ns() < end:
        pass
    return 1 + max(before, default=0)


def sleep(microseconds: int) -> int:
    time.sleep(microseconds / 1e6)
    return 1


def block(first: int, size: int) -> Numbers:
    """A square array of ascending numbers."""
    return np.arange(first, first + size * size, dtype=np.int64).reshape(size, size)


def add_transposed(left: Numbers, right: Numbers) -> Numbers:
    return left + right.T


def sum_of(numbers: Numbers) -> int:
    return int(numbers.sum())


def table(first: int, rows: int, keys: int) -> Numbers:
    """Two columns: cycling keys and ascending values."""
    values = np.arange(first, first + rows, dtype=np.int64)
    return np.stack([values % keys, values])


def group_sums(keys: int, rows: Numbers) -> Numbers:
    """The sum of the values of each key."""
    sums = np.zeros(keys, dtype=np.int64)
    np.add.at(sums, rows[0], rows[1])
    return sums


def sum_arrays(*arrays: Numbers) -> Numbers:
    summed: Numbers = np.sum(arrays, axis=0)
    return summed


def part(parts: int, number: int, rows: Numbers) -> Numbers:
    """The rows whose value belongs to part `number` of `parts`."""
    return rows[:, rows[1] % parts == number]


def count_matches(lefts: int, *parts: Numbers) -> int:
    """How many values the first `lefts` tables share with the others."""
    left = np.concatenate([one[1] for one in parts[:lefts]])
    right = np.concatenate([one[1] for one in parts[lefts:]])
    return len(np.intersect1d(left, right))


def words(first: int, count: int, distinct: int) -> list[str]:
    return [f"word-{number % distinct}" for number in range(first, first + count)]


def frequencies(texts: list[str]) -> dict[str, int]:
    return dict(Counter(texts))


def merge_frequencies(*parts: dict[str, int]) -> dict[str, int]:
    merged: Counter[str] = Counter()
    for one in parts:
        merged.update(one)
    return dict(merged)


def count_all(counted: dict[str, int]) -> int:
    return sum(counted.values())


class Function(Enum):
    """The functions that shapes use, by name."""

    INC = "inc"
    ADD = "add"
    TOTAL = "total"
    BUSY = "busy"
    SLEEP = "sleep"
    BLOCK = "block"
    ADD_TRANSPOSED = "add_transposed"
    SUM_OF = "sum_of"
    TABLE = "table"
    GROUP_SUMS = "group_sums"
    SUM_ARRAYS = "sum_arrays"
    PART = "part"
    COUNT_MATCHES = "count_matches"
    WORDS = "words"
    FREQUENCIES = "frequencies"
    MERGE_FREQUENCIES = "merge_frequencies"
    COUNT_ALL = "count_all"

    @property
    def function(self) -> Callable[..., Any]:
        found: Callable[..., Any] = globals()[self.value]
        return found
