"""One module for each system that is measured.

A module has a function `cluster(cpus)`: a context manager around a running
local cluster, that gives a `Runner`; and, if other programs can use the same
cluster, `connected(address)`, which gives them a `Runner` too. The systems' own
imports happen in there or in the module itself, and a module is imported by the
process that measures it and by no other, so that no system pays for another's
imports.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, TypeAlias, cast, runtime_checkable

from attrs import frozen

from bench.shapes import Shape

CallOnce: TypeAlias = Callable[[int], object]
"""Has `inc` computed for a number somewhere else, and returns the result."""


class Runner(Protocol):
    """A running cluster of one system."""

    @property
    def address(self) -> str:
        """Where other programs reach the same cluster."""
        ...

    def run(self, shape: Shape) -> tuple[float, list[object]]:
        """Compute the shape: the seconds from submit to all results here, and the results."""
        ...

    def calling(self) -> AbstractContextManager[CallOnce]:
        """Single calls, one after the other, as a program would make them."""
        ...


@runtime_checkable
class ProgramRunner(Runner, Protocol):
    """One that runs external programs, too."""

    def run_programs(self, count: int) -> float:
        """Runs `count` programs that do nothing; the seconds from submit to end."""
        ...


@frozen
class System:
    """A system that can be measured, known by name before it is imported."""

    name: str
    module: str  # of ours
    package: str  # of theirs, and without it the system is not there
    distribution: str  # has a version; "" for what comes with Python
    graphs: bool = True  # whether a task can need another
    shared: bool = True  # whether several programs can use one cluster
    functions: bool = True  # whether its tasks can be calls of functions
    fuses: bool = False  # whether chains can run as one task
    is_limit: bool = False  # it is no peer: what can be reached at best with so much less

    def is_installed(self) -> bool:
        return find_spec(self.package) is not None

    def can_run(self, shape: Shape) -> bool:
        if not self.functions:
            return False
        return (self.graphs or not shape.is_graph) and (self.fuses or not shape.fused)

    def cluster(self, cpus: int) -> AbstractContextManager[Runner]:
        opener = import_module(self.module).cluster
        return cast("Callable[[int], AbstractContextManager[Runner]]", opener)(cpus)

    def connected(self, address: str) -> AbstractContextManager[Runner]:
        """One more program that uses a running cluster."""
        opener = import_module(self.module).connected
        return cast("Callable[[str], AbstractContextManager[Runner]]", opener)(address)


OURS = System("rain", "bench.runners.ours", "rain", "rain-tasks", fuses=True)
PEERS = {
    "futures": System("futures", "bench.runners.futures", "rain", "rain-tasks"),
    "dask": System("dask", "bench.runners.dask", "distributed", "distributed"),
    "ray": System("ray", "bench.runners.ray", "ray", "ray"),
    "parsl": System("parsl", "bench.runners.parsl", "parsl", "parsl", shared=False),
    "pool": System(
        "pool", "bench.runners.pool", "concurrent", "", graphs=False, shared=False, is_limit=True
    ),
}
PIPE = System("pipe", "bench.runners.pipe", "multiprocessing", "", shared=False, is_limit=True)
PROGRAM_PEERS = {
    "hyperqueue": System(
        "hyperqueue",
        "bench.runners.hyperqueue",
        "hyperqueue",
        "hyperqueue",
        graphs=False,
        shared=False,
        functions=False,
    ),
}
"""Those that are compared only by the programs that they run."""
SPAWN = System(
    "spawn",
    "bench.runners.spawn",
    "subprocess",
    "",
    graphs=False,
    shared=False,
    functions=False,
    is_limit=True,
)
SYSTEMS = {
    OURS.name: OURS,
    **PEERS,
    **PROGRAM_PEERS,
    PIPE.name: PIPE,
    SPAWN.name: SPAWN,
}


def distributions(systems: Iterable[System]) -> list[str]:
    return [system.distribution for system in systems if system.distribution]
