"""The events that the reactor gets (in the past tense) and the effects that it returns.

Both are plain values: a run consists of its events, which can be written down and replayed.
"""

from __future__ import annotations

from math import inf

from attrs import Factory, define, frozen

from rain.base.failures import SessionFailure
from rain.base.ids import ClientId, GovernorId, ObjectId, RequestId, SessionId
from rain.base.resources import Resources
from rain.base.users import UserRule
from rain.base.wire.answers import (
    DurableReports,
    Fetched,
    JoinedSession,
    ObjectReport,
    TaskReport,
    TasksByName,
    WaitAnswer,
)
from rain.base.wire.orders import Orders
from rain.base.wire.requests import AnyRequest, Settled, Statement
from rain.base.wire.update import Update

# From governors.


@frozen
class GovernorJoined:
    """A governor has registered; its id is the incarnation that it announced."""

    governor: GovernorId
    address: str
    resources: Resources
    time_left: float = inf  # seconds after which it must be gone
    disk: int = 0  # the bytes of data that it may have in files; 0 if that is not known


@frozen
class GovernorUpdated:
    """A governor has told its news; an empty update is a heartbeat."""

    governor: GovernorId
    update: Update


@frozen
class GovernorLeft:
    """A governor is gone: it has left, its connection broke, or it broke the protocol."""

    governor: GovernorId
    cause: str
    on_purpose: bool = False


@frozen
class GovernorAway:
    """The connection to a governor broke, and it may resume."""

    governor: GovernorId
    cause: str


@frozen
class GovernorResumed:
    """A governor that was away is there again, and has applied the orders up to this number."""

    governor: GovernorId
    heard: int
    last: int  # the number of the last update that it tells of its time away


@frozen
class ServerReturned:
    """The server has come back: no governor has a connection yet, and all may resume."""


@frozen
class ServerStoodStill:
    """The server was suspended, or too busy to receive anything."""

    seconds: float


# From clients. Each request is answered once, by one of the effects below.


@frozen
class ClientJoined:
    """A client has registered."""

    client: ClientId
    token: bytes = b""  # with this it may come back, unless it is empty
    user: str = ""  # whose client it is; "" is the owner's


@frozen
class ClientAway:
    """The connection of a client has broken, and it may come back."""

    client: ClientId
    cause: str


@frozen
class ClientResumed:
    """A client that was away is there again."""

    client: ClientId


@frozen
class ClientLeft:
    """A client is gone, and its sessions with it."""

    client: ClientId
    cause: str


@frozen
class UsersRead:
    """The file of users was read again."""

    rules: tuple[UserRule, ...]


@frozen
class Asked:
    """A client asks for something."""

    client: ClientId
    request: RequestId
    what: AnyRequest
    number: int = 0  # of the call, the same when it comes again; 0 if that cannot be


@frozen
class Said:
    """A client has sent a statement, whose only answer is a receipt."""

    client: ClientId
    what: Statement | Settled
    request: RequestId | None = None  # if it is to be told that
    number: int = 0  # as of what is asked


@frozen
class RequestAbandoned:
    """A client has given up a request that it waited for."""

    client: ClientId
    request: RequestId


GovernorEvent = (
    GovernorJoined
    | GovernorUpdated
    | GovernorLeft
    | GovernorAway
    | GovernorResumed
    | ServerReturned
    | ServerStoodStill
)
ClientEvent = (
    ClientJoined
    | ClientLeft
    | ClientAway
    | ClientResumed
    | Asked
    | Said
    | RequestAbandoned
    | UsersRead
)


@define
class TurnInput:
    """All that one turn depends on, besides the state."""

    now: float  # seconds since 1970 on a clock that never jumps
    from_governors: list[GovernorEvent] = Factory(list)
    from_clients: list[ClientEvent] = Factory(list)
    scheduling_took: float = 0.0  # how long the scheduler ran in the turn before
    # Only in a replay: the scheduler was interrupted in this turn after this number of steps.
    interrupted_after: int | None = None


@frozen
class Silent:
    """A governor that a turn has dismissed because nothing was received from it for too long."""

    governor: GovernorId
    reason: str


# Effects.


@frozen
class OrderGovernor:
    """One batch for one governor."""

    governor: GovernorId
    orders: Orders


@frozen
class DismissGovernor:
    """The governor is removed: send it "stop", and close its link.

    A governor that `may_join` gets no message. It will reconnect, learn that it was given up, and
    join with a new incarnation.
    """

    governor: GovernorId
    reason: str
    may_join: bool = False


@frozen
class Answered:
    """The answer to a request; its type depends on the class of the request."""

    request: RequestId
    answer: (
        WaitAnswer
        | Fetched
        | DurableReports
        | TasksByName
        | tuple[tuple[TaskReport, ...], tuple[ObjectReport, ...]]
    )


@frozen
class Granted:
    """The answer to a request that has changed something, sent when the change is durable."""

    request: RequestId
    answer: SessionId | JoinedSession | tuple[ObjectReport | ObjectId, ...] | None = None


@frozen
class GatherReports:
    """Collect the reports of all governors, after they have received all orders, as the answer."""

    request: RequestId


@frozen
class Refuse:
    """The request is not granted: one line, or the failure of its session."""

    request: RequestId
    reason: str | SessionFailure


@frozen
class DiscardConstants:
    """The files of these constants are no longer needed."""

    objects: list[ObjectId]


@frozen
class Notice:
    """A line for the log about a session that goes on."""

    session: SessionId
    text: str


@frozen
class GovernorRests:
    """A governor cannot start tasks, or fails what others finish: it gets none for some seconds."""

    governor: str  # its address
    seconds: float
    why: str


@frozen
class GovernorDrains:
    """A governor is about to leave, and gets no more tasks."""

    governor: str  # its address
    tasks: int  # that run there
    objects: int  # that it holds


@frozen
class ReleaseGovernor:
    """A governor has drained, and was taken out of the graph: it may end."""

    governor: GovernorId


@frozen
class ClientGivenUp:
    """A client has left with its sessions: it was away for too long, or its user is locked."""

    client: ClientId
    why: str


@frozen
class SchedulerFailed:
    """The scheduler failed, and `rain` plans in its place."""

    scheduler: str
    cause: str
    trace: str  # where it raised, if it did


@frozen
class TasksOverlooked:
    """The scheduler has planned nothing, though tasks have lost their plans and nothing runs."""

    scheduler: str
    session: SessionId  # of one of these tasks


AnyAnswer = Answered | Granted | GatherReports | Refuse
Effect = (
    OrderGovernor
    | DismissGovernor
    | DiscardConstants
    | Notice
    | GovernorRests
    | GovernorDrains
    | ReleaseGovernor
    | SchedulerFailed
    | TasksOverlooked
    | ClientGivenUp
    | AnyAnswer
)
