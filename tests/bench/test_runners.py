"""The peers' runners hand over each shape as it is; fakes stand in for the peers."""

from collections.abc import Callable, Iterable
from typing import cast

import pytest
from attrs import frozen

from bench.runners import SYSTEMS
from bench.runners.dask import DaskRunner
from bench.runners.dask import functions as dask_functions
from bench.runners.ray import RayRunner
from bench.runners.ray import functions as ray_functions
from bench.shapes import Shape, chain, independent, merge, round_trip, tree
from bench.turn import measure, take_turn

SHAPES = [independent(5), merge(5), tree(3), chain(4), round_trip(2)]


@frozen
class Promise:
    """A result that exists already, and that only its owner may open."""

    value: object


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
    ) -> list[object]:
        assert not pure
        self.calls.append("map")
        rows = zip(*arguments, strict=True)
        return [Promise(function(*(opened(argument) for argument in row))) for row in rows]

    def gather(self, futures: list[object]) -> list[object]:
        return [opened(future) for future in futures]


@frozen
class FakeRemote:
    function: Callable[..., object]

    def remote(self, *arguments: object) -> Promise:
        return Promise(self.function(*(opened(argument) for argument in arguments)))


class FakeRay:
    def init(
        self, *, num_cpus: int, include_dashboard: bool, log_to_driver: bool, logging_level: str
    ) -> None:
        raise AssertionError("a runner works on a cluster that is there already")

    def remote(self, function: Callable[..., object]) -> FakeRemote:
        return FakeRemote(function)

    def get(self, references: list[object]) -> list[object]:
        return [opened(reference) for reference in references]

    def shutdown(self) -> None:
        raise AssertionError("a runner works on a cluster that stays")


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_the_dask_runner_computes_the_shape(shape: Shape) -> None:
    runner = DaskRunner(FakeDask(), dask_functions())

    seconds, results = runner.run(shape)

    assert seconds > 0
    assert results == list(shape.answers)


def test_the_dask_runner_maps_what_comes_in_numbers() -> None:
    dask = FakeDask()

    DaskRunner(dask, dask_functions()).run(merge(5))

    assert dask.calls == ["map", "submit"]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_the_ray_runner_computes_the_shape(shape: Shape) -> None:
    ray = FakeRay()

    seconds, results = RayRunner(ray, ray_functions(ray)).run(shape)

    assert seconds > 0
    assert results == list(shape.answers)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_is_known_by_the_name_that_it_is_listed_under(name: str) -> None:
    assert SYSTEMS[name].name == name


def test_a_turn_gives_the_seconds_of_every_shape() -> None:
    ray = FakeRay()

    seconds = take_turn(RayRunner(ray, ray_functions(ray)), tasks=4)

    assert list(seconds) == ["independent", "merge", "tree", "chain", "round trip"]
    assert all(value > 0 for value in seconds.values())


def test_a_shape_of_several_rounds_gives_the_middle_one() -> None:
    class Clockwork:
        def __init__(self) -> None:
            self.times = iter([5.0, 1.0, 2.0])

        def run(self, shape: Shape) -> tuple[float, list[object]]:
            return next(self.times), list(shape.answers)

    assert measure(Clockwork(), round_trip(3)) == 2.0
