"""Reads and writes graph files in the lab's JSON format.

An error in a file is reported in one line with its place, such as `tasks[3].inputs[0]`. The format
is described in docs/guide/lab.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Factory, define, frozen

from rain.base.resources import CPUS, ONE_CPU, Resources, checked_amount
from rain.lab.bounds import inputs_first
from rain.lab.places import PlacedValue
from rain.lab.workload import MIB, Batch, Cluster, LabTask, Workload

FORMAT = "rain-lab-1"

_GRAPH = {"format", "name", "tasks", "objects", "batches", "cluster"}
_TASK = {"id", "name", "duration", "expected", "cpus", "resources", "inputs", "outputs", "batch"}
_OBJECT = {"id", "size", "expected", "kept"}
_CLUSTER = {"name", "governors", "bandwidth", "latency", "downloads"}
_GOVERNORS = {"count", "cpus", "resources"}


@frozen
class GraphFile:
    """The content of a graph file."""

    workload: Workload
    cluster: Cluster | None  # None if the file has none


def read_graph(values: object, name: str) -> GraphFile:
    """Builds the graph of a parsed file; `name` is used if the file has no name."""
    place = PlacedValue("", values)
    top = place.table(_GRAPH)
    said = top.text("format")
    if said != FORMAT:
        raise top.at("format").wrong(f"this is {said!r}, not {FORMAT!r}")
    reading = _Reading(Workload(top.text("name", name)))
    for entry in top.items("objects", optional=True):
        reading.outside(entry)
    tasks = top.items("tasks")
    for entry in tasks:
        reading.task(entry)
    for number, entry in enumerate(tasks):
        reading.inputs(number, entry)
    reading.batches(top)
    inputs_first(reading.workload)
    given = top.at("cluster")
    return GraphFile(reading.workload, None if given.value is None else _cluster(given))


@define
class _Reading:
    """A workload that is being read, and its names so far."""

    workload: Workload
    _tasks: dict[str, int] = Factory(dict)
    _objects: dict[str, int] = Factory(dict)

    def outside(self, place: PlacedValue) -> None:
        """Reads an object that no task makes."""
        self._object(place, None)

    def _object(self, place: PlacedValue, producer: int | None) -> None:
        entry = place.table(_OBJECT)
        name = entry.text("id")
        if name in self._objects:
            raise entry.at("id").wrong(f"there is an object {name!r} already")
        expected = entry.number("expected", None)
        size = entry.number("size", None)
        if size is None:
            raise entry.at("size").wrong("a size in bytes is missing")
        self._objects[name] = self.workload.add_object(
            size, producer, expected=expected, name=name, kept=entry.flag("kept")
        )

    def task(self, place: PlacedValue) -> None:
        """Reads a task and its outputs; its inputs may come later in the file."""
        entry = place.table(_TASK)
        name = entry.text("id")
        if name in self._tasks:
            raise entry.at("id").wrong(f"there is a task {name!r} already")
        duration = entry.number("duration", None)
        if duration is None:
            raise entry.at("duration").wrong("a duration in seconds is missing")
        number = self.workload.add_task(
            entry.text("name", name),
            duration,
            expected=entry.number("expected", None),
            resources=_resources(entry),
            batch=entry.whole("batch", 0),
        )
        self._tasks[name] = number
        self.workload.ids.append(name)
        for output in entry.items("outputs", optional=True):
            self._object(output, number)

    def inputs(self, number: int, place: PlacedValue) -> None:
        """Reads the inputs of a task."""
        for entry in place.items("inputs", optional=True):
            name = entry.as_text()
            if name not in self._objects:
                raise entry.wrong(f"there is no object {name!r}")
            self.workload.tasks[number].inputs.append(self._objects[name])

    def batches(self, top: PlacedValue) -> None:
        """Reads the batches in which the tasks are submitted."""
        entries = top.items("batches", optional=True)
        if entries:
            self.workload.batches = [self._batch(entry) for entry in entries]
        count = len(self.workload.batches)
        for number, (task, entry) in enumerate(
            zip(self.workload.tasks, top.items("tasks"), strict=True)
        ):
            if task.batch >= count:
                raise entry.at("batch").wrong(f"there are only {count} batches, counted from 0")
            self._check_order(number, entry)

    def _batch(self, place: PlacedValue) -> Batch:
        entry = place.table({"delay", "after"})
        after: list[int] = []
        for one in entry.items("after", optional=True):
            name = one.as_text()
            if name not in self._tasks:
                raise one.wrong(f"there is no task {name!r}")
            after.append(self._tasks[name])
        return Batch(entry.number("delay", 0.0) or 0.0, tuple(after))

    def _check_order(self, number: int, place: PlacedValue) -> None:
        """Checks that no task reads an object of a later batch."""
        tasks = self.workload.tasks
        for position, made in enumerate(tasks[number].inputs):
            producer = self.workload.objects[made].producer
            if producer is not None and tasks[producer].batch > tasks[number].batch:
                raise place.at("inputs").one(position).wrong("it is made in a later batch")


def _resources(entry: PlacedValue) -> Resources:
    amounts = {CPUS: entry.whole("cpus", 1)}
    others = entry.at("resources")
    if others.value is not None:
        for name, amount in others.mapping().items():
            try:
                amounts[name] = checked_amount(name, amount)
            except ValueError as error:
                raise others.wrong(str(error)) from None
    found = Resources.of(amounts)
    return ONE_CPU if found == ONE_CPU else found


def _cluster(place: PlacedValue) -> Cluster:
    entry = place.table(_CLUSTER)
    governors: list[Resources] = []
    for one in entry.items("governors"):
        sort = one.table(_GOVERNORS)
        governors += [_resources(sort)] * sort.whole("count", 1)
    if not governors:
        raise entry.at("governors").wrong("a cluster has at least one governor")
    bandwidth = entry.number("bandwidth", 1024.0 * MIB)
    if not bandwidth:
        raise entry.at("bandwidth").wrong("it is more than 0 bytes per second")
    latency = entry.number("latency", 0.0005) or 0.0
    downloads = entry.whole("downloads", 8)
    if not 1 <= downloads <= 8:
        raise entry.at("downloads").wrong("it is from 1 to 8")
    name = entry.text("name", f"{len(governors)} governors")
    return Cluster(name, tuple(governors), bandwidth, latency, downloads)


# Writing.


def write_graph(workload: Workload, cluster: Cluster | None = None) -> dict[str, Any]:
    """Returns the values of a graph file."""
    objects = workload.objects
    values: dict[str, Any] = {"format": FORMAT, "name": workload.name}
    if cluster is not None:
        values["cluster"] = _write_cluster(cluster)
    outside = [i for i, made in enumerate(objects) if made.producer is None]
    if outside:
        values["objects"] = [_write_object(workload, i) for i in outside]
    if len(workload.batches) > 1:
        values["batches"] = [
            {"delay": batch.delay, "after": [workload.id_of(task) for task in batch.after]}
            for batch in workload.batches
        ]
    values["tasks"] = [
        _write_task(workload, number, task) for number, task in enumerate(workload.tasks)
    ]
    return values


def _write_task(workload: Workload, number: int, task: LabTask) -> dict[str, Any]:
    values: dict[str, Any] = {"id": workload.id_of(number), "name": task.name}
    values["duration"] = task.duration
    if task.expected is not None:
        values["expected"] = task.expected
    values |= _write_resources(task.resources)
    if task.inputs:
        values["inputs"] = [workload.objects[made].name for made in task.inputs]
    if task.outputs:
        values["outputs"] = [_write_object(workload, made) for made in task.outputs]
    if task.batch:
        values["batch"] = task.batch
    return values


def _write_object(workload: Workload, number: int) -> dict[str, Any]:
    found = workload.objects[number]
    values: dict[str, Any] = {"id": found.name, "size": found.size}
    if found.expected is not None:
        values["expected"] = found.expected
    if found.kept:
        values["kept"] = True
    return values


def _write_resources(resources: Resources) -> Mapping[str, Any]:
    values: dict[str, Any] = {}
    if resources.cpus != 1:
        values["cpus"] = resources.cpus
    if resources.others:
        values["resources"] = dict(resources.others)
    return values


def _write_cluster(cluster: Cluster) -> dict[str, Any]:
    sorts: list[dict[str, Any]] = []
    for governor in cluster.governors:
        sort = {"cpus": governor.cpus, **_write_resources(governor)}
        if sorts and {**sorts[-1], "count": 0} == {"count": 0, **sort}:
            sorts[-1]["count"] += 1
        else:
            sorts.append({"count": 1, **sort})
    return {
        "name": cluster.name,
        "governors": sorts,
        "bandwidth": cluster.bandwidth,
        "latency": cluster.latency,
        "downloads": cluster.downloads,
    }
