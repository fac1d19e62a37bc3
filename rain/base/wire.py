"""The values that travel between client, server and governor, before and after encoding.

They are columns: parallel lists instead of lists of records, because a message carries up to tens
of thousands of tasks, and a list of numbers costs a twentieth of a list of structures to encode
and to read. Where a submission is made its numbers are lists; where it was received they are arrays
(`array.array`), because a million tasks may wait there to be read. `check()` of each value says in
one line what is wrong with what a peer sent; the border calls it before anybody reads the columns.
Nobody changes a value after it was handed over.
"""

from collections.abc import MutableSequence, Sequence, Sized

from attrs import Factory, define, field, frozen

from rain.base.errors import ProtocolError
from rain.base.failures import OnFailure
from rain.base.ids import NO_SESSION, KindId, ObjectId, SessionId, TaskId, session_of
from rain.base.kinds import DataType, ObjectKind, TaskKind
from rain.base.runs import RunCause, RunReport
from rain.base.states import ObjectState, TaskState

CLIENT_VERSION = 19
GOVERNOR_VERSION = 20

INLINE_LIMIT = 16 * 1024
"""Data objects up to this many bytes travel inside the messages that mention them."""

SERVER = "server"
"""The source of a placed object that the server itself holds."""


def _uneven(what: str, *columns: Sized) -> ProtocolError:
    lengths = sorted({len(column) for column in columns})
    return ProtocolError(f"{what}: the columns have different lengths {lengths}")


def outputs_of_nobody(what: str) -> ProtocolError:
    """The kinds of tasks say how many outputs are whose; without tasks there is nobody's."""
    return ProtocolError(f"{what}: there are outputs, but no task")


def check_counts(what: str, counts: Sequence[int], entries: Sized) -> None:
    """How many entries each row has must be what there is."""
    if sum(counts) != len(entries):
        raise ProtocolError(f"{what} do not add up to how many there are")
    if counts and min(counts) < 0:
        raise ProtocolError(f"{what} are below zero")


@define
class TaskColumns:
    """New tasks of a submission. Inputs are flat; outputs are flat, counted by the task's kind."""

    ids: MutableSequence[TaskId] = field(factory=list, eq=list)
    kinds: MutableSequence[KindId] = field(factory=list, eq=list)
    configs: list[bytes] = Factory(list)
    input_counts: MutableSequence[int] = field(factory=list, eq=list)
    inputs: MutableSequence[ObjectId] = field(factory=list, eq=list)
    outputs: MutableSequence[ObjectId] = field(factory=list, eq=list)

    def check(self) -> None:
        ids, kinds, configs, counts = self.ids, self.kinds, self.configs, self.input_counts
        if not len(ids) == len(kinds) == len(configs) == len(counts):
            raise _uneven("submitted tasks", ids, kinds, configs, counts)
        check_counts("submitted tasks: the input counts", self.input_counts, self.inputs)
        if self.outputs and not ids:
            raise outputs_of_nobody("submitted tasks")


@define
class ConstantColumns:
    """New data objects whose bytes come from the client.

    The server adds the sizes: an entry of `data` that is shorter was uploaded ahead of this.
    """

    ids: MutableSequence[ObjectId] = field(factory=list, eq=list)
    kinds: MutableSequence[KindId] = field(factory=list, eq=list)
    data: list[bytes] = Factory(list)
    sizes: list[int] = Factory(list)

    def check(self) -> None:
        if not len(self.ids) == len(self.kinds) == len(self.data):
            raise _uneven("submitted constants", self.ids, self.kinds, self.data)
        if self.sizes and len(self.sizes) != len(self.ids):
            raise _uneven("submitted constants", self.ids, self.sizes)

    def lengths(self) -> list[int]:
        """How many bytes each has, wherever these are."""
        return self.sizes or [len(data) for data in self.data]


@define
class ContentColumns:
    """What is inside of new tasks and constants, where there is anything: futures, by objects."""

    holders: MutableSequence[int] = field(factory=list, eq=list)  # tasks and constants
    counts: MutableSequence[int] = field(factory=list, eq=list)
    objects: MutableSequence[ObjectId] = field(factory=list, eq=list)  # flat: `counts`

    def check(self) -> None:
        if len(self.holders) != len(self.counts):
            raise _uneven("contents", self.holders, self.counts)
        check_counts("contents: the counts", self.counts, self.objects)


