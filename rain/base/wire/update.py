"""An update: the report of one governor to the server about its tasks, its copies and its
machine.
"""

from attrs import Factory, define, frozen

from rain.base.errors import ProtocolError
from rain.base.ids import ObjectId, TaskId
from rain.base.runs import RunCause
from rain.base.transfers import Transfers
from rain.base.wire.columns import check_counts, uneven

MOST_SECONDS = 1e12
"""The longest duration, and the latest time: more would give no valid start time."""


@define
class FinishedTasks:
    """Tasks that succeeded. `sizes` and `data` have an entry per output, in the tasks' order.

    The counts say how many outputs are whose, for the server may have forgotten the task. An
    output whose `data` is as long as its size is inline; otherwise its data entry is empty.
    """

    ids: list[TaskId] = Factory(list)
    runs: list[int] = Factory(list)
    durations: list[float] = Factory(list)  # seconds
    output_counts: list[int] = Factory(list)
    sizes: list[int] = Factory(list)
    data: list[bytes] = Factory(list)
    starts: list[float] = Factory(list)  # on the governor's clock; none if it does not say so
    peaks: list[int] = Factory(list)  # the most bytes of memory of each; none if all are unknown

    def check(self) -> None:
        ids, runs, counts = self.ids, self.runs, self.output_counts
        if self.starts and len(self.starts) != len(ids):
            raise uneven("finished tasks", ids, self.starts)
        if self.peaks and len(self.peaks) != len(ids):
            raise uneven("finished tasks", ids, self.peaks)
        if not len(ids) == len(runs) == len(self.durations) == len(counts):
            raise uneven("finished tasks", ids, runs, self.durations, counts)
        if len(self.sizes) != len(self.data):
            raise uneven("outputs of finished tasks", self.sizes, self.data)
        check_counts("finished tasks: the output counts", self.output_counts, self.sizes)


@frozen
class TaskFailure:
    """Why a task failed: the text for people, and the lines that the task left for debugging.

    Or the report that it has ended well, and that other tasks make its outputs.
    """

    task: TaskId
    run: int  # its number
    message: str
    debug: str = ""
    cause: RunCause = RunCause.TASK
    exception: bytes = b""  # its pickle, for clients that use Python
    status: int | None = None  # exit code of what has ended; of a signal the negative number
    retryable: bool = True  # the kind of the task says that this is worth another try
    handed_on: tuple[ObjectId, ...] = ()  # it has ended well, and these are what it was to make
    peak: int = 0  # the most bytes of memory that it had; 0 if nobody has looked
    disk: int = 0  # if the cause is `disk`: the bytes that it needs on the disk of a governor


@frozen
class TaskNote:
    """What a task said about itself beyond its outputs (rare, so not a column).

    Or what the cache has said of it, and nothing else.
    """

    task: TaskId
    user: str = ""  # JSON
    debug: str = ""
    logs: str = ""  # what it has printed
    cache: str = ""  # whether its results came from the cache, or why it has to run


@frozen
class ObjectNote:
    """What was found out about an object when it was made (rare, so not a column)."""

    object: ObjectId
    content_type: str = ""
    user: str = ""  # JSON
    contents: tuple[ObjectId, ...] = ()  # the objects of the futures in its data


@frozen
class Monitoring:
    """How busy a governor's machine is, measured now and then."""

    cpu_usage: tuple[int, ...]  # percent, per core
    mem_usage: int  # percent
    interfaces: tuple[str, ...]  # of the network
    received: tuple[int, ...]  # bytes of each since the machine has started
    sent: tuple[int, ...]
    task_memory: int = 0  # bytes that its tasks have
    closed_ways: tuple[tuple[str, str], ...] = ()  # governors that it cannot connect to, and why
    memory_bytes: int = 0  # of data objects in shared memory,
    disk_bytes: int = 0  # and in files on the disk
    transfers: Transfers = Factory(Transfers)  # since the governor has started

    def check(self) -> None:
        if not len(self.interfaces) == len(self.received) == len(self.sent):
            raise uneven("monitoring", self.interfaces, self.received, self.sent)
        if max((*self.cpu_usage, self.mem_usage)) > 100:
            raise ProtocolError("monitoring: something is busy for more than 100 percent")


@define
class Update:
    """Everything that one governor reports since its last update; an empty one is a heartbeat."""

    started_ids: list[TaskId] = Factory(list)
    started_runs: list[int] = Factory(list)
    finished: FinishedTasks = Factory(FinishedTasks)
    failed: list[TaskFailure] = Factory(list)
    located: list[ObjectId] = Factory(list)  # ordered copies that have arrived
    unfetched: list[ObjectId] = Factory(list)  # ordered copies that their source did not give
    task_notes: list[TaskNote] = Factory(list)
    object_notes: list[ObjectNote] = Factory(list)
    monitoring: list[Monitoring] = Factory(list)
    blocked_ids: list[TaskId] = Factory(list)  # they wait for other tasks now
    blocked_runs: list[int] = Factory(list)
    resumed_ids: list[TaskId] = Factory(list)  # they were blocked before
    resumed_runs: list[int] = Factory(list)
    ended_ids: list[TaskId] = Factory(list)  # they were cancelled, and nobody works on them
    ended_runs: list[int] = Factory(list)
    started_times: list[float] = Factory(list)  # on the governor's clock; none if it does not say
    time: float = 0.0  # on the same clock, when it tells times; 0 if it tells none
    number: int = (
        0  # counts the news from 1; 0 of a sign of life, and where the server never returns
    )
    heard: int = 0  # the number of the last orders that were applied before this
    drains: bool = False  # it starts nothing any more, and has told of all that runs
    returned_ids: list[TaskId] = Factory(list)  # they were asked back, and have not begun here
    returned_runs: list[int] = Factory(list)
    holds_back: str = ""  # why tasks that it was told wait there, if people can mend that
    is_full: bool = False  # only others can make room on its disk, for these or those handed back

    def check(self) -> None:
        if len(self.started_ids) != len(self.started_runs):
            raise uneven("started tasks", self.started_ids, self.started_runs)
        if self.started_times and len(self.started_times) != len(self.started_ids):
            raise uneven("started tasks", self.started_ids, self.started_times)
        if len(self.blocked_ids) != len(self.blocked_runs):
            raise uneven("blocked tasks", self.blocked_ids, self.blocked_runs)
        if len(self.resumed_ids) != len(self.resumed_runs):
            raise uneven("resumed tasks", self.resumed_ids, self.resumed_runs)
        if len(self.ended_ids) != len(self.ended_runs):
            raise uneven("ended tasks", self.ended_ids, self.ended_runs)
        if len(self.returned_ids) != len(self.returned_runs):
            raise uneven("returned tasks", self.returned_ids, self.returned_runs)
        self.finished.check()
        for sample in self.monitoring:
            sample.check()
