"""Finding a scheduler by its name.

A name is one of ours, one that an installed package announces under the entry point group
`rain.schedulers`, or `FILE.py:CLASS` for a class in a file of the user's.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from rain.base.errors import StartError
from rain.scheduler.api import Scheduler
from rain.scheduler.rain import RainScheduler
from rain.scheduler.round_robin import RoundRobinScheduler

GROUP = "rain.schedulers"
DEFAULT = "rain"

SHIPPED: dict[str, Callable[[], Scheduler]] = {
    "rain": RainScheduler,
    "round-robin": RoundRobinScheduler,
}


def names() -> list[str]:
    """Every name that can be chosen, ours first."""
    return [*SHIPPED, *sorted({point.name for point in entry_points(group=GROUP)} - set(SHIPPED))]


def make_scheduler(name: str) -> Scheduler:
    """A new scheduler of this name."""
    if name in SHIPPED:
        return SHIPPED[name]()
    factory = _from_file(name) if ".py:" in name else _from_package(name)
    if not callable(getattr(factory, "schedule", None)):
        raise StartError(f"the scheduler {name!r} has no method schedule(graph, news, plan)")
    made: Scheduler = factory()
    return made


def _from_package(name: str) -> Callable[[], Scheduler]:
    found = [point for point in entry_points(group=GROUP) if point.name == name]
    if not found:
        raise StartError(
            f"there is no scheduler {name!r}; known are {', '.join(names())},"
            " and FILE.py:CLASS names one of your own"
        )
    try:
        loaded: Callable[[], Scheduler] = found[0].load()
    except (ImportError, AttributeError) as error:
        raise StartError(f"the scheduler {name!r} cannot be loaded: {error}") from error
    return loaded


def _from_file(name: str) -> Callable[[], Scheduler]:
    file, _, attribute = name.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise StartError(f"the scheduler file {file} does not exist")
    spec = importlib.util.spec_from_file_location(f"rain_scheduler_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise StartError(f"the scheduler file {file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (ImportError, SyntaxError, AttributeError, NameError) as error:
        raise StartError(f"the scheduler file {file} cannot be loaded: {error}") from error
    found: Callable[[], Scheduler] | None = getattr(module, attribute, None)
    if found is None:
        raise StartError(f"the scheduler file {file} has no class {attribute!r}")
    return found
