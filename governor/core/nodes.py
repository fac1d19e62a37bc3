"""The nodes of a governor's state: sessions, tasks, data objects, executors, and their relations.

Nodes compare by identity. The comments of the fields state their invariants, which `check`
verifies. A function that changes one side of a relation also changes the other side.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from math import inf

from attrs import Factory, define, field

from rain.base.caching import Key
from rain.base.environment import Environment
from rain.base.errors import InvariantError
from rain.base.ids import KindId, ObjectId, SessionId, TaskId, spell
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.resources import GPUS, MEMORY, Resources
from rain.governor.core.results import Content, Failed, PassedOn
from rain.governor.core.tables import (
    OBJECT_MOVES,
    TASK_MOVES,
    ObjectMove,
    ObjectRow,
    TaskMove,
    TaskRow,
)

UNKNOWN = inf
"""The expected duration of a task if no similar task has run here yet."""

UNSEEN = -1
"""The expected output of a kind's tasks, if none has finished here yet."""

Rank = tuple[int, int, int]
"""The order of ready tasks, smallest first: negated depth, negated priority, then arrival."""

LAST_RANK: Rank = (1 << 64, 1 << 64, 1 << 64)

_READY = TaskRow.READY


@define(eq=False)
class Meter:
    """The recent mean duration of tasks of one function (or, without a function, of one kind)."""

    mean: float = UNKNOWN  # seconds

    def add(self, duration: float) -> None:
        """Rises fast and falls slowly, because queueing behind a long task is the worse mistake."""
        mean = self.mean
        if mean == UNKNOWN:
            self.mean = duration
        elif duration > mean:
            self.mean = (mean + duration) / 2
        else:
            self.mean = mean + (duration - mean) / 8


@define(eq=False)
class ReadyGroup:
    """The ready tasks with equal needs: the same type of executor and the same resources.

    The memory in the needs may be a measured amount.
    """

    runner: str  # "" for tasks that run inside the governor
    resources: Resources
    environment: Environment | None = None  # of its executors
    kinds: int = 0  # how many kinds belong to it, and tasks that do not belong to the one of theirs
    count: int = 0  # ready tasks in line and heap, which may also hold stopped ones
    line: deque[Task] = Factory(deque)  # in the order of rank: most tasks arrive in this order
    heap: list[tuple[Rank, Task]] = Factory(list)  # tasks that rank before the end of the line
    leased: list[Executor] = Factory(list)  # executors that now work for this group
    gpus: int = field(init=False)  # gpus that each task needs
    memory: int = field(init=False)  # bytes that each task declares, or is expected to take

    def __attrs_post_init__(self) -> None:
        self.gpus = self.resources.amount(GPUS)
        self.memory = self.resources.amount(MEMORY)

    def push(self, task: Task) -> None:
        """The task has become ready."""
        self.count += 1
        if task.session.has_priorities:
            task.session.unordered = True
        if self.line and task.rank < self.line[-1].rank:
            heappush(self.heap, (task.rank, task))
        else:
            self.line.append(task)

    def sort(self) -> None:
        """Ranks of ready tasks have changed, or some have gone to another group."""
        ready = [task for task in self.entries() if task.row is _READY and task.group is self]
        self.line = deque(sorted(ready, key=lambda task: task.rank))
        self.heap.clear()

    def first(self) -> Task:
        """The next task to run; there must be one."""
        line, heap = self.line, self.heap
        while line and line[0].row is not _READY:
            line.popleft()
        if not heap:
            return line[0]
        while heap and heap[0][1].row is not _READY:
            heappop(heap)
        if not heap or (line and line[0].rank < heap[0][0]):
            return line[0]
        return heap[0][1]

    def rank(self) -> Rank:
        """The rank of the group among all groups: that of its first task."""
        return self.first().rank if self.count else LAST_RANK

    def pop(self) -> Task:
        """Removes and returns the next task; the caller must move it at once."""
        if not self.heap and self.line[0].row is _READY:  # the usual case
            self.count -= 1
            return self.line.popleft()
        task = self.first()
        self.count -= 1
        if self.line and self.line[0] is task:
            self.line.popleft()
        else:
            heappop(self.heap)
        return task

    def leave(self) -> None:
        """A ready task was stopped or has failed; its entry is skipped later."""
        self.count -= 1
        if not self.count:
            self.line.clear()
            self.heap.clear()

    def entries(self) -> list[Task]:
        """All entries of line and heap."""
        return [*self.line, *(task for _, task in self.heap)]


