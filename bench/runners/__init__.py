"""One module for each system that is measured.

A module has one function, `cluster(cpus)`: a context manager around a running
local cluster, that gives a `Runner`. The systems' own imports happen in there
or in the module itself, and a module is imported by the process that measures
it and by no other, so that no system pays for another's imports.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from attrs import frozen

from bench.shapes import Shape


class Runner(Protocol):
    """A running cluster of one system."""

    def run(self, shape: Shape) -> tuple[float, list[object]]:
        """Compute the shape: the seconds from submit to all results here, and the results."""
        ...


@frozen
class System:
    """A system that can be measured, known by name before it is imported."""

    name: str
    module: str  # of ours
    package: str  # of theirs, and without it the system is not there
    distribution: str

    def is_installed(self) -> bool:
        return find_spec(self.package) is not None

    def cluster(self, cpus: int) -> AbstractContextManager[Runner]:
        opener = import_module(self.module).cluster
        return cast("Callable[[int], AbstractContextManager[Runner]]", opener)(cpus)


OURS = System("rain", "bench.runners.ours", "rain", "rain-tasks")
PEERS = {
    "dask": System("dask", "bench.runners.dask", "distributed", "distributed"),
    "ray": System("ray", "bench.runners.ray", "ray", "ray"),
}
SYSTEMS = {OURS.name: OURS, **PEERS}
