"""Lower bounds of the makespan: the longest chain of tasks, and the work divided by all cpus.

Both ignore the network, so they hold for any bandwidth.
"""

from __future__ import annotations

from attrs import frozen

from rain.lab.workload import Cluster, LabError, Workload


@frozen
class Bounds:
    """Lower bounds in seconds."""

    critical_path: float
    work: float  # of all tasks by their cpus, divided by all cpus

    @property
    def best(self) -> float:
        """The greater bound: no run can be shorter."""
        return max(self.critical_path, self.work)


def bounds(workload: Workload, cluster: Cluster) -> Bounds:
    """The bounds of a graph on a cluster."""
    used = sum(task.duration * task.resources.cpus for task in workload.tasks)
    return Bounds(critical_path(workload), used / cluster.cpus if cluster.cpus else 0.0)


def critical_path(workload: Workload) -> float:
    """The longest chain: even with unlimited cpus, each task waits for the one before."""
    ends: list[float] = [0.0] * len(workload.tasks)
    for number in inputs_first(workload):
        task = workload.tasks[number]
        ready = 0.0
        for data_object in task.inputs:
            producer = workload.objects[data_object].producer
            if producer is not None:
                ready = max(ready, ends[producer])
        ends[number] = ready + task.duration
    return max(ends, default=0.0)


def inputs_first(workload: Workload) -> list[int]:
    """Sorts the tasks topologically; refuses cycles."""
    readers = workload.readers()
    missing: list[int] = []
    for task in workload.tasks:
        inputs = dict.fromkeys(task.inputs)
        missing.append(sum(workload.objects[i].producer is not None for i in inputs))
    order = [number for number, count in enumerate(missing) if not count]
    for number in order:  # grows during the loop
        for made in workload.tasks[number].outputs:
            for reader in readers[made]:
                missing[reader] -= 1
                if not missing[reader]:
                    order.append(reader)
    if len(order) < len(workload.tasks):
        stuck = next(number for number, count in enumerate(missing) if count)
        raise LabError(
            f"the graph {workload.name!r} has a cycle: the task {workload.id_of(stuck)!r}"
            " would wait for itself"
        )
    return order
