"""What a client asks of the server, as values: one class for each method of `ClientService`.

The client makes such a value, the border writes and reads it, and the reactor of the server gets it
as it was made. A **request** is answered once, with what its class names, or refused with one line.
A **statement** is never answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeAlias, TypeVar

from attrs import frozen

from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, SessionId, TaskId
from rain.base.wire import (
    OWN_GRACE,
    Fetched,
    GovernorReport,
    JoinedSession,
    ObjectReport,
    Submission,
    TaskReport,
    WaitAnswer,
)

A_co = TypeVar("A_co", covariant=True)


class Request(Generic[A_co]):
    """Is answered once, with one of these, or refused."""

    __slots__ = ()


@frozen
class OpenSession(Request[SessionId]):
    """A new session."""

    name: str
    user: str  # JSON
    on_failure: OnFailure = OnFailure.STOP
    parent: TaskId | None = None  # the running task that opens it


@frozen
class JoinSession(Request[JoinedSession]):
    """To take part in a session of another client: by its id or, if that is 0, by its name."""

    session: SessionId
    name: str
    numbers: bool  # whether the client wants a range of numbers of its own


@frozen
class CloseSession(Request[None]):
    """The client has done with a session."""

    session: SessionId


@frozen
class Submit(Request[WaitAnswer | None]):
    """To add to the graph of a session.

    Granted with None or, if it wants objects, answered as a wait for all of them.
    """

    submission: Submission
    wanted: tuple[ObjectId, ...] = ()


@frozen
class Unkeep(Request[None]):
    """Objects of one session whose data the client does not need any more."""

    objects: tuple[ObjectId, ...]


@frozen
class TakeHandles(Request[Sequence[ObjectReport]]):
    """One handle more of each of these objects, and perhaps their data kept for the client, too."""

    objects: tuple[ObjectId, ...]
    wants_data: bool = False


@frozen
class WaitFor(Request[WaitAnswer]):
    """Answered when the wait is over: for all of these, for some, for the session, or for news."""

    session: SessionId
    tasks: tuple[TaskId, ...]
    objects: tuple[ObjectId, ...]
    mode: str  # one of `WaitMode` of the schema
    since: int = 0  # in the modes "news" and "glance": how many done tasks were told before


@frozen
class Fetch(Request[Fetched]):
    """All about one object, as soon as it is finished: its bytes, or who has them."""

    object: ObjectId


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
)
Statement: TypeAlias = Cancel | HandlesGone
