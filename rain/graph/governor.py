"""The governor node of the graph: the server's view of a peer that runs tasks and holds data
objects.
"""

from __future__ import annotations

from collections import deque
from math import inf
from typing import TYPE_CHECKING

from attrs import Factory, define, field, frozen

from rain.base.address import Source
from rain.base.errors import InvariantError
from rain.base.governors import GOVERNOR_FACTS, GOVERNOR_MOVES, GovernorMove, GovernorRow
from rain.base.ids import GovernorId, KindId
from rain.base.resources import NO_ROOM, Resources
from rain.base.transfers import Transfers
from rain.graph.ready_queue import ReadyQueue

if TYPE_CHECKING:
    from rain.base.wire.orders import Orders
    from rain.graph.copy import Copy
    from rain.graph.data_object import DataObject
    from rain.graph.session import Session
    from rain.graph.task import Task


DRIFT = 1e-4
"""Seconds by which two clocks may drift apart per second."""


@frozen
class Away:
    """Why a governor has no connection, and how long it has to come back."""

    since: float
    seconds: float
    why: str
    ordered: int = 0  # the number of its last orders before that; it cannot have heard later ones
    returns: int = 0  # how often the server has come back meanwhile


@define(eq=False)
class Drain:
    """The objects of a governor that is about to leave, of which it may have the only copies."""

    unseen: deque[DataObject] = Factory(deque)
    moving: dict[DataObject, None] = Factory(dict)  # others were told to fetch these


@define(eq=False, repr=False)
class Governor:
    """A node of the graph. Dictionaries to None are ordered sets."""

    id: GovernorId  # its incarnation
    number: int  # counts the governors that ever joined; breaks ties
    address: str  # how users see it, "host:port"; also where its data is read
    resources: Resources  # what may be planned on now: nothing while it rests
    heard: float = 0.0  # when it last said something
    ends_at: float = inf  # when it must be gone, if its job or its user says so
    left: float = inf  # seconds until then, when that was looked at last
    clock: float = inf  # what is added to a time of its clock to get one of ours; inf: not known
    clock_seen: float = 0.0  # when that was looked at last
    # Where the server comes back (`rain/server/core/resuming.py`):
    ordered: int = 0  # how many batches of orders were made for it
    unheard: deque[Orders] = Factory(deque)  # those of which it has not said that they are applied
    applied: int = 0  # the number of its last update that was applied
    away: Away | None = None  # it has no connection, and may come back
    awaited: int = 0  # the number of the update up to which it tells what it has done meanwhile

    scheduled: dict[Task, None] = Factory(dict)  # every task that is planned here
    queue: ReadyQueue = Factory(ReadyQueue)  # those that are ready and not assigned
    assigned: dict[Task, None] = Factory(dict)  # those that it was told to run
    # Those of them that it was asked to return, and which governor gets each then, if known.
    asked: dict[Task, Governor | None] = Factory(dict)
    expected: dict[Task, None] = Factory(dict)  # those that it gets when others return them
    ahead: int = 0  # how many of those it was told of before their inputs existed
    pace: int = 0  # the most tasks that it has finished between two of its last messages
    # Tasks that are planned here and may be able to go ahead; this is checked when one is taken.
    followers: deque[Task] = Factory(deque)
    # Cpus of what is planned here and ready and not asked back, and of what is expected.
    active_cpus: int = 0
    objects: dict[DataObject, Copy] = Factory(dict)  # every finished object with a copy here
    groups: dict[tuple[Session, str, str], int] = Factory(dict)  # planned tasks, by constraint
    kinds_told: set[KindId] = Factory(set)
    offered: Resources = field(init=False)  # what it has come with
    task_memory: int = 0  # bytes that its tasks had when it last said so,
    memory_bytes: int = 0  # data objects in shared memory,
    disk_bytes: int = 0  # and those in files on the disk
    transfers: Transfers = Factory(Transfers)  # what it has sent to other machines; as it last said
    disk: int = 0  # the bytes of data that it may have in files; 0 if that is not known
    holds_back: str = ""  # why tasks wait there that it was told to run; as it last said
    is_full: bool = False  # only others can make room on its disk; as it last said
    # Governors that it cannot connect to, and why: their data comes through the server.
    closed_ways: tuple[tuple[str, str], ...] = ()
    row: GovernorRow = GovernorRow.WORKS
    rests: bool = False  # it gets no tasks: it rests or drains; a copy, because it is read often
    cpus: int = field(
        init=False, default=0
    )  # of its resources; a copy, because they are read often
    place: Source = field(init=False)  # which its runs share
    source: str = field(init=False, default="")  # the same as text, for governors that read from it
    sched: object = None  # the scheduler's own

    def __attrs_post_init__(self) -> None:
        self.offered = self.resources
        self.cpus = self.resources.cpus
        self.place = Source(self.address, self.id)
        self.source = self.place.spell()

    @property
    def is_behind(self) -> bool:
        """Whether it was away, and has not reported yet what it has done with its tasks."""
        return self.away is not None or self.applied < self.awaited

    def clock_difference(self, shown: float, now: float) -> float:
        """The difference to add to times of its clock, which showed `shown` when it sent a message.

        A message takes a while to arrive, and longer when the server is busy. The fastest message
        shows the difference best. All times of one governor are corrected by the same difference,
        so runs that did not overlap there do not overlap here.
        """
        grown = self.clock + DRIFT * max(now - self.clock_seen, 0.0)
        self.clock, self.clock_seen = min(now - shown, grown), now
        return self.clock

    def rest(self) -> None:
        """Stops planning on it for a while."""
        self._move(GovernorMove.REST)

    def go_on(self) -> None:
        """Allows planning on it again."""
        self._move(GovernorMove.GO_ON)

    def drain(self) -> None:
        """Stops planning on it until it leaves."""
        self._move(GovernorMove.DRAIN)

    @property
    def drains(self) -> bool:
        """Whether it is about to leave."""
        return self.row is GovernorRow.DRAINS

    def _move(self, what: GovernorMove) -> None:
        """Goes along the table, or raises and stays."""
        end = GOVERNOR_MOVES[what].get(self.row)
        if end is None:
            raise InvariantError(f"{self!r} cannot move by {what.value!r}")
        self.row = end
        self.rests = not GOVERNOR_FACTS[end].gets_tasks
        self.resources = NO_ROOM if self.rests else self.offered
        self.cpus = self.resources.cpus

    def __repr__(self) -> str:
        row = "" if self.row is GovernorRow.WORKS else f" {self.row.value}"
        return f"<Governor {self.number} {self.address}{row}>"
