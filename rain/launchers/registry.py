"""Finds launchers by their names: those of Rain, and those that other packages offer.

A package offers one as an entry point of the group `rain.launchers`: its name, and a class or
function without arguments that makes it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

from rain.base.errors import StartError
from rain.launchers.grid_engine import GridEngine
from rain.launchers.inside_dask import InDask
from rain.launchers.inside_ray import InRay
from rain.launchers.interface import Launcher
from rain.launchers.kubernetes import Kubernetes
from rain.launchers.local import LocalJobs
from rain.launchers.lsf import Lsf
from rain.launchers.pbs import Pbs
from rain.launchers.slurm import Slurm

GROUP = "rain.launchers"
OURS: dict[str, Callable[[], Launcher]] = {
    "slurm": Slurm,
    "sge": GridEngine,
    "pbs": Pbs,
    "lsf": Lsf,
    "dask": InDask,
    "ray": InRay,
    "kubernetes": Kubernetes,
}


def launcher_names() -> list[str]:
    """The names of all launchers."""
    return [*OURS, *sorted(_others().keys() - OURS.keys())]


def find_launcher(name: str) -> Launcher:
    """Returns the launcher of that name; StartError lists the known ones."""
    if name == "ssh":  # the jobs are sessions, which are processes of this machine
        return LocalJobs(name)
    ours = {"local": LocalJobs, **OURS}.get(name)
    if ours is not None:
        return ours()
    other = _others().get(name)
    if other is None:
        raise StartError(f"no launcher {name!r}; there are {', '.join(launcher_names())}")
    try:
        made: Launcher = other.load()()
    except (ImportError, AttributeError) as error:
        raise StartError(f"the launcher {name!r} ({other.value}) has no code: {error}") from error
    return made


def _others() -> dict[str, EntryPoint]:
    return {found.name: found for found in entry_points(group=GROUP)}
