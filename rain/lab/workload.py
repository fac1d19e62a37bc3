"""The input of the lab: tasks with durations, data objects with sizes, and a cluster.

Tasks and objects refer to each other by their index in the lists, so that a graph of a million
tasks stays small. `estimates.py` decides what a scheduler knows of durations and sizes.
"""

from __future__ import annotations

from attrs import Factory, define, frozen

from rain.base.errors import RainError
from rain.base.resources import ONE_CPU, Resources

MIB = 1024 * 1024


class LabError(RainError):
    """The input of the lab is wrong; the text says what, where and what to do."""


@define(eq=False)
class LabObject:
    """A data object with its real and its expected size in bytes."""

    name: str
    size: int
    expected: int | None = None  # None if not given
    producer: int | None = None  # the task that makes it; None for an object from outside
    kept: bool = False  # stays until the end; objects without readers always do


@define(eq=False)
class LabTask:
    """A task: its duration, resources, inputs and outputs."""

    name: str  # tasks with the same name do the same kind of work
    duration: float
    expected: float | None = None
    resources: Resources = ONE_CPU
    inputs: list[int] = Factory(list)
    outputs: list[int] = Factory(list)
    batch: int = 0


@frozen
class Batch:
    """One submit of the client, and when it happens."""

    delay: float = 0.0  # seconds after the previous batch and after the tasks in `after`
    after: tuple[int, ...] = ()  # tasks that must have finished first: the client looks at results


@define(eq=False)
class Workload:
    """A graph of tasks, split into the batches that a client submits."""

    name: str
    tasks: list[LabTask] = Factory(list)
    objects: list[LabObject] = Factory(list)
    batches: list[Batch] = Factory(lambda: [Batch()])
    ids: list[str] = Factory(list)  # of the tasks in a file; empty if the tasks are only numbered

    def add_task(
        self,
        name: str,
        duration: float,
        *,
        inputs: tuple[int, ...] | list[int] = (),
        expected: float | None = None,
        resources: Resources = ONE_CPU,
        batch: int = 0,
    ) -> int:
        """Adds a task; returns its number."""
        task = LabTask(name, duration, expected, resources, list(inputs), [], batch)
        self.tasks.append(task)
        return len(self.tasks) - 1

    def add_object(
        self,
        size: float,
        producer: int | None = None,
        *,
        expected: float | None = None,
        name: str = "",
        kept: bool = False,
    ) -> int:
        """Adds an object, rounded to whole bytes; returns its number."""
        number = len(self.objects)
        told = None if expected is None else round(expected)
        self.objects.append(LabObject(name or f"o{number}", round(size), told, producer, kept))
        if producer is not None:
            self.tasks[producer].outputs.append(number)
        return number

    def readers(self) -> list[list[int]]:
        """For each object the tasks that read it, each task once."""
        found: list[list[int]] = [[] for _ in self.objects]
        for number, task in enumerate(self.tasks):
            for data_object in dict.fromkeys(task.inputs):
                found[data_object].append(number)
        return found

    def id_of(self, task: int) -> str:
        """The readable id of a task."""
        return self.ids[task] if self.ids else str(task)


@frozen
class Cluster:
    """The governors and the speed of the network between them."""

    name: str
    governors: tuple[Resources, ...]
    bandwidth: float = 1024.0 * MIB  # bytes per second, of each governor's upload and download
    latency: float = 0.0005  # seconds that each message takes
    downloads: int = 8  # objects that a governor fetches at once, at most

    @property
    def cpus(self) -> int:
        """The number of cpus of all governors."""
        return sum(governor.cpus for governor in self.governors)


@frozen
class Overheads:
    """The overheads of the system besides tasks and network, in seconds."""

    task: float = 0.0  # of each task, while it holds its resources
    turn: float = 0.0  # of each turn of the server; later messages wait for the next turn
    news: float = 0.0  # of the scheduler, for each piece of news
    start: float = 0.0  # of the executors of a governor, when its first task arrives


NO_OVERHEADS = Overheads()
