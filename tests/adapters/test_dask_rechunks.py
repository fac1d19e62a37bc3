"""Which nodes of a Dask graph are a rechunk, without a cluster."""

from collections import Counter
from importlib import import_module
from typing import Any

import pytest

from rain.client.for_dask.graphs import (
    Key,
    chains,
    flat,
    grids_of,
    is_exchange,
    kind_of,
    needed_nodes,
    notes_of,
    ordered,
)
from rain.client.for_dask.rechunks import Rechunks, find_rechunks

dask: Any = import_module("dask")  # half of Dask is annotated
da: Any = import_module("dask.array")


def graph_of(*arrays: Any) -> tuple[Any, list[Key]]:
    """What Dask gives to a scheduler for `dask.compute`."""
    given: list[Any] = []

    def take(dsk: Any, keys: Any, **_: Any) -> Any:
        given.extend((dsk, list(flat(keys))))
        return [None for _ in keys]

    dask.compute(*arrays, scheduler=take)
    return given[0], given[1]


def found(*arrays: Any) -> Rechunks:
    graph, wanted = graph_of(*arrays)
    return find_rechunks(needed_nodes(graph, wanted), grids_of(notes_of(graph)), wanted)


def count_of(rechunks: Rechunks) -> tuple[int, int]:
    """How many nodes cut chunks apart, and how many exchanges there are."""
    return len(rechunks.cuts), sum(map(is_exchange, rechunks.nodes.values()))


def columns(rows: int = 10) -> Any:
    return da.ones((rows * 10, rows * 10), chunks=(10, rows * 10))


def test_each_old_chunk_is_cut_and_each_new_one_reads_its_pieces() -> None:
    rechunks = found(columns().rechunk((100, 10)))

    assert count_of(rechunks) == (10, 1)
    kinds = Counter(map(kind_of, rechunks.nodes))
    assert kinds["rechunk-merge"] == 10
    assert kinds["rechunk-split"] == 0


@pytest.mark.parametrize("limit", ["8KiB", "20KiB", "128MiB"])
def test_several_steps_of_dask_become_one(limit: str) -> None:
    with dask.config.set({"array.chunk-size": limit}):
        array = columns().rechunk((100, 10))

    assert count_of(found(array)) == (10, 1)


def test_what_dask_has_fused_with_a_rechunk_is_fused_again() -> None:
    graph, wanted = graph_of((columns() + 1).rechunk((100, 10)).sum(axis=0) + 1)
    rechunks = find_rechunks(needed_nodes(graph, wanted), grids_of(notes_of(graph)), wanted)

    linked = chains(ordered(rechunks.nodes), wanted)

    # What makes and cuts the chunks, the exchange, what puts them together and adds, and the end.
    assert len(linked) == 10 + 1 + 10 + 1


def test_parts_of_an_array_that_have_nothing_in_common_are_exchanged_apart() -> None:
    array = da.ones((40, 40), chunks=(10, 40)).rechunk((20, 2))

    assert count_of(found(array)) == (4, 2)


def test_what_has_no_more_pieces_than_chunks_is_left_to_dask() -> None:
    for chunks in [(50, 100), (10, 50), (20, 100)]:
        rechunks = found(columns().rechunk(chunks))
        assert count_of(rechunks) == (0, 0)


def test_chunks_of_which_nobody_knows_how_long_they_are_are_left_to_dask() -> None:
    array = columns()
    some = array[array[:, 0] > 0].rechunk({1: 5})

    assert count_of(found(some)) == (0, 0)


def test_a_rechunk_that_others_read_too_is_not_left_out() -> None:
    between = columns().rechunk((100, 10))
    rechunks = found(between.sum(), between.rechunk((10, 100)))

    assert count_of(rechunks) == (20, 2)
    both = found(between, between.rechunk((10, 100)))
    assert count_of(both) == (20, 2)


def test_only_what_is_asked_for_is_exchanged() -> None:
    array = da.ones((400, 400), chunks=(40, 4)).rechunk((4, 40))

    assert count_of(found(array[:40, :40])) == (10, 1)


def test_the_rechunks_of_xarray_are_found() -> None:
    xarray: Any = import_module("xarray")
    table = xarray.DataArray(columns(), dims=("day", "place"))

    assert count_of(found(table.chunk({"day": -1, "place": 10}).median("day"))) == (10, 1)


def test_a_graph_without_notes_is_left_as_it_is() -> None:
    graph, wanted = graph_of(columns().rechunk((100, 10)))
    nodes = needed_nodes(dict(graph.__dask_graph__()), wanted)

    assert find_rechunks(nodes, {}, wanted).nodes is nodes
