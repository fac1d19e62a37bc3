"""The requests and statements of a client to the server: one class for each method of
`ClientService`.

The client makes such a value, it is encoded and decoded, and the reactor of the server gets an
equal value. A **request** is answered once, with a value of the type that its class names, or
refused with one line. A **statement** is never answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeAlias, TypeVar

from attrs import frozen

from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, SessionId, TaskId, session_of
from rain.base.resources import Resources
from rain.base.wire.answers import (
    DurableReports,
    Fetched,
    GovernorReport,
    HoldUps,
    JoinedSession,
    ObjectReport,
    Overview,
    TaskReport,
    TasksByName,
    WaitAnswer,
)
from rain.base.wire.demand import Demand
from rain.base.wire.grace import OWN_GRACE
from rain.base.wire.printed import PrintedLines, Watch
from rain.base.wire.submission import Submission
from rain.base.wire.usage import UsageReport

A_co = TypeVar("A_co", covariant=True)

ALL_SESSIONS = SessionId(0)


class Request(Generic[A_co]):
    """A request, which is answered once with a value of this type, or refused."""

    __slots__ = ()

    @property
    def concerns(self) -> SessionId | None:
        """The session whose earlier submissions must have been accepted before this request.

        If one of them was refused and the client does not know it yet, the refusal is the answer.
        """
        return None


@frozen
class OpenSession(Request[SessionId]):
    """Opens a new session."""

    name: str
    user: str = ""  # JSON
    on_failure: OnFailure = OnFailure.STOP
    parent: TaskId | None = None  # the running task that opens it
    durable: bool = (
        False  # what it has made stays under its name, for the next client that opens it
    )


@frozen
class JoinSession(Request[JoinedSession]):
    """Joins a session of another client: by its id or, if that is 0, by its name."""

    session: SessionId
    name: str
    numbers: bool  # whether the client wants a range of numbers of its own
    parent: TaskId | None = None  # the running task that joins: what it submits is one deeper


@frozen
class CloseSession(Request[None]):
    """Closes a session."""

    session: SessionId


@frozen
class DurableSessions(Request[DurableReports]):
    """Asks for all durable sessions."""


@frozen
class DurableTasks(Request[TasksByName]):
    """Asks for some tasks of a durable session, from a place on, in the order in which they were
    submitted.
    """

    name: str
    first: int = 0


@frozen
class RemoveDurable(Request[None]):
    """Removes a durable session."""

    name: str


@frozen
class ShareDurable(Request[None]):
    """Shares a durable session with these users and no others, besides its own user; "*" is all
    users.
    """

    name: str
    users: tuple[str, ...] = ()


@frozen
class Submit(Request[WaitAnswer | None]):
    """Adds tasks and objects to a session.

    Granted with None or, if it wants objects, answered as a wait for all of them.
    """

    submission: Submission
    wanted: tuple[ObjectId, ...] = ()

    @property
    def concerns(self) -> SessionId:
        return self.submission.session


@frozen
class Unkeep(Request[None]):
    """Releases the data of objects of one session: the client does not need it any more."""

    objects: tuple[ObjectId, ...]

    @property
    def concerns(self) -> SessionId:
        return session_of(self.objects[0])


@frozen
class TakeHandles(Request[Sequence[ObjectReport]]):
    """Takes one more handle of each of these objects, and may keep their data for the client,
    too.
    """

    objects: tuple[ObjectId, ...]
    wants_data: bool = False

    @property
    def concerns(self) -> SessionId:
        return session_of(self.objects[0])


@frozen
class WaitFor(Request[WaitAnswer]):
    """Waits for tasks and objects; answered when the wait is over.

    It is for "all" of these, for "some", for all tasks of the "session", or for "news" of it: the
    tasks that are done, and what they have made. With "glance" these are told at once, even if
    there are none.
    """

    session: SessionId
    tasks: tuple[TaskId, ...]
    objects: tuple[ObjectId, ...]
    mode: str  # one of `WaitMode` of the schema
    since: int = 0  # in the modes "news" and "glance": how many done tasks were told before

    @property
    def concerns(self) -> SessionId:
        return self.session


@frozen
class Fetch(Request[Fetched]):
    """Waits for one object, and asks for its bytes, or for the governor that has them."""

    object: ObjectId

    @property
    def concerns(self) -> SessionId:
        return session_of(self.object)


@frozen
class ReportsOf(Request[tuple[Sequence[TaskReport], Sequence[ObjectReport]]]):
    """Asks for the current states and infos of these tasks and objects."""

    tasks: tuple[TaskId, ...]
    objects: tuple[ObjectId, ...]
    logs: bool = False  # with what the tasks have printed


@frozen
class ServerInfo(Request[Sequence[GovernorReport]]):
    """Asks for the reports of all governors."""


@frozen
class CancelUnstarted(Request[Sequence[ObjectId]]):
    """Cancels the tasks that make these objects, unless they have started. Answered with the
    cancelled objects.
    """

    session: SessionId
    objects: tuple[ObjectId, ...]


@frozen
class OverviewOf(Request[Overview]):
    """Asks for the numbers of tasks, objects and governors, of one session or of all."""

    session: SessionId = ALL_SESSIONS


@frozen
class WhatHoldsUp(Request[HoldUps]):
    """Asks why tasks of this client that could run do not.

    `past` asks only for what has failed a short time ago, and holds up nothing any more.
    """

    past: bool = False


@frozen
class UsageOf(Request[UsageReport]):
    """Asks how much of the cluster each user has used, and which sessions wait."""


@frozen
class DemandOf(Request[Demand]):
    """Asks for the needs of all tasks that could run, and how busy governors are."""

    seconds: float = 60.0  # after which it does not matter for how long a task still runs


@frozen
class Promise(Request[None]):
    """Promises that the client starts governors like these when tasks need them.

    It replaces an earlier promise, and ends when the client leaves.
    """

    governors: tuple[Resources, ...] = ()
    says: str = ""  # to those who wait: how far the next ones are


@frozen
class TakePrinted(Request[Sequence[PrintedLines]]):
    """Asks for new output of the tasks in `WatchPrinted`."""

    wait: bool  # until there is something


@frozen
class OpenDashboard(Request[str]):
    """Asks for the address of the dashboard, "host:port". The server starts it if necessary and
    allowed.
    """


@frozen
class Terminate(Request[None]):
    """Ends the server in order."""


@frozen
class Cancel:
    """Cancels these tasks and objects, or the whole session.

    Unless it is for `always`, the session goes on while anybody waits for something of it. Unless
    it is `recursive`, the tasks that these have submitted while they ran go on to their ends.
    """

    session: SessionId
    tasks: tuple[TaskId, ...]
    objects: tuple[ObjectId, ...]
    whole: bool = False
    always: bool = False
    recursive: bool = True
    grace: float = OWN_GRACE  # seconds for those that run, until they are killed


@frozen
class HandlesGone:
    """Gives back one handle of each of these."""

    tasks: tuple[TaskId, ...]
    objects: tuple[ObjectId, ...]


@frozen
class WatchPrinted:
    """Watches the output of these tasks from now on, in place of others; None ends watching."""

    watch: Watch | None


AnyRequest: TypeAlias = (
    OpenSession
    | JoinSession
    | CloseSession
    | Submit
    | Unkeep
    | TakeHandles
    | WaitFor
    | Fetch
    | ReportsOf
    | ServerInfo
    | CancelUnstarted
    | DurableSessions
    | DurableTasks
    | RemoveDurable
    | ShareDurable
    | Promise
)
"""The requests that the reactor of the server handles; other parts of the server answer the
rest.
"""


@frozen
class Settled:
    """Confirms that the client needs no answers to these calls any more: it has them, or has given
    them up.
    """

    calls: tuple[int, ...]  # their numbers in Cap'n Proto


Statement: TypeAlias = Cancel | HandlesGone
"""The statements that the reactor gets."""
