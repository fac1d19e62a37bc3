"""The runners hand over each shape as it is; fakes stand in for the peers."""

from collections.abc import Callable, Iterable, Sequence
from typing import cast

import pytest
from attrs import frozen

from bench.functions import inc
from bench.patterns import rows
from bench.runners import PEERS, SPAWN, SYSTEMS, ProgramRunner, Runner
from bench.runners.dask import DaskRunner
from bench.runners.parsl import ParslRunner
from bench.runners.pipe import cluster as pipe_cluster
from bench.runners.pool import cluster as pool_cluster
from bench.runners.ray import RayRunner
from bench.runners.spawn import cluster as spawn_cluster
from bench.shapes import Shape, chain, independent, merge, tree

SHAPES = [independent(5), merge(5), tree(3), chain(4), rows("stencil", 3, 3, 1)]


@frozen
class Promise:
    """A result that exists already, and that only its owner may open."""

    value: object

    def result(self) -> object:
        return self.value


def opened(value: object) -> object:
    if isinstance(value, Promise):
        return value.value
    if isinstance(value, list):
        return [opened(item) for item in cast("list[object]", value)]
    return value


class FakeDask:
    def __init__(self) -> None:
        self.calls: list[str] = []

    def submit(self, function: Callable[..., object], *arguments: object, pure: bool) -> Promise:
        assert not pure, "Dask would remember the answers of the turn before"
        self.calls.append("submit")
        return Promise(function(*(opened(argument) for argument in arguments)))

    def map(
        self, function: Callable[..., object], *arguments: Iterable[object], pure: bool
    ) -> list[Promise]:
        assert not pure
        self.calls.append("map")
        rows = zip(*arguments, strict=True)
        return [Promise(function(*(opened(argument) for argument in row))) for row in rows]

    def gather(self, futures: Sequence[object]) -> list[object]:
        return [opened(future) for future in futures]


@frozen
class FakeRemote:
    function: Callable[..., object]

    def remote(self, *arguments: object) -> Promise:
        return Promise(self.function(*(opened(argument) for argument in arguments)))


@frozen
class FakeContext:
    gcs_address: str = "nowhere"


class FakeRay:
    def init(
        self,
        *,
        address: str | None = None,
        num_cpus: int | None = None,
        include_dashboard: bool | None = None,
        log_to_driver: bool,
        logging_level: str,
    ) -> None:
        raise AssertionError("a runner works on a cluster that is there already")

    def remote(self, function: Callable[..., object]) -> FakeRemote:
        return FakeRemote(function)

    def get(self, references: object) -> object:
        return opened(references)

    def get_runtime_context(self) -> FakeContext:
        return FakeContext()

    def shutdown(self) -> None:
        raise AssertionError("a runner works on a cluster that stays")


def fake_app(function: Callable[..., object]) -> Callable[..., Promise]:
    return lambda *arguments: Promise(function(*(opened(argument) for argument in arguments)))


RUNNERS: dict[str, Callable[[], Runner]] = {
    "dask": lambda: DaskRunner(FakeDask()),
    "ray": lambda: RayRunner(FakeRay()),
    "parsl": lambda: ParslRunner(fake_app),
}


@pytest.mark.parametrize("name", RUNNERS)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_runner_computes_the_shape(shape: Shape, name: str) -> None:
    seconds, results = RUNNERS[name]().run(shape)

    assert seconds > 0
    assert results == list(shape.answers)


@pytest.mark.parametrize("name", RUNNERS)
def test_a_runner_makes_single_calls(name: str) -> None:
    with RUNNERS[name]().calling() as call:
        assert [call(1), call(5)] == [2, 6]


def test_the_dask_runner_maps_what_comes_in_numbers() -> None:
    dask = FakeDask()

    DaskRunner(dask).run(merge(5))

    assert dask.calls == ["map", "submit"]


def test_the_pipe_computes_graphs_and_calls() -> None:
    with pipe_cluster(cpus=2) as runner, runner.calling() as call:
        assert runner.run(tree(3))[1] == list(tree(3).answers)
        assert call(1) == inc(1)


def test_the_pool_computes_what_is_no_graph() -> None:
    pool = PEERS["pool"]

    with pool_cluster(cpus=2) as runner, runner.calling() as call:
        assert runner.run(independent(9))[1] == list(independent(9).answers)
        assert call(1) == inc(1)
    assert [pool.can_run(shape) for shape in SHAPES] == [True, False, False, False, False]


def test_a_system_that_only_starts_programs_is_given_no_functions() -> None:
    with spawn_cluster(cpus=2) as runner:
        assert runner.run_programs(5) > 0.0
        assert isinstance(runner, ProgramRunner)
    assert not [shape for shape in SHAPES if SPAWN.can_run(shape)]


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_is_known_by_the_name_that_it_is_listed_under(name: str) -> None:
    assert SYSTEMS[name].name == name