@define
class KeyColumns:
    """What makes new tasks and constants of a durable session the same as those of another run.

    `objects` are those whose own keys belong to the key: what the arguments of a task stand for.
    """

    holders: MutableSequence[int] = field(factory=list, eq=list)  # tasks and constants
    keys: list[bytes] = Factory(list)
    counts: MutableSequence[int] = field(factory=list, eq=list)
    objects: MutableSequence[ObjectId] = field(factory=list, eq=list)  # flat: `counts`

    def check(self) -> None:
        if not len(self.holders) == len(self.keys) == len(self.counts):
            raise _uneven("keys", self.holders, self.keys, self.counts)
        check_counts("keys: the counts", self.counts, self.objects)


@define
class DigestColumns:
    """What is compared of new constants whose bytes go ahead, where a task has submitted them."""

    ids: MutableSequence[ObjectId] = field(factory=list, eq=list)
    digests: list[bytes] = Factory(list)

    def check(self) -> None:
        if len(self.ids) != len(self.digests):
            raise _uneven("digests", self.ids, self.digests)


@define
class Submission:
    """What one `submit` of a client adds to its session, whole or not at all."""

    session: SessionId
    task_kinds: list[TaskKind] = Factory(list)
    object_kinds: list[ObjectKind] = Factory(list)
    tasks: TaskColumns = Factory(TaskColumns)
    constants: ConstantColumns = Factory(ConstantColumns)
    kept: MutableSequence[ObjectId] = field(factory=list, eq=list)
    fails_alone: bool = False  # what fails of it does not end its session, whatever that's rule is
    contents: ContentColumns = Factory(ContentColumns)
    keys: KeyColumns = Factory(KeyColumns)
    digests: DigestColumns = Factory(DigestColumns)

    def check(self) -> None:
        self.tasks.check()
        self.constants.check()
        self.contents.check()
        self.keys.check()
        self.digests.check()


@define
class PlacedObjects:
    """Objects that a governor shall hold, and where each comes from.

    `sources` holds a governor (`rain.base.address.Source`), or `SERVER`; with "" the bytes are in
    `data`.
    """

    ids: list[ObjectId] = Factory(list)
    kinds: list[KindId] = Factory(list)
    content_types: list[str] = Factory(list)  # as found when it was made; "" says nothing
    sizes: list[int] = Factory(list)
    sources: list[str] = Factory(list)
    data: list[bytes] = Factory(list)

    def check(self) -> None:
        ids, kinds, sizes, data = self.ids, self.kinds, self.sizes, self.data
        types, sources = self.content_types, self.sources
        if not len(ids) == len(kinds) == len(types) == len(sizes) == len(sources) == len(data):
            raise _uneven("placed objects", ids, kinds, types, sizes, sources, data)


@define
class LentObjects:
    """Objects that come with the tasks that read them, and go when these have ended."""

    ids: list[ObjectId] = Factory(list)
    kinds: list[KindId] = Factory(list)
    content_types: list[str] = Factory(list)  # as found when it was made; "" says nothing
    data: list[bytes] = Factory(list)

    def check(self) -> None:
        ids, kinds, types, data = self.ids, self.kinds, self.content_types, self.data
        if not len(ids) == len(kinds) == len(types) == len(data):
            raise _uneven("lent objects", ids, kinds, types, data)


@define
class AssignedTasks:
    """Tasks that a governor shall run, in the order in which it should prefer them.

    `priorities` are larger for what should run first.
    """

    ids: list[TaskId] = Factory(list)
    runs: list[int] = Factory(list)
    kinds: list[KindId] = Factory(list)
    priorities: list[int] = Factory(list)
    configs: list[bytes] = Factory(list)
    input_counts: list[int] = Factory(list)
    inputs: list[ObjectId] = Factory(list)
    outputs: list[ObjectId] = Factory(list)

    def check(self) -> None:
        ids, tries, kinds, ranks = self.ids, self.runs, self.kinds, self.priorities
        configs, counts = self.configs, self.input_counts
        if not len(ids) == len(tries) == len(kinds) == len(ranks) == len(configs) == len(counts):
            raise _uneven("assigned tasks", ids, tries, kinds, ranks, configs, counts)
        check_counts("assigned tasks: the input counts", self.input_counts, self.inputs)
        if self.outputs and not ids:
            raise outputs_of_nobody("assigned tasks")


