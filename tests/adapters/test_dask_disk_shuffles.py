"""Shuffles that Dask has written through files are exchanges, without a cluster."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import pytest

from rain.base.exchange import ListedObject
from rain.base.ids import ObjectId
from rain.client.for_dask.disk_shuffles import replace_disk_shuffles
from rain.client.for_dask.graphs import Key, flat, is_exchange, needed_nodes, ordered
from rain.common import pieces
from rain.common.content_type import encode_value
from rain.common.errors import RainException
from rain.common.partitioned import Partitioned
from rain.common.pickles import Part
from rain.common.tables import items_by_part, rows_by_part
from tests.support.parts import read_parts

dask: Any = import_module("dask")  # half of Dask is annotated
Alias: Any = import_module("dask._task_spec").Alias
bags: Any = import_module("dask.bag")
frames: Any = import_module("dask.dataframe")
pandas: Any = import_module("pandas")
toolz: Any = import_module("toolz")

TABLE: Any = pandas.DataFrame(
    {"key": [1, 2, 3, 4] * 5, "value": range(20), "order": [n * 7 % 20 for n in range(20)]}
)


class RunTwice:
    """A scheduler that runs each node of a graph twice, and reads what was made last."""

    def __init__(self) -> None:
        self.objects: list[bytes] = []
        self.splits = 0

    def __call__(self, dsk: Any, keys: Any, **_: Any) -> Any:
        wanted = list(flat(keys))
        nodes, splits = replace_disk_shuffles(needed_nodes(dsk, wanted), wanted)
        assert "partd" not in names(nodes)
        self.splits += len(splits)
        values: dict[Key, Any] = {}
        before = pieces.install(self)
        try:
            for key, node in ordered(nodes).items():
                if is_exchange(node):
                    values[key] = [values[split] for split in listed(node)]
                    continue
                made = [node({read: values[read] for read in node.dependencies}) for _ in range(2)]
                values[key] = self.kept(made[-1]) if key in splits else made[-1]
        finally:
            pieces.install(before)
        return one_or_all(keys, values)

    def kept(self, made: Any) -> ListedObject:
        self.objects.append(encode_value(made, "parts"))
        return ListedObject(ObjectId(len(self.objects) - 1), 10, "here:1")

    def read(self, part: int, members: Sequence[ListedObject]) -> list[Part | None]:
        return read_parts(self.objects, part, members)


def listed(node: Any) -> list[Key]:
    """The nodes of which an exchange has the pieces, in its order."""
    return [reference.key for reference in node.args]


def one_or_all(keys: Any, values: dict[Key, Any]) -> Any:
    return [one_or_all(key, values) for key in keys] if isinstance(keys, list) else values[keys]


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


def by_seven(item: int) -> int:
    return item % 7


def by_eight(item: int) -> int:
    return item % 8


def with_its_count(group: tuple[Any, list[Any]]) -> tuple[Any, int]:
    return group[0], len(group[1])


def test_items_are_split_so_that_groups_stay_together() -> None:
    made = items_by_part(iter(range(40)), by_eight, 3, {0, 1, 2})
    groups = [{item % 8 for item in items} for items in made.pieces.values()]
    assert sorted(group for one in groups for group in one) == list(range(8))
    assert sorted(item for items in made.pieces.values() for item in items) == list(range(40))
    part, items = next(iter(made.pieces.items()))
    assert items_by_part(range(40), by_eight, 3, {part}).pieces == {part: items}


def method() -> Any:
    return dask.config.get("dataframe.shuffle.method")


def list_of_rows(table: Any) -> Any:
    return [tuple(row) for row in table.itertuples(index=False)]


def rows(table: Any) -> Any:
    """The rows of a table in an order that does not depend on how they were shuffled."""
    return sorted(list_of_rows(table))


def columns(array: Any) -> Any:
    return sorted(array.tolist())


def groups(made: Any) -> Any:
    return sorted((key, sorted(items)) for key, items in made)


def table_of(partitions: int) -> Any:
    return frames.from_pandas(TABLE, npartitions=partitions)


def numbers() -> Any:
    return bags.from_sequence(range(60), npartitions=5)


def sorted_parts() -> Any:
    """Something stands behind the sort, since Dask sorts a table in one part that is fetched."""
    return table_of(4).sort_values("order").map_partitions(pandas.DataFrame.copy)


def delayed_parts() -> Any:
    return table_of(4).shuffle("key").to_delayed()


KINDS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "shuffle": (lambda: table_of(4).shuffle("key"), rows),
    "shuffle of one partition": (lambda: table_of(1).shuffle("key", npartitions=3), rows),
    "a join": (lambda: table_of(4).merge(table_of(3), on="key", broadcast=False), rows),
    "an index": (lambda: table_of(4).set_index("order"), rows),
    "a sort": (sorted_parts, list_of_rows),
    "functions of groups": (
        lambda: table_of(4).groupby("key").apply(len, meta=("count", "int64")),
        lambda made: sorted(made.items()),
    ),
    "medians": (
        table_of(4).groupby("key").value.median,
        lambda made: sorted(made.items()),
    ),
    "distinct rows": (
        lambda: table_of(4).drop_duplicates("key", split_out=2, shuffle_method=method())[["key"]],
        rows,
    ),
    "one of the partitions": (lambda: table_of(4).shuffle("key").partitions[1], rows),
    "two shuffles": (lambda: table_of(4).shuffle("key").shuffle("value"), rows),
    "a bag of rows": (lambda: table_of(4).shuffle("key").to_bag().map(sum), sorted),
    "an array of rows": (lambda: table_of(4).shuffle("key").values + 1, columns),
    "delayed partitions": (
        lambda: dask.delayed(sum)([dask.delayed(len)(one) for one in delayed_parts()]),
        int,
    ),
    "a bag in groups": (lambda: numbers().groupby(by_seven), groups),
    "fewer parts": (lambda: numbers().groupby(by_seven, npartitions=2), groups),
    "what is computed of groups": (
        lambda: numbers().map(str).groupby(len).map(with_its_count).pluck(1),
        sorted,
    ),
    "a bag in one part": (lambda: numbers().repartition(1).groupby(str).map(len), sorted),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_result_is_right_though_each_node_runs_twice(kind: str) -> None:
    made, compared = KINDS[kind]
    scheduler = RunTwice()
    with dask.config.set({"dataframe.shuffle.method": "tasks", "scheduler": "sync"}):
        right = made().compute()
    with dask.config.set({"dataframe.shuffle.method": "disk", "scheduler": scheduler}):
        twice = made().compute()
    assert scheduler.splits > 0
    assert compared(twice) == compared(right)


def test_pieces_are_put_together_in_the_order_of_the_partitions() -> None:
    made = numbers().groupby(by_seven).compute(scheduler=RunTwice())
    assert dict(made) == toolz.groupby(by_seven, range(60))


def test_a_shuffle_through_files_that_is_not_known_is_refused_by_name() -> None:
    with dask.config.set({"dataframe.shuffle.method": "disk"}):
        before, _, _ = replaced(frames.from_pandas(TABLE, npartitions=4).shuffle("key"))
    barrier = next(key for key in before if "barrier" in repr(key))
    before[barrier] = Alias(barrier, target=next(iter(before[barrier].dependencies)))
    with pytest.raises(RainException, match=r"a way that is not known here .*shuffle.method"):
        replace_disk_shuffles(before, [barrier])


def test_a_shuffle_that_only_workers_of_dask_run_is_refused_by_name() -> None:
    shuffled = frames.from_pandas(TABLE, npartitions=4).shuffle("key", shuffle_method="p2p")
    with pytest.raises(RainException, match=r"only workers of dask.distributed run"):
        shuffled.compute(scheduler=RunTwice())