@define(eq=False)
class KnownKind:
    """The facts about a kind of tasks that this governor needs."""

    kind: TaskKind
    group: ReadyGroup
    outputs: tuple[ObjectKind, ...]
    calls_function: bool  # input 0 is a function; its calls take about the same time
    functions: int = 0  # the first inputs that are functions, which executors cache
    refusal: str = ""  # the reason why no task of this kind can run here
    cache: str = ""  # which folder may have the outputs of its tasks; "" for none
    meter: Meter = Factory(Meter)
    peak: int = 0  # about the most memory that such tasks have had here
    makes: int = UNSEEN  # about the most bytes of files that such a task makes


@define(eq=False)
class Session:
    """All data of the governor about one session; removed as a whole."""

    id: SessionId
    task_kinds: dict[KindId, KnownKind] = Factory(dict)
    object_kinds: dict[KindId, ObjectKind] = Factory(dict)
    tasks: dict[TaskId, Task] = Factory(dict)  # the live runs, at most one per task
    objects: dict[ObjectId, DataObject] = Factory(dict)
    # Outputs of failed tasks: the server may name them before it hears of the failure.
    unmade: dict[ObjectId, ObjectKind] = Factory(dict)
    has_priorities: bool = False  # whether tasks of it have other priorities than 0
    unordered: bool = False  # in such a session: a task has become ready


@define(eq=False, repr=False)
class DataObject:
    """One data object, or the place where one is expected."""

    id: ObjectId
    kind: ObjectKind
    session: Session
    row: ObjectRow
    wanted: bool = False  # the server counts on a copy here
    lent: bool = False  # it is here for the tasks that read it, until all these have ended
    consumers: int = 0  # how often live tasks name it as input
    content: Content | None = None  # not None while it is held or lingering
    size: int = 0
    content_type: str = ""  # as detected; "" if as declared
    user: str = ""
    source: str = ""  # where to fetch it from, while remote or being pulled
    fetch: int = 0  # number of the fetch, while being pulled
    far: int = 0  # number of its copy in the far store; 0 for none
    producer: Task | None = None  # the live run that makes it
    waiting: list[Task] | None = None  # tasks that wait for it, once for each time they name it
    meter: Meter | None = None  # of the calls of this function
    cached_by: list[Executor] | None = None  # executors that remember it

    def __repr__(self) -> str:
        return f"<DataObject {spell(self.id)} {self.row.name.lower()}>"

    def move(self, what: ObjectMove) -> None:
        """Makes a move of the table, or raises and changes nothing."""
        end = OBJECT_MOVES[what].get(self.row)
        if end is None:
            raise InvariantError(f"{self!r} cannot move by {what.value!r}")
        self.row = end


