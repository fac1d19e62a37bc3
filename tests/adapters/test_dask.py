"""Dask's graphs, delayed calls and callbacks, and Dask's own tests, in both modes."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from operator import add
from pathlib import Path
from typing import Any

import pytest

from rain.client import Client, ConnectionException, TaskException
from rain.client.for_dask.scheduler import LARGEST_KNOWN
from tests.adapters.own_tests import PROJECT, command, environment
from tests.support.modes import in_processes

# Of any type, since half of Dask is annotated.
dask: Any = import_module("dask")
da: Any = import_module("dask.array")
Callback: Any = import_module("dask.callbacks").Callback

pytestmark = [pytest.mark.whole, pytest.mark.usefixtures("scheduler")]

OWN_TESTS = (
    ("dask.array.tests.test_reductions", "1D_nans and x0 and f4 or object_reduction or 0d_array"),
    ("dask.bag.tests.test_bag", "fold or frequencies or topk or lambdas or product or foldby"),
)
"""Modules of Dask's own tests, and which of their tests: some hundred graphs."""


def fails(x: int) -> int:
    raise KeyError(x)


def fails_once(mark: Path) -> str:
    if mark.exists():
        return "the second try"
    mark.touch()
    raise ValueError("the first try")


def process(*_: object) -> int:
    return os.getpid()


@in_processes
def test_the_nodes_run_in_processes_of_the_cluster() -> None:
    assert dask.delayed(process)().compute() != os.getpid()


def test_the_scheduler_of_a_closed_client_says_how_to_set_another_one() -> None:
    with Client(local=True) as client:
        scheduler: Any = client.dask
        assert dask.delayed(add)(1, 2).compute(scheduler=scheduler) == 3
    told = r"the client is closed, .*: write dask.config.set\(scheduler=client.dask\) with an open"
    with pytest.raises(ConnectionException, match=told):
        dask.delayed(add)(1, 2).compute(scheduler=scheduler)


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


def test_a_failed_node_is_run_again_if_retries_say_so(tmp_path: Path) -> None:
    node = dask.delayed(fails_once)(tmp_path / "mark")

    assert node.compute(retries=1) == "the second try"


@in_processes
def test_a_need_that_no_governor_has_fails_at_once_with_what_there_is() -> None:
    node = dask.delayed(add)(1, 2)
    needs = "'add' needs cpus=1, gpus=9, which the only governor does not have"
    with pytest.raises(TaskException, match=needs):
        node.compute(resources={"gpus": 9})


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
