"""Dask's data frames and bags: on a real cluster, and in local mode."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

# Of any type, since half of Dask is annotated.
dask: Any = import_module("dask")
db: Any = import_module("dask.bag")

pytestmark = [pytest.mark.whole, pytest.mark.usefixtures("scheduler")]


def with_its_words_sorted(group: tuple[int, list[str]]) -> tuple[int, list[str]]:
    return group[0], sorted(group[1])


def test_a_bag_is_computed() -> None:
    words = db.from_sequence(["a b", "b c", "b"], npartitions=2).map(str.split).flatten()

    assert dict(words.frequencies().compute()) == {"a": 1, "b": 3, "c": 1}


def test_a_data_frame_is_computed() -> None:
    frames: Any = import_module("dask.dataframe")
    pandas: Any = import_module("pandas")
    table = pandas.DataFrame({"a": range(100), "b": [x % 3 for x in range(100)]})

    sums = frames.from_pandas(table, npartitions=4).groupby("b").a.sum().compute()

    assert sums.to_dict() == {0: 1683, 1: 1617, 2: 1650}


def first_of(rows: Any) -> int:
    return int(rows["v"].min())


@pytest.mark.parametrize("method", ["tasks", "disk"])
def test_data_frames_are_shuffled_as_one(counts: list[int], method: str) -> None:
    frames: Any = import_module("dask.dataframe")
    pandas: Any = import_module("pandas")
    rows = pandas.DataFrame({"k": [n * 7 % 30 for n in range(600)], "v": range(600)})
    names = pandas.DataFrame({"k": range(30), "name": [f"n{n % 4}" for n in range(30)]})
    table, other = frames.from_pandas(rows, npartitions=5), frames.from_pandas(names, npartitions=3)
    with dask.config.set({"dataframe.shuffle.method": method}):
        shuffled = table.shuffle("k", npartitions=5).compute()
        joined = table.merge(other, on="k").compute()
        first = table.groupby("k").apply(first_of, meta=("v", "int64")).compute()
        ordered = table.sort_values("v", ascending=False).compute()
        indexed = table.set_index("k", sorted=False).compute()
    assert sorted(shuffled["v"]) == list(range(600))
    assert counts[0] == 5 + 1 + 5 + 1  # splits, what lists them, merges, and all together
    expected = rows.merge(names, on="k")
    assert sorted(zip(joined["v"], joined["name"], strict=True)) == sorted(
        zip(expected["v"], expected["name"], strict=True)
    )
    assert dict(first) == dict(rows.groupby("k")["v"].min())
    assert list(ordered["v"]) == list(range(599, -1, -1))
    assert list(indexed.index) == sorted(rows["k"])


def test_a_bag_is_grouped_as_one_shuffle(counts: list[int]) -> None:
    words = db.from_sequence([f"{n % 11}" * (n % 3 + 1) for n in range(60)], npartitions=5)
    with dask.config.set({"dataframe.shuffle.method": "disk"}):
        found = words.groupby(len).map(with_its_words_sorted).compute()
    assert counts[0] == 5 + 1 + 5 + 1  # splits, what lists them, groups, and all together
    here = [f"{n % 11}" * (n % 3 + 1) for n in range(60)]
    lengths = {len(word) for word in here}
    assert dict(found) == {n: sorted(word for word in here if len(word) == n) for n in lengths}


def test_a_data_frame_of_delayed_parts_is_computed() -> None:
    frames: Any = import_module("dask.dataframe")
    pandas: Any = import_module("pandas")
    parts = [dask.delayed(pandas.DataFrame)({"a": [x, x]}) for x in range(3)]

    table = frames.from_delayed(parts, verify_meta=False).compute()

    assert list(table.a) == [0, 0, 1, 1, 2, 2]
