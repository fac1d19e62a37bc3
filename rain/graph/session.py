"""The session node: one user's growing graph of tasks. Only futures lead from one session to
another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import Factory, define, field

from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import ClientId, KindId, ObjectId, SessionId, TaskId, is_of_server
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.usage import Used
from rain.base.wire.requests import Promise
from rain.graph.group import Group
from rain.graph.handles import Member

if TYPE_CHECKING:
    from rain.graph.data_object import DataObject
    from rain.graph.task import Task
    from rain.graph.wait import Wait

TRUSTED = 8
"""Finished tasks after which their mean is trusted,"""

OUTLIER = 10
"""and how many times the mean a longer task counts."""


@define
class Learned:
    """The estimates from the finished tasks of one name."""

    finished: int = 0
    seconds: float = 0.0  # all of them together
    bytes: int = 0  # of all their outputs together
    least: float = 0.0  # while none has finished: how long one of them has been running so far
    peak: int = 0  # about the most bytes of memory that one of them had; 0 if it was not measured

    @property
    def mean_seconds(self) -> float | None:
        """Their mean duration, None before the first one."""
        return self.seconds / self.finished if self.finished else None

    def note_peak(self, peak: int) -> None:
        """A task has used this much memory: the estimate rises at once and falls slowly."""
        self.peak = peak if peak >= self.peak else self.peak - (self.peak - peak) // 8

    def note(self, seconds: Sequence[float], longest: float, made: int) -> None:
        """More tasks have finished: their durations, the longest, and the bytes of all outputs.

        A task that hung once must not change the mean by much.
        """
        finished, total = self.finished, self.seconds
        self.bytes += made
        if finished >= TRUSTED and longest * finished <= OUTLIER * total:  # the usual case
            self.finished += len(seconds)
            self.seconds += sum(seconds)
            return
        for taken in seconds:
            if finished >= TRUSTED and taken * finished > OUTLIER * total:
                total += OUTLIER * total / finished
            else:
                total += taken
            finished += 1
        self.finished, self.seconds = finished, total


@define(eq=False, repr=False)
class Session:
    """A node of the graph."""

    id: SessionId
    client: Client
    name: str = ""
    user: str = ""  # JSON
    belongs_to: str = ""  # the user whose it is; "" is the owner of the cluster
    tasks: dict[TaskId, Task] = Factory(dict)
    objects: dict[ObjectId, DataObject] = Factory(dict)
    task_kinds: dict[KindId, TaskKind] = Factory(dict)
    object_kinds: dict[KindId, ObjectKind] = Factory(dict)
    parent: Task | None = None  # the task that has opened it; not known any more once it is left
    same_kinds: dict[KindId, TaskKind] = Factory(
        dict
    )  # of tasks that stand in, by their kinds before
    learned: dict[KindId, Learned] = Factory(dict)
    groups: dict[tuple[str, str], Group] = Factory(dict)  # of tasks that may run twice, by name
    shadows: int = 0  # how many shadows its late tasks have had
    numbers_of_server: int = 0  # how many numbers the server has given to nodes of its own
    has_priorities: bool = False  # whether tasks of it have other priorities than 0
    unfinished: int = 0  # tasks that are not done
    used: Used = Factory(Used)  # by it, and by what its tasks have opened
    stored: int = 0  # bytes of its finished objects, each counted once
    gone_tasks: int = 0  # tasks that have left the graph
    gone_objects: int = 0
    on_failure: OnFailure = OnFailure.STOP
    members: dict[ClientId, Member] = Factory(dict)  # the clients that take part, and their handles
    ranges: int = 0  # of numbers that were given to those who joined
    failure: SessionFailure | None = None  # once set, the graph of the session is empty
    first_failed: SessionFailure | None = None  # of a task, in a session that goes on
    untold: SessionFailure | None = None  # the first failure since then that no client was told of
    waits: dict[Wait, None] = Factory(dict)  # all that wait for something of this session
    idle_waits: list[Wait] = Factory(list)  # those of them that wait for every task
    # Done tasks, numbered in the order of their ends; kept once a client follows the session.
    done: dict[TaskId, int] | None = None
    done_count: int = 0  # including those that have gone
    followers: list[Wait] = Factory(list)  # the waits for more of them
    undelivered: dict[DataObject, None] = Factory(dict)  # small kept results not yet sent
    # What is inside of the arguments of its tasks and of its objects (see references.py),
    contents: dict[Task | DataObject, tuple[DataObject, ...]] = Factory(dict)
    # which of its objects are inside of results, and of which,
    in_results: dict[DataObject, dict[DataObject, None]] = Factory(dict)
    # or inside of the arguments of finished tasks that may run again,
    in_arguments: dict[DataObject, dict[Task, None]] = Factory(dict)
    # of finished tasks what was inside of their arguments, if their parent may run again,
    once_inside: dict[Task, tuple[ObjectId, ...]] = Factory(dict)
    digests: dict[ObjectId, bytes] = Factory(dict)  # of constants in files, if a task submits them
    shared: dict[DataObject, None] = Factory(dict)  # its objects that others have claimed,
    reads_outside: dict[Task, None] = Factory(dict)  # and its tasks that read those of others
    is_durable: bool = False  # what it makes is held under its name (rain/server/core/by_name.py)
    is_left: bool = False  # its client has gone, and it ends with the last object that others claim
    logs: dict[TaskId, str] = Factory(dict)  # what tasks have printed, those that ended last
    logs_size: int = 0
    logs_let_go: bool = False  # there were more
    cached: dict[TaskId, str] = Factory(dict)  # what the cache has said of tasks
    owner: Member = field(init=False)  # has opened it
    root: SessionId = field(
        init=False
    )  # that of the outermost task that it is inside of, or its own
    sched: object = None  # the scheduler's own

    def __attrs_post_init__(self) -> None:
        self.owner = Member(self.client.id, is_owner=True)
        self.root = self.id
        self.belongs_to = self.client.user
        if self.parent is not None:
            self.owner.depth = self.parent.kind.depth + 1
            self.root = self.parent.session.root
            self.belongs_to = self.parent.session.belongs_to
        self.members[self.client.id] = self.owner

    def __repr__(self) -> str:
        return f"<Session {self.id} {self.name!r}>"

    @property
    def goes_on(self) -> bool:
        """Whether it survives the failures of its tasks."""
        return self.on_failure is OnFailure.CONTINUE

    @property
    def may_have_circles(self) -> bool:
        """Whether the session may have cycles: it contains futures, or others claim its objects."""
        return bool(self.contents or self.shared)

    @property
    def own_tasks(self) -> list[Task]:
        """Its tasks without shadows, which only the server knows of."""
        tasks = self.tasks.values()
        return [*tasks] if not self.shadows else [one for one in tasks if not is_of_server(one.id)]

    @property
    def submitted(self) -> int:
        """How many tasks its clients have submitted."""
        return len(self.tasks) + self.gone_tasks - self.shadows

    def join(self, client: ClientId) -> Member:
        """A client takes part, perhaps for the second time."""
        return self.members.setdefault(client, Member(client))

    def visit(self, client: ClientId) -> Member:
        """A client was given something of the session, and takes part in that."""
        member = self.members[client] = Member(client, is_visitor=True)
        return member


@define(eq=False, repr=False)
class Client:
    """A connected client and its sessions."""

    id: ClientId
    user: str = ""  # whose it is; "" is the owner of the cluster
    asks_for: str | None = None  # whose task has asked over it last, if tasks do
    sessions: dict[SessionId, Session] = Factory(dict)
    has_left: bool = False  # and stays known only for sessions that live longer
    promise: Promise | None = None  # of more governors
    sched: object = None  # the scheduler's own

    def __repr__(self) -> str:
        return f"<Client {self.id}>"
