"""Scientific workflows that the package wfcommons generates from recorded runs.

The package is optional and is used only as a generator; none of its code is copied.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from rain.lab.workload import LabError, Workload

NAMES = (
    "blast",
    "bwa",
    "cycles",
    "epigenomics",
    "genome",
    "montage",
    "seismology",
    "soykb",
    "srasearch",
)


def _wfcommons(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise LabError(
            f"this graph needs the package wfcommons ({error}); install it with"
            " pip install wfcommons"
        ) from None


def recipe(name: str, seed: int, tasks: int = 200) -> Workload:
    """Generates a workflow of about `tasks` tasks with wfcommons."""
    recipes = _wfcommons("wfcommons.wfchef.recipes")
    generator = _wfcommons("wfcommons").WorkflowGenerator
    kind = getattr(recipes, f"{name.capitalize()}Recipe", None)
    if kind is None:
        raise LabError(f"this version of wfcommons has no recipe for {name!r}")
    before = random.getstate(), np.random.get_state()
    random.seed(seed)  # wfcommons uses the global generators
    np.random.seed(seed)
    try:
        flow = generator(kind.from_num_tasks(tasks)).build_workflow()
    except ValueError as error:
        raise LabError(f"wfcommons cannot make {name} of {tasks} tasks: {error}") from None
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
    return read_flow(name, flow)


def read_flow(name: str, flow: Any) -> Workload:
    """Converts a generated workflow to a workload.

    Files that no task writes are left out: they are in a shared file system.
    """
    workload = Workload(name)
    made: dict[str, int] = {}
    found = sorted(flow.tasks.items())
    for key, task in found:
        workload.ids.append(key)
        number = workload.add_task(task.category or key, float(task.runtime))
        for file in task.output_files:
            if file.file_id not in made:
                made[file.file_id] = workload.add_object(file.size, number, name=file.file_id)
    for number, (_, task) in enumerate(found):
        for file in task.input_files:
            position = made.get(file.file_id)
            if position is not None and workload.objects[position].producer != number:
                workload.tasks[number].inputs.append(position)
    return workload


RECIPES: dict[str, Callable[..., Workload]] = {name: partial(recipe, name) for name in NAMES}
