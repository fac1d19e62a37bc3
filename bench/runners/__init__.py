"""One module for each measured system.

A module has a function `cluster(cpus)`, a context manager that runs a local cluster and yields a
`Runner`. If other programs can use the same cluster, it also has `connected(address)`, which yields
a `Runner` for them. Only the process that measures a system imports its module, so that no system
pays for the imports of another one.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, TypeAlias, cast, runtime_checkable

from attrs import frozen

from bench.shapes import Shape

CallOnce: TypeAlias = Callable[[int], object]
"""Computes `inc` of a number as a task and returns the result."""


class Runner(Protocol):
    """A running cluster of one system."""

    @property
    def address(self) -> str:
        """The address of the cluster for other programs."""
        ...

    def run(self, shape: Shape) -> tuple[float, list[object]]:
        """Computes the shape; returns the seconds from submit to all results, and the results."""
        ...

    def calling(self) -> AbstractContextManager[CallOnce]:
        """A context for single calls, one after the other."""
        ...


@runtime_checkable
class ProgramRunner(Runner, Protocol):
    """A runner that can also run external programs."""

    def run_programs(self, count: int) -> float:
        """Runs `count` programs that do nothing; returns the seconds from submit to end."""
        ...


@runtime_checkable
class NestingRunner(Runner, Protocol):
    """A runner whose tasks can submit tasks and wait for them."""

    def run_tree(self, depth: int) -> int:
        """Each call submits two calls and waits for both; returns the number of calls."""
        ...

    def run_fan(self, calls: int) -> int:
        """One call submits this many and waits for all; returns their number."""
        ...


@frozen
class System:
    """A system that can be measured; described without importing it."""

    name: str
    module: str  # in this package
    package: str  # the system's package, which may be missing
    distribution: str  # for its version; "" for parts of Python
    graphs: bool = True  # whether tasks can depend on each other
    shared: bool = True  # whether several programs can use one cluster
    functions: bool = True  # whether its tasks can be function calls
    fuses: bool = False  # whether chains can run as one task
    is_limit: bool = False  # not a peer, but a bound of what is possible with less, or ourselves

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
        """Connects another program to a running cluster."""
        opener = import_module(self.module).connected
        return cast("Callable[[str], AbstractContextManager[Runner]]", opener)(address)


OURS = System("rain", "bench.runners.ours", "rain", "rain-tasks", fuses=True)
PEERS = {
    "futures": System("futures", "bench.runners.futures", "rain", "rain-tasks", is_limit=True),
    "dask": System("dask", "bench.runners.dask", "distributed", "distributed"),
    "ray": System("ray", "bench.runners.ray", "ray", "ray"),
    "parsl": System("parsl", "bench.runners.parsl", "parsl", "parsl", shared=False),
    "pool": System(
        "pool", "bench.runners.pool", "concurrent", "", graphs=False, shared=False, is_limit=True
    ),
}
PIPE = System("pipe", "bench.runners.pipe", "multiprocessing", "", shared=False, is_limit=True)
NESTING_PEERS = {"ray": PEERS["ray"]}
"""Those whose tasks can wait for tasks of their own, on as many processes as that takes."""
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
"""The systems that are compared only by external programs."""
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
LOKY = System(
    "loky",
    "bench.runners.loky",
    "joblib",
    "joblib",
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
    LOKY.name: LOKY,
}


def distributions(systems: Iterable[System]) -> list[str]:
    return [system.distribution for system in systems if system.distribution]
