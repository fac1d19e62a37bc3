"""The answers of the server to the requests of its clients."""

from attrs import Factory, define, frozen

from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, SessionId, TaskId
from rain.base.kinds import DataType
from rain.base.runs import RunReport
from rain.base.states import ObjectState, TaskState
from rain.base.wire.columns import uneven


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
            raise uneven("delivery", ids, sizes, types, data)


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
class TaskMemory:
    """The memory of a running task, in bytes.

    It is the memory of the whole process that runs the task, with all that this has started. A
    Python process keeps some memory of calls that it has run before.
    """

    now: int = 0  # private memory: heap, also where it is in swap
    peak: int = 0  # the most that a sample has shown so far
    mapped: int = 0  # how much of its inputs it maps from the store, where they exist once for all

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return self != UNKNOWN_MEMORY


UNKNOWN_MEMORY = TaskMemory()


@frozen
class RunningTask:
    """What a governor says about a task that runs there; nothing if it does not."""

    printed: str = ""  # so far
    memory: TaskMemory = UNKNOWN_MEMORY


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
    second_run: RunReport | None = None  # beside its last one, which is late
    memory: TaskMemory = UNKNOWN_MEMORY  # of a running one, if its output was asked for


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
    """The answer to a client that joins a session of another client: a range of `SHARED_RANGE`
    numbers.
    """

    session: SessionId
    name: str
    on_failure: OnFailure
    first: int  # of the numbers


@frozen
class HoldUp:
    """Why a task that could run does not, and what will happen to it."""

    why: str
    outlook: str

    def __str__(self) -> str:
        return f"{self.why}; {self.outlook}"


@frozen
class HoldUps:
    """Several of these, as columns."""

    reasons: tuple[str, ...] = ()
    outlooks: tuple[str, ...] = ()

    @property
    def each(self) -> list[HoldUp]:
        """One after the other."""
        return [*map(HoldUp, self.reasons, self.outlooks)]


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
    belongs_to: str = ""  # the user whose it is; "" is the owner of the cluster
    shared_with: tuple[str, ...] = ()  # other users who may open it; "*" is all of them


@frozen
class DurableTask:
    """A task of a durable session."""

    id: TaskId
    name: str
    objects: tuple[ObjectId, ...]  # what it makes


@frozen
class DurableReports:
    """All durable sessions in numbers."""

    sessions: tuple[DurableReport, ...]


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
class DataLink:
    """What a governor has sent to one host in files that may be compressed on their way."""

    host: str
    bytes: int  # of the files
    compressed: int  # of these: sent compressed
    sent: int  # on the link
    rate: int  # bytes per second that the link was found to take; 0 if not known


@frozen
class GovernorReport:
    """One governor, as `get_server_info` shows it."""

    address: str
    tasks: tuple[TaskId, ...]
    objects: tuple[ObjectId, ...]
    objects_to_delete: tuple[ObjectId, ...]
    resources: tuple[tuple[str, int], ...]
    memory: tuple[tuple[str, int], ...] = ()  # bytes by their use (rain.governor.core.account)
    running: tuple[tuple[str, int], ...] = ()  # bytes that running tasks have, by their names
    out_of_reach: tuple[tuple[str, str], ...] = ()  # governors that it cannot connect to, and why
    links: tuple[DataLink, ...] = ()  # those over which it has sent most