OWN_GRACE = -1.0
"""Seconds of a cancelled run to clean up: as many as its governor gives."""

LONGEST_GRACE = 86_400.0
"""More seconds are never given."""


def check_grace(grace: float) -> None:
    """ProtocolError for what is no number of seconds to clean up."""
    if not (0 <= grace <= LONGEST_GRACE or grace == OWN_GRACE):
        raise ProtocolError(f"{grace} is no number of seconds to clean up")


@define
class CancelledRuns:
    """Runs that nobody wants any more. A governor tells of each when it has ended."""

    ids: list[TaskId] = Factory(list)
    runs: list[int] = Factory(list)
    graces: list[float] = Factory(list)  # seconds until it is killed, or `OWN_GRACE`

    def check(self) -> None:
        if not len(self.ids) == len(self.runs) == len(self.graces):
            raise _uneven("cancelled tasks", self.ids, self.runs, self.graces)


@define
class Orders:
    """All that the server tells one governor at the end of one turn; applied from top to bottom."""

    forget_sessions: list[SessionId] = Factory(list)  # stop and drop all of theirs, kinds too
    stop_ids: list[TaskId] = Factory(list)
    stop_runs: list[int] = Factory(list)
    cancelled: CancelledRuns = Factory(CancelledRuns)
    drops: list[ObjectId] = Factory(list)  # these copies are not wanted here any more
    task_kinds: list[TaskKind] = Factory(list)  # told before their first use
    object_kinds: list[ObjectKind] = Factory(list)
    objects: PlacedObjects = Factory(PlacedObjects)
    lent: LentObjects = Factory(LentObjects)
    tasks: AssignedTasks = Factory(AssignedTasks)
    number: int = 0  # counts the orders of one governor from 1; 0 of a server that does not return

    def check(self) -> None:
        if len(self.stop_ids) != len(self.stop_runs):
            raise _uneven("stopped tasks", self.stop_ids, self.stop_runs)
        self.cancelled.check()
        self.objects.check()
        self.lent.check()
        self.tasks.check()


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

    def check(self) -> None:
        ids, runs, counts = self.ids, self.runs, self.output_counts
        if self.starts and len(self.starts) != len(ids):
            raise _uneven("finished tasks", ids, self.starts)
        if not len(ids) == len(runs) == len(self.durations) == len(counts):
            raise _uneven("finished tasks", ids, runs, self.durations, counts)
        if len(self.sizes) != len(self.data):
            raise _uneven("outputs of finished tasks", self.sizes, self.data)
        check_counts("finished tasks: the output counts", self.output_counts, self.sizes)