@define(eq=False, repr=False)
class Task:
    """One run of a task."""

    id: TaskId
    number: int  # counts the runs of the task, over all governors
    kind: KnownKind
    session: Session
    rank: Rank  # the last part counts all tasks of this governor, and breaks every tie
    config: bytes
    inputs: list[DataObject]
    output_ids: list[ObjectId]
    outputs: list[DataObject]
    meter: Meter
    group: ReadyGroup  # mostly that of its kind
    row: TaskRow = TaskRow.WAITING
    missing: int = 0  # inputs that are not here, counted as often as they are named
    executor: Executor | None = None  # while calling or running there
    run: int = 0  # names the run inside the governor, while it has one
    cost: float = 0.0  # the expected duration when it was called
    key: Key | None = None  # under which the cache shall keep what it makes
    reported: bool = False  # the server knows that it has started
    cancelled: bool = False  # the server waits for its end; else it was only stopped
    grace: float | None = None  # seconds to clean up, as the server said; None for the usual ones
    reported_blocked: bool = False  # the server thinks that it waits for other tasks
    peak: int = 0  # the most bytes of memory that it was seen with
    mapped: int = 0  # the most bytes of files that its executor was seen with, its code included
    verdict: Failed | None = None  # why it was evicted

    def __repr__(self) -> str:
        return f"<Task {spell(self.id)} run {self.number} {self.row.name.lower()}>"

    def input_of(self, object_id: ObjectId) -> DataObject | None:
        """The input that has this id."""
        return next((target for target in self.inputs if target.id == object_id), None)

    def passed_on(self, output: PassedOn) -> tuple[DataObject, Content]:
        """The input that it has passed on, and its content."""
        origin = self.input_of(output.object)
        if origin is None or origin.content is None:
            raise InvariantError(f"{self!r} passed on what is not here: {origin!r}")
        return origin, origin.content

    def move(self, what: TaskMove) -> None:
        """Makes a move of the table, or raises and changes nothing."""
        end = TASK_MOVES[what].get(self.row)
        if end is None:
            raise InvariantError(f"{self!r} cannot move by {what.value!r}")
        self.row = end


@define(eq=False, repr=False)
class Executor:
    """One executor process, as the pool sees it. Its state follows from the fields: starting (not
    `ready`), idle (no calls), busy (calls and a lease), recalling or dying.
    """

    id: int
    runner: str
    environment: Environment | None = None
    one_by_one: bool = False  # it gets its next call when it has answered the last one
    ready: bool = False
    idle_since: float = 0.0  # while it is idle
    recalling: bool = False  # its unstarted calls are being taken back; it gets no others meanwhile
    dying: bool = False  # it was killed, and its death is not reported yet
    group: ReadyGroup | None = None  # whose resources it holds; None exactly when it has no calls
    calls: deque[Task] = Factory(deque)  # in the order in which it works; cancelled ones stay
    answered: int = 0  # how many calls it has answered in its life
    # While its only call was interrupted: when it is killed. Else infinite.
    grace_ends: float = inf
    # Tasks that may follow its calls, because these make their inputs; checked when taken.
    followers: deque[Task] = Factory(deque)
    load: float = 0.0  # the expected seconds of its calls
    progress: float = 0.0  # when it last answered or got its lease
    is_replaced: bool = False  # it has had work, so that another one is started when it has ended
    overdue: bool = False  # the task that it runs lasts much longer than expected
    slow: bool = False  # it had begun none of its calls when they were taken back
    leased_in: int = 0  # the turn in which it got its lease
    blocked_depth: int = -1  # how deep the call is that waits for other tasks, -1 for none
    has_lent: bool = False  # a call of its lease has waited, so that too much may be taken now
    gpus: tuple[str, ...] = ()  # lent to it with its lease
    seen_gpus: tuple[str, ...] = ()  # the last that it had; its libraries may hold on to them
    known_kinds: set[KindId] = Factory(set)  # only asked, never iterated
    cached: dict[ObjectId, DataObject] = Factory(dict)  # objects that it remembers
    memory: int = 0  # bytes that it had of its own when last looked at

    def remember(self, target: DataObject) -> None:
        """The executor has the object from now on."""
        if target.id not in self.cached:
            self.cached[target.id] = target
            if target.cached_by is None:
                target.cached_by = []
            target.cached_by.append(self)

    def forget_all(self) -> None:
        """The executor is gone, and what it had with it."""
        for target in self.cached.values():
            if target.cached_by is not None:
                target.cached_by.remove(self)
                if not target.cached_by:
                    target.cached_by = None

    def __repr__(self) -> str:
        return f"<Executor {self.id} {self.runner}, {len(self.calls)} calls>"
