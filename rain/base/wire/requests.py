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
    """Is answered once, with one of these, or refused."""

    __slots__ = ()

    @property
    def concerns(self) -> SessionId | None:
        """The session whose earlier submissions must have been accepted for this to make sense.

        A client that was not told yet that one of them was refused is told so instead.
        """
        return None


@frozen
class OpenSession(Request[SessionId]):
    """A new session."""

    name: str
    user: str = ""  # JSON
    on_failure: OnFailure = OnFailure.STOP
    parent: TaskId | None = None  # the running task that opens it
    durable: bool = (
        False  # what it has made stays under its name, for the next client that opens it
    )


@frozen
class JoinSession(Request[JoinedSession]):
    """To take part in a session of another client: by its id or, if that is 0, by its name."""

    session: SessionId
    name: str
    numbers: bool  # whether the client wants a range of numbers of its own
    parent: TaskId | None = None  # the running task that joins: what it submits is one deeper


@frozen
class CloseSession(Request[None]):
    """The client has done with a session."""

    session: SessionId


@frozen
class DurableSessions(Request[DurableReports]):
    """What the server has under names."""


@frozen
class DurableTasks(Request[TasksByName]):
    """Some tasks under a name, from a place on in the order in which they were submitted."""

    name: str
    first: int = 0


@frozen
class RemoveDurable(Request[None]):
    """Nobody wants what is under a name any more."""

    name: str


@frozen
class ShareDurable(Request[None]):
    """These users may open what is under a name, and no others but its own; "*" is all users."""

    name: str
    users: tuple[str, ...] = ()


@frozen
class Submit(Request[WaitAnswer | None]):
    """To add to the graph of a session.

    Granted with None or, if it wants objects, answered as a wait for all of them.
    """

    submission: Submission
    wanted: tuple[ObjectId, ...] = ()

    @property
    def concerns(self) -> SessionId:
        return self.submission.session


@frozen
class Unkeep(Request[None]):
    """Objects of one session whose data the client does not need any more."""

    objects: tuple[ObjectId, ...]

    @property
    def concerns(self) -> SessionId:
        return session_of(self.objects[0])


@frozen
class TakeHandles(Request[Sequence[ObjectReport]]):
    """One handle more of each of these objects, and perhaps their data kept for the client, too."""

    objects: tuple[ObjectId, ...]
    wants_data: bool = False

    @property
    def concerns(self) -> SessionId:
        return session_of(self.objects[0])


@frozen
class WaitFor(Request[WaitAnswer]):
    """Answered when the wait is over.

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
    """All about one object, as soon as it is finished: its bytes, or which governor has them."""

    object: ObjectId

    @property
    def concerns(self) -> SessionId:
        return session_of(self.object)


@frozen
class ReportsOf(Request[tuple[Sequence[TaskReport], Sequence[ObjectReport]]]):
    """How these tasks and objects stand now."""

    tasks: tuple[TaskId, ...]
    objects: tuple[ObjectId, ...]
    logs: bool = False  # with what the tasks have printed


@frozen
class ServerInfo(Request[Sequence[GovernorReport]]):
    """How governors see themselves now."""


@frozen
class CancelUnstarted(Request[Sequence[ObjectId]]):
    """The client does not want these, unless they are being made.

    Answered with what is cancelled.
    """

    session: SessionId
    objects: tuple[ObjectId, ...]


@frozen
class OverviewOf(Request[Overview]):
    """What is there and was done in numbers, of one session or of all."""

    session: SessionId = ALL_SESSIONS


@frozen
class WhatHoldsUp(Request[HoldUps]):
    """Why tasks of this client that could run do not."""


@frozen
class UsageOf(Request[UsageReport]):
    """How much of the cluster each user has used, and which sessions wait."""


@frozen
class DemandOf(Request[Demand]):
    """What tasks of all sessions need that could run, and how busy governors are."""

    seconds: float = 60.0  # after which it does not matter for how long a task still runs


@frozen
class Promise(Request[None]):
    """The client starts governors like these when tasks need them, in place of an earlier promise.

    It is kept until the client leaves.
    """

    governors: tuple[Resources, ...] = ()
    says: str = ""  # to those who wait: how far the next ones are


@frozen
class TakePrinted(Request[Sequence[PrintedLines]]):
    """What was gathered for `WatchPrinted` and not told yet."""

    wait: bool  # until there is something


@frozen
class OpenDashboard(Request[str]):
    """Where the dashboard is served, "host:port". It begins with this if the server may."""


@frozen
class Terminate(Request[None]):
    """The server shall end in order."""


@frozen
class Cancel:
    """The client does not want these any more, or nothing of the session.

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
    """The client has one handle less of each of these."""

    tasks: tuple[TaskId, ...]
    objects: tuple[ObjectId, ...]


@frozen
class WatchPrinted:
    """From now on what these tasks print is gathered, in place of others; None: of none."""

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
"""What the reactor of the server grants or refuses; other parts of the server answer the rest."""


@frozen
class Settled:
    """The client needs no answers to these calls any more: it has them, or has given them up."""

    calls: tuple[int, ...]  # their numbers in Cap'n Proto


Statement: TypeAlias = Cancel | HandlesGone
"""What the reactor hears."""
