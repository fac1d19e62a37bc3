"""What is run in the lab: tasks with their durations, data objects with their sizes, and a cluster.

Tasks and objects name each other by their position in the lists, so that a graph of a million tasks
stays small. What a scheduler is told of durations and sizes beforehand is another matter
(`estimates.py`).
"""

from __future__ import annotations

from attrs import Factory, define, frozen

from rain.base.errors import RainError
from rain.base.resources import ONE_CPU, Resources

MIB = 1024 * 1024


class LabError(RainError):
    """Something that the lab was given makes no sense; says what, where and what to do."""


@define(eq=False)
class LabObject:
    """A data object: how many bytes it has, and how many somebody might expect."""

    name: str
    size: int
    expected: int | None = None  # None when nobody has said
    producer: int | None = None  # the task that makes it; None for what comes from outside
    kept: bool = False  # stays until the end; what no task reads does so anyway


@define(eq=False)
class LabTask:
    """A task: how long it runs once it has started, what it needs, reads and makes."""

    name: str  # tasks of one name do the same kind of work
    duration: float
    expected: float | None = None
    resources: Resources = ONE_CPU
    inputs: list[int] = Factory(list)
    outputs: list[int] = Factory(list)
    batch: int = 0


@frozen
class Batch:
    """One submit of the client: when it comes."""

    delay: float = 0.0  # seconds after the one before, and after the tasks that it waits for
    after: tuple[int, ...] = ()  # tasks that must be finished first: the client looks at results


@define(eq=False)
class Workload:
    """A graph of tasks, in the batches in which a client submits it."""

    name: str
    tasks: list[LabTask] = Factory(list)
    objects: list[LabObject] = Factory(list)
    batches: list[Batch] = Factory(lambda: [Batch()])
    ids: list[str] = Factory(list)  # of the tasks, as a file has them; empty for their numbers

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
        """One more task; its number."""
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
        """One more object, of whole bytes; its number."""
        number = len(self.objects)
        told = None if expected is None else round(expected)
        self.objects.append(LabObject(name or f"o{number}", round(size), told, producer, kept))
        if producer is not None:
            self.tasks[producer].outputs.append(number)
        return number

    def readers(self) -> list[list[int]]:
        """The tasks that read each object, each task once."""
        found: list[list[int]] = [[] for _ in self.objects]
        for number, task in enumerate(self.tasks):
            for data_object in dict.fromkeys(task.inputs):
                found[data_object].append(number)
        return found

    def id_of(self, task: int) -> str:
        """How people know a task."""
        return self.ids[task] if self.ids else str(task)


@frozen
class Cluster:
    """The governors, and how fast data goes between them."""

    name: str
    governors: tuple[Resources, ...]
    bandwidth: float = 1024.0 * MIB  # bytes per second, of each governor's upload and download
    latency: float = 0.0005  # seconds that every message is under way
    downloads: int = 8  # objects that a governor fetches at once, at most

    @property
    def cpus(self) -> int:
        """How many cpus all of them have."""
        return sum(governor.cpus for governor in self.governors)


@frozen
class Overheads:
    """What the system itself takes, besides the tasks and the network (seconds)."""

    task: float = 0.0  # of each task, with its resources in hand
    turn: float = 0.0  # of each turn of the server; what arrives meanwhile is the next batch
    news: float = 0.0  # of the scheduler, for each piece of news that it hears
    start: float = 0.0  # of the executors of a governor, when its first task comes


NO_OVERHEADS = Overheads()
