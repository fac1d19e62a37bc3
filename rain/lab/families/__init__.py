"""The graphs that the lab can generate, by name.

A name may be followed by parameters: `stencil:width=100,steps=50`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from rain.lab.families.elementary import ELEMENTARY
from rain.lab.families.layered import LAYERED
from rain.lab.families.recipes import RECIPES
from rain.lab.families.shapes import SHAPES
from rain.lab.workload import LabError, Workload

FAMILIES: dict[str, Callable[..., Workload]] = {**ELEMENTARY, **SHAPES, **LAYERED, **RECIPES}

SETS: dict[str, tuple[str, ...]] = {
    "elementary": tuple(ELEMENTARY),
    "shapes": tuple(SHAPES),
    "layers": tuple(LAYERED),
    "workflows": tuple(RECIPES),
}
"""Names that stand for several families."""


def make(text: str, seed: int) -> Workload:
    """Generates the graph of a family; the same seed gives the same graph."""
    name, _, given = text.partition(":")
    family = FAMILIES.get(name)
    if family is None:
        raise LabError(
            f"there is no graph {name!r}; known: {', '.join((*SETS, *FAMILIES))};"
            " or name a JSON file"
        )
    parameters = _read_parameters(text, given, parameters_of(family))
    workload = family(seed, **parameters)
    workload.name = text
    return workload


def describe(name: str) -> str:
    """One line about a family: what it is, and its parameters with their defaults."""
    family = FAMILIES[name]
    about = "a workflow of wfcommons" if name in RECIPES else inspect.getdoc(family) or ""
    known = ", ".join(f"{key}={value}" for key, value in parameters_of(family).items())
    return f"{name}: {about} ({known})"


def parameters_of(family: Callable[..., Workload]) -> dict[str, int]:
    """The parameters of a family besides its seed, with their defaults."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(family).parameters.items()
        if name != "seed"
    }


def _read_parameters(text: str, given: str, known: dict[str, int]) -> dict[str, int]:
    read: dict[str, int] = {}
    for word in given.split(",") if given else ():
        key, _, value = word.partition("=")
        if key not in known:
            there = f"it knows {', '.join(known)}" if known else "it has none"
            raise LabError(f"the graph {text!r} has no parameter {key!r}; {there}")
        if not value.isdecimal() or not int(value):
            raise LabError(f"the graph {text!r}: {key} is a whole number from 1 on, not {value!r}")
        read[key] = int(value)
    return read
