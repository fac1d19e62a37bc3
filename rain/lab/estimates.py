"""The estimates of durations and sizes that a scheduler gets before a run.

* exact: the true values, as if this graph had been measured before;
* user: the expectations of the user, as given in the graph;
* learned: the means over all tasks of the same name, as a server knows them after such tasks;
* mean: the mean of all tasks and of all objects;
* none: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from attrs import frozen

from rain.lab.workload import Workload


class Estimates(StrEnum):
    """The kind of estimates."""

    EXACT = "exact"
    USER = "user"
    LEARNED = "learned"
    MEAN = "mean"
    NONE = "none"


@frozen
class Expected:
    """One entry per task and per object; 0 means unknown."""

    durations: list[float]
    sizes: list[int]


def expect(workload: Workload, how: Estimates) -> Expected:
    """The estimates for a graph."""
    tasks, objects = workload.tasks, workload.objects
    match how:
        case Estimates.EXACT:
            return Expected([task.duration for task in tasks], [found.size for found in objects])
        case Estimates.USER:
            durations = [task.expected or 0.0 for task in tasks]
            return Expected(durations, [found.expected or 0 for found in objects])
        case Estimates.LEARNED:
            return _learned(workload)
        case Estimates.MEAN:
            seconds = _mean(task.duration for task in tasks)
            size = round(_mean(found.size for found in objects))
            return Expected([seconds] * len(tasks), [size] * len(objects))
        case Estimates.NONE:
            return Expected([0.0] * len(tasks), [0] * len(objects))


def _learned(workload: Workload) -> Expected:
    tasks, objects = workload.tasks, workload.objects
    by_name: dict[str, list[float]] = {}
    by_output: dict[tuple[str, int], list[float]] = {}
    for task in tasks:
        by_name.setdefault(task.name, []).append(task.duration)
        for position, made in enumerate(task.outputs):
            by_output.setdefault((task.name, position), []).append(objects[made].size)
    seconds = {name: _mean(durations) for name, durations in by_name.items()}
    bytes_of = {output: round(_mean(sizes)) for output, sizes in by_output.items()}
    sizes = [data_object.size for data_object in objects]  # those from outside are known
    for task in tasks:
        for position, made in enumerate(task.outputs):
            sizes[made] = bytes_of[task.name, position]
    return Expected([seconds[task.name] for task in tasks], sizes)


def _mean(numbers: Iterable[float]) -> float:
    found = list(numbers)
    return sum(found) / len(found) if found else 0.0
