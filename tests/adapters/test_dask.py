"""Dask's collections, and Dask's own tests: on a real cluster, and in local mode."""

from __future__ import annotations

import os
import re
import subprocess
import warnings
from _thread import interrupt_main
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rain.client import Client, RainWarning
from rain.client.for_dask.scheduler import LARGEST_KNOWN
from rain.client.futures.futures import Futures
from rain.client.task import Task
from tests.adapters.own_tests import PROJECT, command, environment
from tests.support.modes import MODES, client_in, in_processes

# Of any type, since half of Dask is annotated.
dask: Any = import_module("dask")
da: Any = import_module("dask.array")
db: Any = import_module("dask.bag")
Callback: Any = import_module("dask.callbacks").Callback

pytestmark = pytest.mark.whole

OWN_TESTS = (
    ("dask.array.tests.test_reductions", "1D_nans and x0 and f4 or object_reduction or 0d_array"),
    ("dask.bag.tests.test_bag", "fold or frequencies or topk or lambdas or product or foldby"),
)
"""Modules of Dask's own tests, and which of their tests: some hundred graphs."""


@pytest.fixture(scope="module", params=MODES)
def client(request: pytest.FixtureRequest) -> Generator[Client]:
    with client_in(request.param, cpus=2) as client:
        yield client


@pytest.fixture(autouse=True)
def scheduler(client: Client) -> Generator[Any]:
    scheduler: Any = client.dask
    with dask.config.set(scheduler=scheduler):
        yield scheduler


def fails(x: int) -> int:
    raise KeyError(x)


def fails_once(mark: Path) -> str:
    if mark.exists():
        return "the second try"
    mark.touch()
    raise ValueError("the first try")


def with_its_words_sorted(group: tuple[int, list[str]]) -> tuple[int, list[str]]:
    return group[0], sorted(group[1])


def process(*_: object) -> int:
    return os.getpid()


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