@frozen
class TaskFailure:
    """Why a task failed: the text for people, and the lines that the task left for debugging.

    Or that it has not failed, and others make its outputs.
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
class PrintedLines:
    """Whole lines that a task has printed, for who watches it."""

    task: TaskId
    name: str = ""  # of the task
    errors: bool = False  # on stderr
    text: str = ""
    left_out: int = 0  # bytes before the text that are not told
    governor: str = ""  # its address; the server knows it


@frozen
class Watch:
    """Whose lines are told: those of all tasks of these sessions, and those of these tasks.

    What tasks of these sessions have submitted belongs to them, however deep it is.
    """

    sessions: frozenset[SessionId] = frozenset()
    tasks: frozenset[TaskId] = frozenset()

    def has(self, task: TaskId, root: SessionId = NO_SESSION) -> bool:
        """Whether it is for this task, which may be inside of a task of the session `root`."""
        return session_of(task) in self.sessions or root in self.sessions or task in self.tasks


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

    def check(self) -> None:
        if not len(self.interfaces) == len(self.received) == len(self.sent):
            raise _uneven("monitoring", self.interfaces, self.received, self.sent)
        if max((*self.cpu_usage, self.mem_usage)) > 100:
            raise ProtocolError("monitoring: something is busy for more than 100 percent")


@define
class Update:
    """All that one governor has to tell since its last update; empty ones are heartbeats."""

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

    def check(self) -> None:
        if len(self.started_ids) != len(self.started_runs):
            raise _uneven("started tasks", self.started_ids, self.started_runs)
        if self.started_times and len(self.started_times) != len(self.started_ids):
            raise _uneven("started tasks", self.started_ids, self.started_times)
        if len(self.blocked_ids) != len(self.blocked_runs):
            raise _uneven("blocked tasks", self.blocked_ids, self.blocked_runs)
        if len(self.resumed_ids) != len(self.resumed_runs):
            raise _uneven("resumed tasks", self.resumed_ids, self.resumed_runs)
        if len(self.ended_ids) != len(self.ended_runs):
            raise _uneven("ended tasks", self.ended_ids, self.ended_runs)
        self.finished.check()
        for sample in self.monitoring:
            sample.check()


@define
class Delivery:
    """Finished data objects for a client, with their bytes where these are small."""

    ids: list[ObjectId] = Factory(list)
    sizes: list[int] = Factory(list)
    content_types: list[str] = Factory(list)
    data: list[bytes] = Factory(list)  # inline when as long as the size

    def check(self) -> None:
        ids, sizes, types, data = self.ids, self.sizes, self.content_types, self.data
        if not len(ids) == len(sizes) == len(types) == len(data):
            raise _uneven("delivery", ids, sizes, types, data)


@define
class WaitAnswer:
    """Answers a wait: what is finished, and small kept results that save their fetch."""

    tasks: list[TaskId] = Factory(list)
    objects: list[ObjectId] = Factory(list)
    delivery: Delivery = Factory(Delivery)
    # Those of the tasks and objects that have failed; of a whole session, the first one that did.
    failed: list[int] = Factory(list)
    cancelled: list[int] = Factory(list)  # those of the failed ones that were cancelled


@frozen
class TaskReport:
    """State and info of one task, as `update` shows it."""

    id: TaskId
    state: TaskState
    error: str = ""
    debug: str = ""
    user: str = ""
    runs: tuple[RunReport, ...] = ()  # so far, as far as they are remembered
    logs: str = ""  # what it has printed, if that was asked for
    cache: str = ""  # whether its results came from the cache, or why it had to run


@frozen
class ObjectReport:
    """State and info of one data object, as `update` and `fetch` show it."""

    id: ObjectId
    state: ObjectState
    size: int = 0
    content_type: str = ""
    user: str = ""
    label: str = ""
    declared_type: str = ""  # of its content
    data_type: DataType = DataType.BLOB


@frozen
class JoinedSession:
    """What one who joins the session of another client gets: `SHARED_RANGE` numbers of his own."""

    session: SessionId
    name: str
    on_failure: OnFailure
    first: int  # of the numbers


@frozen
class Overview:
    """What is there and what was done, in numbers, of one session or of all."""

    governors: int = 0
    cpus: int = 0
    tasks: int = 0
    running: int = 0
    finished: int = 0  # those that have failed among them
    http: str = ""  # where the server serves its dashboard

    @property
    def waiting(self) -> int:
        """Tasks that have not started."""
        return self.tasks - self.running - self.finished


@frozen
class DurableReport:
    """A durable session in numbers."""

    name: str
    since: float  # seconds since 1970
    clients: int  # that have it open
    tasks: int
    finished: int  # of these
    failed: int  # and as many have failed or were cancelled
    bytes: int  # of all results


@frozen
class DurableTask:
    """A task of a durable session."""

    id: TaskId
    name: str
    objects: tuple[ObjectId, ...]  # what it makes


@frozen
class DurableReports:
    """All durable sessions in numbers."""

    reports: tuple[DurableReport, ...]


@frozen
class TasksByName:
    """Some tasks of a durable session, and how many it has."""

    tasks: tuple[DurableTask, ...]
    total: int


@frozen
class Fetched:
    """Answers a fetch: what the object is, and its bytes when the server has them at hand.

    Otherwise `holder` is the governor that has them (`rain.base.address.Source`), or "" for the
    server itself. A client that has read a large object holds it as a view.
    """

    report: ObjectReport
    data: bytes | memoryview | None = None
    holder: str = ""


@frozen
class GovernorReport:
    """One governor, as `get_server_info` shows it."""

    address: str
    tasks: tuple[TaskId, ...]
    objects: tuple[ObjectId, ...]
    objects_to_delete: tuple[ObjectId, ...]
    resources: tuple[tuple[str, int], ...]
