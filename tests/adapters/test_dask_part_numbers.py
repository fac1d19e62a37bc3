"""Which part each row goes to, without a cluster."""

from importlib import import_module
from typing import Any

import pytest

from rain.client.for_dask.graphs import flat, fused, needed_nodes, ordered
from rain.client.for_dask.part_numbers import number_some_at_a_time
from rain.common import tables

frames: Any = import_module("dask.dataframe")
pandas: Any = import_module("pandas")
testing: Any = import_module("pandas.testing")

TABLE: Any = pandas.DataFrame(
    {
        "number": [n % 7 for n in range(20)],
        "word": [f"word {n % 5}" for n in range(20)],
        "kind": pandas.Categorical([f"kind {n % 3}" for n in range(20)]),
    }
)


def load(number: int) -> Any:
    return TABLE.assign(number=TABLE.number + number)


def numbered(nodes: dict[Any, Any]) -> int:
    """How many nodes number rows some at a time, those included that are fused with others."""
    inner = [one for node in nodes.values() for one in (node, *fused(node)[0].values())]
    return sum(getattr(one, "func", None) is tables.with_part_numbers for one in inner)


def nodes_of(table: Any) -> tuple[list[Any], dict[Any, Any]]:
    """Up to where a table is split: what comes then works with files."""
    expression = table.optimize()
    nodes = needed_nodes(expression, [*flat(expression.__dask_keys__())])
    wanted = [
        read
        for node in nodes.values()
        if getattr(getattr(node, "func", None), "__name__", "") == "_shuffle_group"
        for read in node.dependencies
        if "zpartd" not in str(read)
    ]
    return wanted, needed_nodes(nodes, wanted)


def values_of(nodes: dict[Any, Any], wanted: list[Any]) -> list[Any]:
    values: dict[Any, Any] = {}
    for key, node in ordered(nodes).items():
        values[key] = node({read: values[read] for read in node.dependencies})
    return [values[key] for key in wanted]


MADE: Any = frames.from_map(load, range(2), meta=TABLE.iloc[:0])
GIVEN: Any = frames.from_pandas(TABLE, npartitions=2)


@pytest.mark.parametrize("at_once", [1, 3, 20])
@pytest.mark.parametrize(
    "shuffled",
    [
        MADE.shuffle("word"),
        MADE.shuffle(["number", "kind"]),
        GIVEN.shuffle("word"),
        GIVEN.shuffle(on_index=True),
        GIVEN.merge(MADE, on="word"),
        GIVEN.shuffle(GIVEN.word.str.upper()),
        GIVEN.shuffle(GIVEN[["number"]]),
        GIVEN.word.shuffle(on_index=True),
    ],
)
def test_each_row_has_the_number_that_dask_gives_it(
    shuffled: Any, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, nodes = nodes_of(shuffled)
    changed = number_some_at_a_time(nodes)
    assert numbered(changed) > 0
    expected = values_of(nodes, wanted)
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", at_once)
    for found, right in zip(values_of(changed, wanted), expected, strict=True):
        testing.assert_frame_equal(found, right)


def test_dask_is_never_asked_for_more_rows_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 8)
    asked: list[int] = []

    def assign(table: Any, by: list[str], name: str) -> Any:
        asked.append(len(table))
        return table.assign(**{name: 1})

    tables.with_part_numbers(assign, TABLE, ["word"], "part")
    assert asked == [8, 8, 4]
