"""Graphs that the lab can make by itself, by their names."""

from __future__ import annotations

from collections.abc import Callable

from rain.lab.families.elementary import ELEMENTARY
from rain.lab.workload import LabError, Workload

FAMILIES: dict[str, Callable[[int], Workload]] = {**ELEMENTARY}

SETS: dict[str, tuple[str, ...]] = {"elementary": tuple(ELEMENTARY)}
"""Names that stand for several families."""


def make(name: str, seed: int) -> Workload:
    """The graph of a family; the same seed makes the same graph."""
    family = FAMILIES.get(name)
    if family is None:
        raise LabError(
            f"there is no graph {name!r}; known are {', '.join((*SETS, *FAMILIES))},"
            " or name a JSON file"
        )
    return family(seed)
