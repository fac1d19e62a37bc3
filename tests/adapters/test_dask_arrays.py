"""Dask's arrays: on a real cluster, and in local mode."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pytest

from rain.client import Client, RainException

# Of any type, since half of Dask is annotated.
dask: Any = import_module("dask")
da: Any = import_module("dask.array")
dask_utils: Any = import_module("dask.utils")

pytestmark = [pytest.mark.whole, pytest.mark.usefixtures("scheduler")]


def kept(client: Client) -> int:
    """How many objects the governors hold that were neither constants nor thrown away."""
    client.housekeeper.flush()
    governors = client.get_server_info()["governors"]
    return sum(
        len(governor["objects"]) - len(governor["objects_to_delete"]) for governor in governors
    )


def test_an_array_is_computed() -> None:
    here = np.arange(10_000).reshape(100, 100)
    x = da.from_array(here, chunks=(30, 50))

    assert (x + x.T).sum().compute() == 2 * sum(range(10_000))
    assert np.array_equal(x[:3, ::7].compute(), here[:3, ::7])


class Appending:
    """A target that tasks can reach: a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __setitem__(self, place: object, chunk: Any) -> None:
        with self.path.open("a") as file:
            file.write(f"{chunk.sum():.0f} ")


class Writing:
    """A target that has opened its file, as a netCDF or HDF5 file of the program."""

    def __init__(self, file: TextIO) -> None:
        self.file = file

    def __setitem__(self, place: object, chunk: Any) -> None:
        self.file.write(f"{chunk.sum():.0f} ")


def test_a_store_into_an_array_of_the_program_is_refused(tmp_path: Path) -> None:
    x, here = da.ones((4, 4), chunks=2), np.zeros((4, 4))
    there = Appending(tmp_path / "stored")
    for how in ({"compute": True}, {"return_stored": True}):
        with pytest.raises(RainException, match=r"a numpy array of your program, of 128 bytes"):
            da.store([x, x + 1], [there, here], **how)
    with pytest.raises(RainException, match=r"a numpy array of your program"):
        da.store(da.arange(4, chunks=2), here[0])  # one node makes a chunk and stores it
    assert not there.path.exists()

    da.store(da.from_array(here, chunks=2) + 1, there)

    assert there.path.read_text().split() == ["4"] * 4


def test_a_store_into_an_open_file_or_with_a_lock_of_the_program_is_refused(
    tmp_path: Path,
) -> None:
    x, there = da.ones((4, 4), chunks=2), Appending(tmp_path / "stored")
    with pytest.raises(RainException, match=r"its 'lock' cannot be sent\): compute first, as in"):
        da.store(x, there, lock=threading.Lock())
    with (tmp_path / "open").open("w") as file, pytest.raises(RainException, match="has opened"):
        da.store(x, Writing(file))
    assert not there.path.exists()

    da.store(x, there, lock=dask_utils.SerializableLock())

    assert there.path.read_text().split() == ["4"] * 4


def test_an_array_is_rechunked_as_one(counts: list[int]) -> None:
    here = np.arange(3600).reshape(60, 60)
    rows = da.from_array(here, chunks=(6, 60)) + 1
    with dask.config.set({"array.chunk-size": "4KiB"}):  # Dask would go there in three steps
        columns = rows.rechunk((60, 6))

    assert np.array_equal(columns.compute(), here + 1)
    assert counts[0] == 10 + 1 + 10 + 1  # cuts, what lists the pieces, new chunks, all together
    assert np.array_equal(columns.rechunk((7, 11)).sum(axis=1).compute(), (here + 1).sum(axis=1))
    masked = da.ma.masked_greater(columns, 9).rechunk((6, 60)).compute()
    assert masked.mask.sum() == 3600 - 9


def tiles() -> Any:
    """An array of 100 small chunks."""
    return da.from_array(np.arange(3600.0).reshape(60, 60), chunks=(6, 6))


SMALL_WORKS: Mapping[str, Callable[[Any, Any], Any]] = {
    "element by element": lambda x, m: m.sqrt(x * 2 + 1).astype("f4").max(),
    "transposed": lambda x, m: (x + x.T).sum(),
    "reduced": lambda x, m: (x - x.mean(axis=0, keepdims=True)).max(),
    "two results of one": lambda x, m: m.where(x > x.mean(), x, 0).std(),
}


@pytest.mark.parametrize("name", SMALL_WORKS)
def test_small_chunks_are_worked_on_in_groups(counts: list[int], name: str) -> None:
    work = SMALL_WORKS[name]
    made = work(tiles(), da)
    assert np.allclose(made.compute(), work(np.arange(3600.0).reshape(60, 60), np))
    nodes = dict(dask.optimize(made)[0].__dask_graph__())
    assert counts[0] < 0.8 * len(nodes)


def test_what_raises_in_a_group_is_named() -> None:
    bad = tiles().map_blocks(np.reshape, (4, 4), meta=np.ones((1, 1)), chunks=(4, 4))
    with pytest.raises(ValueError, match="cannot reshape") as caught:
        bad.sum().compute()
    assert any("This was raised in the node ('array-sum-" in one for one in caught.value.__notes__)


def test_functions_of_users_are_tasks_of_their_own(counts: list[int]) -> None:
    assert tiles().map_blocks(np.sort, dtype=float).sum().compute() == 3599 * 1800
    assert counts[0] >= 100


def wrong(chunk: Any) -> Any:
    return chunk[:1]


def test_chunks_that_are_not_as_long_as_their_array_says_are_refused() -> None:
    rows = da.ones((40, 40), chunks=(4, 40)).map_blocks(wrong, dtype=float)

    with pytest.raises(Exception, match=r"a chunk has the shape \(1, 40\)"):
        rows.rechunk((40, 4)).compute()


def test_what_is_between_is_neither_kept_nor_fetched(client: Client) -> None:
    before = kept(client)
    x = da.ones((400, 400), chunks=(100, 100))
    graph = (x + x.T).sum()

    result = dask.delayed(float)(graph).compute()

    assert result == 320_000.0
    client.submit(int).result()
    assert kept(client) <= before + 3  # the function and results of single calls
