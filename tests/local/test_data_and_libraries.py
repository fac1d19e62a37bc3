"""Large data, directories, and the adapters to other libraries, in local mode."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rain.client import Client, directory, pickled, register_joblib, tasks

dask: Any = import_module("dask")  # which is half annotated
joblib: Any = import_module("joblib")  # which is not annotated

LARGE = 400_000


def square(value: int) -> int:
    return value * value


def looked_at(array: "np.ndarray[Any, Any]") -> tuple[float, str]:
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return float(array.sum()), type(getattr(owner, "obj", owner)).__name__


def test_large_arrays_are_mapped_as_in_processes(client: Client) -> None:
    assert client.submit(looked_at, client.put(np.ones(LARGE))).result() == (LARGE, "mmap")
    made = client.submit(np.ones, LARGE).result()
    assert float(made.sum()) == LARGE


def test_large_constants_and_results_come_back_whole(client: Client, tmp_path: Path) -> None:
    data = bytes(range(256)) * 4000
    with client.new_session("data") as session:
        constant = pickled(data)
        joined = tasks.Concat([constant, constant])
        session.keep_all()
        session.submit()
        joined.output.download(tmp_path / "file")
        assert constant.fetch().load() == data
        assert (tmp_path / "file").read_bytes() == joined.output.fetch().get_bytes()


@pytest.mark.parametrize("size", [10, 300_000])
def test_directories_go_in_and_out(client: Client, tmp_path: Path, size: int) -> None:
    with client.new_session("directories") as session:
        folder = directory({"a": bytes(size), "sub/b": b"b"})
        part = tasks.SliceDirectory(folder, "sub/")
        whole = tasks.MakeDirectory({"inner": folder})
        session.keep_all()
        session.submit()
        part.output.download(tmp_path / "part")
        whole.output.download(tmp_path / "whole")
        whole.output.fetch().write(tmp_path / "written")
    assert (tmp_path / "part" / "b").read_bytes() == b"b"
    assert (tmp_path / "whole" / "inner" / "a").stat().st_size == size
    assert (tmp_path / "written" / "inner" / "sub" / "b").read_bytes() == b"b"


def test_joblib_and_dask_run_their_calls_here(client: Client) -> None:
    register_joblib()
    with joblib.parallel_config(backend="rain", client=client):
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(square)(i) for i in range(20))
    assert found == [i * i for i in range(20)]

    with dask.config.set(scheduler=client.dask):
        steps = [dask.delayed(square)(i) for i in range(5)]
        assert dask.delayed(sum)(steps).compute() == 30


def test_large_tables_of_dask_are_sorted_here(client: Client) -> None:
    pandas: Any = import_module("pandas")
    frames: Any = import_module("dask.dataframe")
    numbers = np.random.default_rng(1).permutation(LARGE)
    table = pandas.DataFrame({"order": numbers, "value": numbers * 0.5})
    with dask.config.set(scheduler=client.dask):
        made = frames.from_pandas(table, npartitions=2).sort_values("order").compute()
    assert np.array_equal(made["order"], np.arange(LARGE))
    assert np.array_equal(made.index, np.argsort(numbers))
    assert np.array_equal(made["value"], np.arange(LARGE) * 0.5)


def test_an_upload_can_be_imported_and_replaced(client: Client, tmp_path: Path) -> None:
    def use(x: int) -> int:
        helpers: Any = import_module("local_helpers")
        return int(helpers.changed(x))

    module = tmp_path / "local_helpers.py"
    for factor in (2, 3):
        module.write_text(f"def changed(x): return {factor} * x\n")
        client.upload(module)
        assert client.submit(use, 10).result() == 10 * factor


def test_results_are_kept_for_later_runs(tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    def counted(x: int) -> int:
        with ran.open("a") as file:
            file.write("x")
        return x

    for _ in range(2):
        with Client(local=True) as client:
            cached = client.options(cache=str(tmp_path / "cache"))
            assert cached.submit(counted, 3).result() == 3
    assert ran.read_text() == "x"
