"""The nodes of a governor's state: sessions, tasks, data objects, executors, and what joins them.

Nodes compare by identity. The rules that relate their fields are said beside the fields here and
proven by `check`; whoever changes one side of a relation changes the other in the same function.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from attrs import Factory, define, field

from rain.base.errors import InvariantError
from rain.base.ids import KindId, ObjectId, SessionId, TaskId, spell
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.resources import GPUS, Resources
from rain.governor.messages import Content
from rain.governor.tables import (
    OBJECT_MOVES,
    TASK_MOVES,
    ObjectMove,
    ObjectRow,
    TaskMove,
    TaskRow,
)

UNKNOWN = float("inf")
"""The expected duration of a task when nothing like it has run here yet."""

Rank = tuple[int, int]
"""The order of ready tasks, smallest first: the negated priority, then the arrival."""

LAST_RANK: Rank = (1 << 64, 1 << 64)

_READY = TaskRow.READY


@define(eq=False)
class Meter:
    """How long tasks of one function (or, without a function, of one kind) have lasted lately."""

    mean: float = UNKNOWN  # seconds

    def add(self, duration: float) -> None:
        """Rises fast and falls slowly, because a queue behind a long task is the worse mistake."""
        mean = self.mean
        if mean == UNKNOWN:
            self.mean = duration
        elif duration > mean:
            self.mean = (mean + duration) / 2
        else:
            self.mean = mean + (duration - mean) / 8


@define(eq=False)
class Group:
    """The ready tasks that need the same: one type of executor and one amount of resources."""

    runner: str  # "" for tasks that run inside the governor
    resources: Resources
    kinds: int = 0  # how many known kinds of tasks belong to it
    count: int = 0  # the ready tasks in line and heap; others there were stopped meanwhile
    line: deque[Task] = Factory(deque)  # in their order: most come that way
    heap: list[tuple[int, int, Task]] = Factory(list)  # those that came before some of the line
    leased: list[Executor] = Factory(list)  # executors that work for this group now
    gpus: int = field(init=False)  # how many each task needs

    def __attrs_post_init__(self) -> None:
        self.gpus = self.resources.amount(GPUS)

    def push(self, task: Task) -> None:
        """The task has become ready."""
        self.count += 1
        if self.line:
            last = self.line[-1]
            priority = task.priority
            if priority > last.priority or (
                priority == last.priority and task.arrival < last.arrival
            ):
                heappush(self.heap, (-priority, task.arrival, task))
                return
        self.line.append(task)

    def first(self) -> Task:
        """The next task to run; there must be one."""
        line, heap = self.line, self.heap
        while line and line[0].row is not _READY:
            line.popleft()
        if not heap:
            return line[0]
        while heap and heap[0][2].row is not _READY:
            heappop(heap)
        if not heap or (line and (-line[0].priority, line[0].arrival) < heap[0][:2]):
            return line[0]
        return heap[0][2]

    def rank(self) -> Rank:
        """Where the group stands among the others."""
        if not self.count:
            return LAST_RANK
        task = self.first()
        return -task.priority, task.arrival

    def pop(self) -> Task:
        """Takes the next task out; the caller moves it on at once."""
        if not self.heap and self.line[0].row is _READY:  # as nearly always
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
        """A ready task was stopped or failed; its entry is skipped when it comes up."""
        self.count -= 1
        if not self.count:
            self.line.clear()
            self.heap.clear()

    def entries(self) -> list[Task]:
        """All of line and heap."""
        return [*self.line, *(task for _, _, task in self.heap)]


@define(eq=False)
class KnownKind:
    """A kind of tasks as this governor needs it."""

    kind: TaskKind
    group: Group
    outputs: tuple[ObjectKind, ...]
    calls_function: bool  # input 0 is a function, all calls of which last alike
    functions: int = 0  # so many of the first inputs are functions, which executors keep
    refusal: str = ""  # why no task of this kind can run here
    meter: Meter = Factory(Meter)


@define(eq=False)
class Session:
    """All that the governor knows of one session; forgotten as a whole."""

    id: SessionId
    task_kinds: dict[KindId, KnownKind] = Factory(dict)
    object_kinds: dict[KindId, ObjectKind] = Factory(dict)
    tasks: dict[TaskId, Task] = Factory(dict)  # the live runs, at most one per task
    objects: dict[ObjectId, DataObject] = Factory(dict)
    # What failed tasks should have made: the server may name it before it has heard of that.
    unmade: dict[ObjectId, ObjectKind] = Factory(dict)


@define(eq=False, repr=False)
class DataObject:
    """One data object, or the place where one is expected."""

    id: ObjectId
    kind: ObjectKind
    session: Session
    row: ObjectRow
    wanted: bool = False  # the server counts on a copy here
    lent: bool = False  # it is here for tasks that read it, until all that are here have ended
    consumers: int = 0  # how often live tasks name it as an input
    content: Content | None = None  # not None when it is held or lingering
    size: int = 0
    content_type: str = ""  # as found, "" for as declared
    user: str = ""
    source: str = ""  # where to fetch it, while remote or being pulled
    fetch: int = 0  # names the fetch, while being pulled
    producer: Task | None = None  # the live run that makes it
    waiting: list[Task] | None = None  # tasks that miss it, once for each time they name it
    meter: Meter | None = None  # of the calls of this function
    cached_by: list[Executor] | None = None  # executors that remember it

    def __repr__(self) -> str:
        return f"<DataObject {spell(self.id)} {self.row.name.lower()}>"

    def move(self, what: ObjectMove) -> None:
        """Goes along the table, or raises and stays."""
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
    priority: int
    arrival: int  # counts all tasks of this governor; breaks every tie
    config: bytes
    inputs: list[DataObject]
    output_ids: list[ObjectId]
    outputs: list[DataObject]
    meter: Meter
    row: TaskRow = TaskRow.WAITING
    missing: int = 0  # inputs that are not here, counted as often as they are named
    executor: Executor | None = None  # while calling or running there
    run: int = 0  # names the run inside the governor, while it has one
    cost: float = 0.0  # the expected duration when it was called
    told: bool = False  # the server knows that it has started

    def __repr__(self) -> str:
        return f"<Task {spell(self.id)} run {self.number} {self.row.name.lower()}>"

    def move(self, what: TaskMove) -> None:
        """Goes along the table, or raises and stays."""
        end = TASK_MOVES[what].get(self.row)
        if end is None:
            raise InvariantError(f"{self!r} cannot move by {what.value!r}")
        self.row = end


@define(eq=False, repr=False)
class Executor:
    """One executor process, as the pool sees it. Its row is told by the fields:

    starting (not `ready`), idle (no calls), busy (calls and a lease), recalling or dying.
    """

    id: int
    runner: str
    one_by_one: bool = False  # it gets its next call when it has answered the last one
    ready: bool = False
    idle_since: float = 0.0  # while it is idle
    recalling: bool = False  # its unstarted calls are being taken back; it gets no others meanwhile
    dying: bool = False  # it was killed, and its death is not reported yet
    group: Group | None = None  # whose resources it holds; None exactly when it has no calls
    calls: deque[Task] = Factory(deque)  # in the order in which it works; stopped ones stay
    # May be sent behind its calls, because these make what they miss; whoever takes one looks.
    followers: deque[Task] = Factory(deque)
    load: float = 0.0  # the expected seconds of its calls
    progress: float = -1.0  # when it last answered or got its lease, -1 before the first one
    overdue: bool = False  # the task that it runs lasts much longer than expected
    lease: int = 0  # the turn in which it got its lease
    gpus: tuple[str, ...] = ()  # lent to it with its lease
    seen_gpus: tuple[str, ...] = ()  # the last that it had; its libraries may hold on to them
    known_kinds: set[KindId] = Factory(set)  # only asked, never iterated
    cached: dict[ObjectId, DataObject] = Factory(dict)  # objects that it remembers

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
