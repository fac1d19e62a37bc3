"""The class `Graph`: every client, session, task, data object and governor of the server."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from math import inf
from operator import attrgetter

from attrs import Factory, define, field

from rain.base.errors import InvariantError
from rain.base.failures import OnFailure
from rain.base.ids import ClientId, GovernorId, ObjectId, SessionId, TaskId
from rain.base.kinds import TaskKind
from rain.base.resources import Resources
from rain.base.users import OWNER, UserRule
from rain.graph.by_id import ById
from rain.graph.data_object import DataObject
from rain.graph.governor import Governor
from rain.graph.group import Group
from rain.graph.handles import Member
from rain.graph.session import Client, Learned, Session
from rain.graph.task import Task

NAMES_REMEMBERED = 10_000
"""The most names with estimates; the least recently used ones are forgotten first."""


@define(eq=False, repr=False)
class Graph:
    """Nodes by id, in the order of arrival. Sessions own their tasks and objects."""

    clients: dict[ClientId, Client] = Factory(dict)
    sessions: dict[SessionId, Session] = Factory(dict)
    tasks: Mapping[TaskId, Task] = field(init=False)  # those of all sessions
    objects: Mapping[ObjectId, DataObject] = field(init=False)
    linked: int = 0  # how many tasks and data objects there are
    governors: dict[GovernorId, Governor] = Factory(dict)
    ending: dict[Governor, None] = Factory(dict)  # those that must be gone at some time
    learned: dict[tuple[str, str], Learned] = Factory(dict)  # by task type and name
    last_session: int = 0
    last_governor: int = 0
    last_order: int = 0  # of tasks
    unspooled: list[ObjectId] = Factory(list)  # constants whose files can be deleted
    unneeded: deque[DataObject] = Factory(deque)  # to be released in parts
    unwanted: list[DataObject] = Factory(list)  # unfinished, in sessions that were left
    leaving: deque[Task | DataObject] = Factory(deque)  # candidates to leave the graph
    former_readers: dict[DataObject, int] = Factory(dict)  # how many of its consumers have gone
    suspects: dict[DataObject, None] = Factory(dict)  # may be claimed by cycles only (`circles`)
    held: dict[DataObject, None] = Factory(dict)  # for the next run of the task that had it made
    departed: deque[tuple[Session, Member]] = Factory(
        deque
    )  # members that have left; their handles are removed in parts
    remains: list[Task | DataObject] = Factory(list)  # gone, to be taken apart
    pauses: list[tuple[float, TaskId, int]] = Factory(list)  # a heap of ends (see `pausing`)
    speculates: bool = False  # a session has had tasks that may run twice at a time (`lateness`)
    watched: dict[Group, None] = Factory(dict)  # groups of such tasks of which some run,
    late_due: float = inf  # and none of these becomes late before this time
    shadows: dict[Task, Task] = Factory(dict)  # of late tasks their second runs (see `shadows`),
    shadowed: dict[Task, Task] = Factory(dict)  # and of these the late tasks
    users: dict[str, UserRule] = Factory(dict)  # the rules of users, by name
    has_users: bool = False  # a user other than the owner has come
    sched: object = None  # the scheduler's own
    has_needs: bool = False  # some task has used a notable amount of memory
    has_exchanges: bool = False  # some task lists where its inputs are (`exchanges`)

    def __attrs_post_init__(self) -> None:
        self.look_into_sessions()

    def look_into_sessions(self) -> None:
        """Makes the mappings of all tasks and objects, and counts what is stored."""
        self.tasks = ById(self.sessions, attrgetter("tasks"))
        self.objects = ById(self.sessions, attrgetter("objects"))
        for session in self.sessions.values():
            finished = (one.size for one in session.objects.values() if one.is_finished)
            session.stored = sum(finished)

    def __repr__(self) -> str:
        return (
            f"<Graph {len(self.tasks)} tasks, {len(self.objects)} objects,"
            f" {len(self.governors)} governors>"
        )

    @property
    def nodes(self) -> int:
        """How many tasks and data objects there are, including those to be taken apart."""
        return self.linked + len(self.remains)

    def add_client(self, client_id: ClientId, user: str = OWNER) -> Client:
        """A client of a user has connected."""
        if client_id in self.clients:
            raise InvariantError(f"client {client_id} joined twice")
        client = self.clients[client_id] = Client(client_id, user)
        self.has_users = self.has_users or user != OWNER
        return client

    def add_session(
        self,
        client: Client,
        name: str,
        user: str,
        on_failure: OnFailure = OnFailure.STOP,
        parent: Task | None = None,
    ) -> Session:
        """A client opens a session; its id was never used before."""
        self.last_session += 1
        session = Session(
            SessionId(self.last_session), client, name, user, on_failure=on_failure, parent=parent
        )
        self.sessions[session.id] = client.sessions[session.id] = session
        return session

    def add_governor(
        self,
        governor_id: GovernorId,
        address: str,
        resources: Resources,
        now: float,
        time_left: float = inf,
    ) -> Governor:
        """A governor has joined, which must be gone after this time."""
        if governor_id in self.governors:
            raise InvariantError(f"governor {governor_id} joined twice")
        self.last_governor += 1
        governor = Governor(governor_id, self.last_governor, address, resources, now)
        if time_left < inf:
            governor.ends_at, governor.left = now + time_left, time_left
            self.ending[governor] = None
        self.governors[governor_id] = governor
        return governor

    def learned_of(self, kind: TaskKind) -> Learned:
        """The estimates for tasks of this name from all sessions. Marks the name as used."""
        name = (kind.task_type, kind.name)
        learned = self.learned.pop(name, Learned())
        self.learned[name] = learned  # at the end again
        if len(self.learned) > NAMES_REMEMBERED:
            del self.learned[next(iter(self.learned))]
        return learned
