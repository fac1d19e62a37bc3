"""Reconstructs the graph, the cluster and the overheads of a real run.

Durations were measured by executors, and sizes are those of the real outputs. The rest is derived
from the server's times: the latency of messages, the overhead per task, the start time of
executors, and the bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median, quantiles

from attrs import frozen

from rain.base.ids import ObjectId, TaskId, spell
from rain.lab.recorded import RecordingReader, SeenTask
from rain.lab.workload import Batch, Cluster, LabError, Overheads, Workload
from rain.server.core.messages import TurnInput

SHORT = 0.01
"""Shorter tasks queue inside their executor, so their times tell nothing about a single task."""

FAST = 1e12
"""Bytes per second, if nothing was sent over the network."""


@frozen
class RecordedRun:
    """The data of a recorded run."""

    workload: Workload
    cluster: Cluster
    overheads: Overheads
    makespan: float  # measured seconds from the first submit to the last finished task
    transfers: int
    left_out: int  # number of unfinished tasks


def read_run(reader: RecordingReader, turns: Iterator[TurnInput], name: str) -> RecordedRun:
    """Follows a recording to its end and returns its data."""
    reader.follow(turns)
    done = {task: seen for task, seen in reader.tasks.items() if seen.finished}
    if not done:
        raise LabError(f"no task has finished in the recording {name}")
    latency = latency_of(done.values())
    cluster = Cluster(
        _spell(reader),
        tuple(reader.governors),
        reader.reactor.state.estimates.measured_bandwidth or FAST,
        latency,
    )
    return RecordedRun(
        _rebuild(reader, done, name, latency),
        cluster,
        Overheads(task=per_task_of(done.values()), start=start_of(done.values(), latency)),
        max(seen.finished for seen in done.values()) - reader.began,
        reader.pulled,
        len(reader.tasks) - len(done),
    )


def _spell(reader: RecordingReader) -> str:
    counts: dict[int, int] = {}
    for governor in reader.governors:
        counts[governor.cpus] = counts.get(governor.cpus, 0) + 1
    return "+".join(f"{count}x{cpus}" for cpus, count in counts.items())


def _rebuild(
    reader: RecordingReader, done: dict[TaskId, SeenTask], name: str, latency: float
) -> Workload:
    workload = Workload(name)
    objects: dict[ObjectId, int] = {}
    for made in reader.constants:
        objects[made] = workload.add_object(reader.sizes[made], name=spell(made))
    numbers: dict[TaskId, int] = {}
    for task_id, seen in done.items():
        kind = seen.kind
        numbers[task_id] = number = workload.add_task(
            kind.name or kind.task_type,
            seen.duration,
            expected=kind.duration_hint or None,
            resources=kind.resources,
            batch=seen.batch,
        )
        workload.ids.append(spell(task_id))
        for made in seen.outputs:
            size = reader.sizes[made]
            objects[made] = workload.add_object(
                size, number, name=spell(made), kept=made in reader.kept
            )
    for task_id, seen in done.items():
        # The inputs of a finished task were made, unless they were lost with a governor.
        found = [objects[made] for made in seen.inputs if made in objects]
        workload.tasks[numbers[task_id]].inputs = found
    workload.batches = [
        Batch(
            max(submit.delay - (2 * latency if submit.after else 0.0), 0.0),
            tuple(dict.fromkeys(numbers[task] for task in submit.after if task in numbers)),
        )
        for submit in reader.batches
    ]
    return workload


def latency_of(seen: Iterable[SeenTask]) -> float:
    """Half of the time from an order to the report of the start, for tasks that did not wait."""
    trips = [
        task.started - task.ordered
        for task in seen
        if task.started and task.at_once and task.free and not task.early
    ]
    return max(_lower_quarter(trips) / 2, 0.0)


def start_of(seen: Iterable[SeenTask], latency: float) -> float:
    """How much longer the first tasks of each governor waited: the start time of executors."""
    waits = [
        task.started - task.ordered for task in seen if task.started and task.at_once and task.early
    ]
    return max(median(waits) - 2 * latency, 0.0) if waits else 0.0


def per_task_of(seen: Iterable[SeenTask]) -> float:
    """The overhead of a task beyond its duration."""
    beyond = [
        task.finished - task.started - task.duration
        for task in seen
        if task.started and task.duration >= SHORT
    ]
    return max(median(beyond), 0.0) if beyond else 0.0


def _lower_quarter(numbers: list[float]) -> float:
    if len(numbers) < 2:
        return numbers[0] if numbers else 0.0
    return quantiles(numbers, n=4)[0]