@in_processes
def test_the_nodes_run_in_processes_of_the_cluster() -> None:
    assert dask.delayed(process)().compute() != os.getpid()


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


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of how many tasks each graph is."""
    counts: list[int] = []
    run = Futures.run

    def counting(self: Futures, steps: Sequence[Task], wanted: Iterable[Task]) -> Any:
        counts.append(len(steps))
        return run(self, steps, wanted)

    monkeypatch.setattr(Futures, "run", counting)
    return counts


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


def test_a_tree_of_delayed_calls_is_computed() -> None:
    level: list[Any] = list(range(64))
    while len(level) > 1:
        level = [dask.delayed(add)(*level[i : i + 2]) for i in range(0, len(level), 2)]

    assert level[0].compute() == sum(range(64))


def test_an_exception_has_its_type_also_from_deep_inside() -> None:
    deep = dask.delayed(add)(1, dask.delayed(add)(1, dask.delayed(fails)(5)))

    with pytest.raises(KeyError, match="5") as raised:
        deep.compute()

    assert "in fails" in str(raised.value.__cause__)  # where it was raised, over there


def test_several_collections_are_computed_together() -> None:
    x = da.ones(10, chunks=5)

    assert dask.compute(x.sum(), [x.max(), {"min": x.min()}], 7) == (10.0, [1.0, {"min": 1.0}], 7)


def test_keys_in_lists_are_answered_by_tuples_of_the_same_form(scheduler: Any) -> None:
    graph = {"x": 1, ("y", 0): (add, "x", 10), "z": "x", "list": ["x", ("y", 0)]}

    assert scheduler(graph, "x") == 1
    assert scheduler(graph, [["x", ("y", 0)], [], "z"]) == ((1, 11), (), 1)
    assert scheduler(graph, ["list"]) == ([1, 11],)


def test_what_no_wanted_key_needs_is_not_run(scheduler: Any, tmp_path: Path) -> None:
    graph = {"wanted": (add, 1, 2), "other": (fails_once, tmp_path / "mark")}

    assert scheduler(graph, "wanted") == 3
    assert not (tmp_path / "mark").exists()


def test_a_large_value_of_a_graph_is_uploaded_once(client: Client, scheduler: Any) -> None:
    futures = client.open_futures()
    uploaded: list[str] = []
    constant = futures.constant

    def counted(value: Any, name: str) -> Any:
        uploaded.append(name)
        return constant(value, name)

    table = list(range(LARGEST_KNOWN))
    graph: Mapping[Any, Any] = {
        "table-0": table,
        "small": 3,
        **{("sum", i): (partial(_sum, i), "table-0", "small") for i in range(5)},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(futures, "constant", counted)
        sums = scheduler(graph, [("sum", i) for i in range(5)])

    assert sums == tuple(sum(table) + 3 + i for i in range(5))
    assert uploaded == ["table"]


def _sum(i: int, values: list[int], more: int) -> int:
    return i + sum(values) + more


def test_what_is_between_is_neither_kept_nor_fetched(client: Client) -> None:
    before = kept(client)
    x = da.ones((400, 400), chunks=(100, 100))
    graph = (x + x.T).sum()

    result = dask.delayed(float)(graph).compute()

    assert result == 320_000.0
    client.submit(int).result()
    assert kept(client) <= before + 3  # the function and results of single calls


def test_a_failed_node_is_run_again_if_retries_say_so(tmp_path: Path) -> None:
    node = dask.delayed(fails_once)(tmp_path / "mark")

    assert node.compute(retries=1) == "the second try"


@in_processes
def test_a_need_that_no_governor_has_is_warned_of_at_the_line_of_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = dask.delayed(add)(1, 2)
    seen: list[tuple[str, str]] = []

    def show(message: Warning | str, _: type[Warning], filename: str, *__: object) -> None:
        seen.append((str(message), filename))
        interrupt_main()

    monkeypatch.setattr(warnings, "showwarning", show)
    with warnings.catch_warnings():
        warnings.simplefilter("always", RainWarning)
        with pytest.raises(KeyboardInterrupt):
            node.compute(resources={"gpus": 9})

    ((text, filename),) = seen
    assert "'add' needs cpus=1, gpus=9, which the only governor does not have" in text
    assert filename == __file__


class Heard:
    """What callbacks are told."""

    def __init__(self) -> None:
        self.started = 0
        self.running: list[Any] = []
        self.values: dict[Any, Any] = {}
        self.finished: set[Any] = set()
        self.failed: list[bool] = []

    def start(self, dsk: Any) -> None:
        self.started += 1

    def pretask(self, key: Any, dsk: Any, state: Any) -> None:
        self.running.append(key)

    def posttask(self, key: Any, value: Any, dsk: Any, state: Any, worker: Any) -> None:
        self.values[key] = value

    def finish(self, dsk: Any, state: Any, failed: bool) -> None:
        self.finished = state["finished"]
        self.failed.append(failed)


def test_callbacks_hear_of_each_node_and_of_the_end() -> None:
    heard = Heard()

    with Callback(
        start=heard.start, pretask=heard.pretask, posttask=heard.posttask, finish=heard.finish
    ):
        inner = dask.delayed(add)(1, 2, dask_key_name="inner")
        outer = dask.delayed(add)(inner, 3, dask_key_name="outer")
        assert dask.compute(inner, outer, optimize_graph=False) == (3, 6)

    assert heard.started == 1
    assert heard.running == ["inner", "outer"]
    assert heard.values == {"inner": 3, "outer": 6}
    assert heard.finished == {"inner", "outer"}
    assert heard.failed == [False]


def test_callbacks_hear_of_a_failure() -> None:
    heard = Heard()

    with Callback(pretask=heard.pretask, finish=heard.finish), pytest.raises(KeyError):
        dask.delayed(add)(1, dask.delayed(fails)(5)).compute()

    assert heard.failed == [True]


@pytest.mark.parametrize(("module", "chosen"), OWN_TESTS)
def test_tests_of_dask_itself_pass(module: str, chosen: str, tmp_path: Path) -> None:
    assert find_spec(module) is not None  # they come with Dask
    done = subprocess.run(
        command(module, tmp_path, ["-k", chosen]),
        cwd=PROJECT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    computed = re.search(r"^computed on the cluster: (\d+) graphs$", done.stdout, re.MULTILINE)
    assert computed is not None
    assert int(computed[1]) >= 20
