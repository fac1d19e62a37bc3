"""Shuffles that Dask has written through files are exchanges, without a cluster."""

from importlib import import_module
from typing import Any

from rain.client.for_dask.disk_shuffles import replace_disk_shuffles
from rain.client.for_dask.graphs import Key, is_exchange, needed_nodes
from rain.common.partitioned import Partitioned
from rain.common.tables import rows_by_part

dask: Any = import_module("dask")  # half of Dask is annotated
frames: Any = import_module("dask.dataframe")
pandas: Any = import_module("pandas")

TABLE: Any = pandas.DataFrame({"key": [1, 2, 3, 4] * 5, "value": range(20)})


def replaced(table: Any) -> tuple[dict[Key, Any], dict[Key, Any], set[Key]]:
    expression = table.optimize()
    keys = list(expression.__dask_keys__())
    before = needed_nodes(expression, keys)
    return before, *replace_disk_shuffles(before, keys)


def names(nodes: dict[Key, Any]) -> str:
    return " ".join(repr(key) for key in nodes)


def test_a_shuffle_through_files_becomes_an_exchange_without_files() -> None:
    with dask.config.set({"dataframe.shuffle.method": "disk"}):
        before, after, splits = replaced(frames.from_pandas(TABLE, npartitions=4).shuffle("key"))
    assert "partd" in names(before)
    assert "partd" not in names(after)
    assert len(splits) == 4
    assert len([node for node in after.values() if is_exchange(node)]) == 1
    assert len(before) - len(after) == 1  # only what opened the files


def test_each_shuffle_of_a_join_has_an_exchange_of_its_own() -> None:
    left = frames.from_pandas(TABLE, npartitions=3)
    right = frames.from_pandas(TABLE, npartitions=2)
    with dask.config.set({"dataframe.shuffle.method": "disk"}):
        joined = left.merge(right, on="key", broadcast=False)
        _, after, splits = replaced(joined)
    assert "partd" not in names(after)
    assert len(splits) == 3 + 2
    assert len([node for node in after.values() if is_exchange(node)]) == 2


def test_other_graphs_stay_as_they_are() -> None:
    with dask.config.set({"dataframe.shuffle.method": "tasks"}):
        before, after, splits = replaced(frames.from_pandas(TABLE, npartitions=4).shuffle("key"))
    assert after is before
    assert not splits


def test_rows_are_split_by_the_parts_that_are_read() -> None:
    made = rows_by_part(TABLE, "key", {1, 3})
    assert isinstance(made, Partitioned)
    assert made.parts == 4
    assert {part: list(rows.value) for part, rows in made.pieces.items()} == {
        1: [0, 4, 8, 12, 16],
        3: [2, 6, 10, 14, 18],
    }
