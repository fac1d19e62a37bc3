"""Which nodes of a Dask graph are a shuffle, without a cluster."""

from importlib import import_module
from operator import getitem
from typing import Any

from rain.client.for_dask.graphs import Key, needed_nodes, ordered
from rain.client.for_dask.shuffles import Read, Shuffles, find_shuffles

dask: Any = import_module("dask")  # half of Dask is annotated
frames: Any = import_module("dask.dataframe")
pandas: Any = import_module("pandas")


def halves(value: int) -> dict[int, int]:
    return {0: value, 1: value}


def total(values: list[int]) -> int:
    return sum(values)


def shuffle(inputs: int = 3, parts: int = 2) -> dict[Key, Any]:
    """A graph as Dask writes it."""
    graph: dict[Key, Any] = {("group", i): (halves, i) for i in range(inputs)}
    for part in range(parts):
        for i in range(inputs):
            graph["split", part, i] = (getitem, ("group", i), part)
        graph["merge", part] = (total, [("split", part, i) for i in range(inputs)])
    return graph


MERGES: list[Key] = [("merge", 0), ("merge", 1)]


def found(graph: dict[Key, Any], wanted: list[Key]) -> Shuffles:
    return find_shuffles(ordered(needed_nodes(graph, wanted)), wanted)


def test_the_nodes_between_splits_and_merges_are_left_out() -> None:
    graph = shuffle()
    shuffles = found(graph, MERGES)
    nodes = ordered(needed_nodes(graph, MERGES))
    assert len(nodes) == 3 + 6 + 2
    assert len(shuffles.others(nodes)) == 3 + 2
    assert shuffles.parts == dict.fromkeys([("group", i) for i in range(3)], (0, 1))
    read = shuffles.reads["merge", 1]
    assert read.part == 1
    assert [piece[2] for piece in read.pieces] == [split[1] for split in read.splits]  # type: ignore[index] # pyright: ignore[reportIndexIssue] # they are tuples


def test_a_merge_that_reads_something_else_too_is_one() -> None:
    graph = shuffle() | {"more": (abs, -1)}
    graph["merge", 0] = (total, [("split", 0, i) for i in range(3)] + ["more"])
    assert set(found(graph, MERGES).reads) == set(MERGES)


def test_what_only_looks_alike_is_none() -> None:
    nothing = Shuffles()
    assert found(shuffle(inputs=1), MERGES) == nothing  # nothing is put together
    assert found(shuffle(parts=1), [("merge", 0)]) == nothing  # nothing is taken apart
    assert found(shuffle(), [*MERGES, ("group", 1)]) == nothing  # what is split is wanted itself,
    assert found(shuffle(), [*MERGES, ("split", 0, 1)]) == nothing  # or a piece is,
    more = shuffle() | {"reader": (len, ("group", 2))}
    assert found(more, [*MERGES, "reader"]) == nothing  # or read as a whole
    mixed = shuffle()
    mixed["split", 0, 2] = (getitem, ("group", 2), 1)
    assert found(mixed, MERGES) == nothing  # the parts of a merge are not the same
    twice = shuffle() | {"again": (abs, ("split", 1, 1))}
    assert found(twice, [*MERGES, "again"]) == nothing


def test_the_shuffles_of_a_data_frame_are_found_also_in_several_stages() -> None:
    table = frames.from_pandas(pandas.DataFrame({"k": range(50)}), npartitions=9)
    with dask.config.set({"dataframe.shuffle.method": "tasks"}):
        for branches, splits in ((32, 9), (3, 18)):
            expression = table.shuffle("k", max_branch=branches).optimize()
            keys = list(expression.__dask_keys__())
            shuffles = find_shuffles(ordered(needed_nodes(expression, keys)), keys)
            assert len(shuffles.parts) == splits
            assert all(isinstance(read, Read) for read in shuffles.reads.values())
