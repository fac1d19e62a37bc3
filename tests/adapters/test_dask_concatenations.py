"""Partitions that Dask makes one of, without a cluster."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from rain.client.for_dask.concatenations import concatenate_in_files
from rain.client.for_dask.graphs import flat, needed_nodes, ordered
from rain.common import tables

frames: Any = import_module("dask.dataframe")
pandas: Any = import_module("pandas")

TABLE: Any = pandas.DataFrame({"number": range(20), "word": [f"word {n}" for n in range(20)]})


def computed(table: Any) -> tuple[Any, int]:
    """What the changed graph makes of a table, and how many nodes put it together in files."""
    expression = table.optimize()
    keys = list(flat(expression.__dask_keys__()))
    nodes = concatenate_in_files(needed_nodes(expression, keys))
    values: dict[Any, Any] = {}
    for key, node in ordered(nodes).items():
        values[key] = node({read: values[read] for read in node.dependencies})
    changed = sum(getattr(node, "func", None) is tables.concatenated for node in nodes.values())
    return pandas.concat([values[key] for key in keys]), changed


@pytest.mark.parametrize("at_once", [1, tables.AT_ONCE])
def test_partitions_become_fewer_in_files_as_in_memory(
    at_once: int, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("task"))
    monkeypatch.setattr(tables, "AT_ONCE", at_once)
    whole = frames.from_pandas(TABLE, npartitions=6)
    for some in (whole, whole[whole.number > 8], whole.number):
        made, changed = computed(some.repartition(npartitions=2))
        assert changed == 2
        assert made.equals(some.compute(scheduler="sync"))


@pytest.mark.parametrize("ignore_index", [False, True])
def test_what_a_shuffle_by_tasks_merges_is_put_together_in_files(
    ignore_index: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tables, "AT_ONCE", 1)
    whole = frames.from_pandas(TABLE, npartitions=4)
    some = whole.shuffle("word", shuffle_method="tasks", ignore_index=ignore_index)
    made, changed = computed(some)
    assert changed == 4
    assert made.equals(some.compute(scheduler="sync"))
