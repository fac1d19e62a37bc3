"""The interfaces between the endpoints of this folder and the programs, in plain Python.

The programs implement one half of them and call the other half; the endpoints carry the calls over
Cap'n Proto. All methods are plain functions that return at once and are called in the thread of
trio, one at a time. A handler that cannot answer yet keeps the `Reply`. A handler that raises
`ProtocolError` closes the peer that called it, and only that one.
"""

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any, Protocol, TypeVar

from attrs import frozen

from rain.base.errors import RainError
from rain.base.failures import SessionFailure
from rain.base.ids import GovernorId, ObjectId, TaskId
from rain.base.resources import Resources
from rain.base.wire import GOVERNOR_VERSION
from rain.base.wire.answers import GovernorReport, RunningTask
from rain.base.wire.orders import Orders
from rain.base.wire.printed import PrintedLines, Watch
from rain.base.wire.requests import Request, Settled, Statement, WatchPrinted
from rain.base.wire.update import Update
from rain.stream.holder import Held, UnfinishedAdoption, UnfinishedUpload

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Reply(Protocol[T_contra]):
    """The answer that one call still waits for. Exactly one of the methods is called, once.

    If the caller has gone in the meantime, the answer is dropped without an error.
    """

    def answer(self, value: T_contra, /) -> None: ...

    def refuse(self, reason: str | SessionFailure, /) -> None: ...


@frozen
class Resumes:
    """The message with which a registered governor resumes after it has lost its connection."""

    heard: int  # the number of the last orders that it has applied
    confirmed: int  # of the last of its updates that the server is known to have applied
    last: int  # the number of the last one at all; the server now gets those that it has not


class FencedError(RainError):
    """A governor or client cannot resume. The text is the reason."""


@frozen
class GovernorHello:
    """The description of itself that a governor sends when it registers."""

    incarnation: GovernorId
    data_address: str  # "host:port", the host as the server can reach it
    resources: Resources
    version: int = GOVERNOR_VERSION  # of the protocol
    resumes: Resumes | None = None
    time_left: float = inf  # seconds after which it must be gone
    disk: int = 0  # the bytes of data that it may have in files; 0 if that is not known


class ClientHandler(Protocol):
    """The server's side of one registered client."""

    token: bytes  # with this it may come back; empty if the server does not

    def welcome(self, reply: Reply[None]) -> None:
        """Answers as soon as the client is recorded in the journal, if there is one."""
        ...

    def ask(self, request: Request[T], reply: Reply[T], number: int = 0) -> None:
        """A submission is whole: parts joined, uploaded bytes put in, columns checked.

        A call that comes again after a cut has the same number.
        """
        ...

    def has_heard(self, number: int) -> bool:
        """Whether a call with this number has come over an earlier connection."""
        ...

    def say(
        self,
        statement: Statement | WatchPrinted | Settled,
        reply: Reply[None] | None = None,
        number: int = 0,
    ) -> None:
        """The reply only confirms the receipt."""
        ...

    def abandoned(self, reply: Reply[Any]) -> None:
        """The caller has given up a request, for instance a wait after its timeout.

        Before `left` it is called for each of them that was not answered.
        """
        ...

    def left(self, cause: str, *, on_purpose: bool = False) -> None:
        """The connection ended. Nothing more comes from this client, unless it comes back."""
        ...


class GovernorHandler(Protocol):
    """The server's side of one registered governor."""

    address: str  # how users see it, "host:port"
    returns: bool  # the server comes back when it has died, and does not forget

    @property
    def applied(self) -> int:
        """The number of the last update that is safe in the journal; 0 without a journal."""
        ...

    def update(self, update: Update) -> None: ...

    def printed(self, watch: int, lines: Sequence[PrintedLines]) -> None:
        """Output of the tasks that this watch is for."""
        ...

    def drained(self) -> None: ...

    def left(self, cause: str, *, at_fault: bool) -> None:
        """The connection has ended; `at_fault` is one that has broken the protocol."""
        ...


class GovernorLink(Protocol):
    """How the server speaks to one governor. Nothing here ever blocks the caller."""

    def order(self, orders: Orders) -> None:
        """Goes to the link's outbox; a slow governor never holds a turn."""
        ...

    def report(self, reply: Reply[GovernorReport]) -> None:
        """Asks the governor; the reply is refused when the governor leaves before it answers."""
        ...

    def running(self, task: TaskId, reply: Reply[RunningTask]) -> None:
        """Asks about a task that runs there; refused as a report is."""
        ...

    def watch(self, number: int, watch: Watch | None) -> None:
        """Starts or ends sending what these tasks print."""
        ...

    def call_back(self, ticket: bytes) -> None:
        """Asks the governor to connect to the server's port as a holder of data."""
        ...

    def stop(self, reason: str) -> None:
        """Tells the governor to exit, then closes the link."""
        ...

    def close(self, reason: str) -> None:
        """Closes the link at once."""
        ...


class ServerLink(Protocol):
    """How a governor speaks to its server. Nothing here blocks but `drained`."""

    @property
    def address(self) -> str:
        """How the server and its users name this governor."""
        ...

    @property
    def returns(self) -> bool:
        """Whether the server comes back when it has died."""
        ...

    @property
    def applied(self) -> int:
        """The last of the governor's updates that the server had applied at the registration."""
        ...

    @property
    def is_open(self) -> bool: ...

    def update(self, update: Update) -> None:
        """Sends an update after all earlier ones; a closed link ignores it."""
        ...

    def printed(self, watch: int, lines: Sequence[PrintedLines]) -> None:
        """Sends lines that were printed, for a watch; in order with the updates."""
        ...

    async def drained(self) -> None:
        """Tells the server, after all updates, that this governor leaves on purpose.

        Returns when the server has received everything, or has gone.
        """
        ...

    def reject(self, reason: str) -> None:
        """Ends the link with a reason that the server is told, because of what it has said.

        As `ControlHandler.left` tells, the server is lost then.
        """
        ...

    def close(self, reason: str = "the governor closed the connection", /) -> None:
        """Ends the link at once."""
        ...


class ClientLink(Protocol):
    """How the server ends one client; a `rain.rpc.link.Link` is one."""

    def end_with_reason(self, cause: str) -> None: ...


class StreamSource(Protocol):
    """A program that serves the bytes of data objects to readers: the server, or a governor."""

    def find(self, object_id: ObjectId) -> Held | None:
        """Where all of an object is; None when it is not here."""
        ...


class ConstantUploads(Protocol):
    """The constants that one client has sent ahead of the submissions that name them."""

    key: bytes  # what the client shows with each upload

    def size(self, object_id: ObjectId) -> int:
        """The length of an upload that is complete; ProtocolError if there is none."""
        ...

    def take_refusal(self) -> str:
        """Why an upload since the last submission was refused, "" if none was."""
        ...

    def accept(self, object_ids: Sequence[ObjectId]) -> None:
        """A submission with these constants was accepted: now they belong to its session."""
        ...

    def discard(self, object_ids: Sequence[ObjectId] | None = None) -> None:
        """These, or all that no accepted submission names, are not wanted."""
        ...

    def close(self) -> None:
        """The client has gone."""
        ...


class UploadRoom(Protocol):
    """Where uploads go. Called in the threads of streams, too."""

    @property
    def folder(self) -> Path:
        """Where their files are."""
        ...

    def join(self) -> ConstantUploads: ...

    def begin_upload(self, key: bytes, object_id: ObjectId, length: int) -> UnfinishedUpload: ...

    def begin_adoption(
        self, key: bytes, object_id: ObjectId, length: int
    ) -> UnfinishedAdoption: ...


class ServerHandler(StreamSource, Protocol):
    """The server as a new connection meets it."""

    @property
    def cluster(self) -> bytes:
        """Identifies the server and its start; a server that restarts from its journal keeps this
        id.
        """
        ...

    @property
    def generation(self) -> int:
        """How often servers have taken turns in leading this cluster until now."""
        ...

    @property
    def uploads(self) -> UploadRoom: ...

    def ask_for_call(self, governor: GovernorId, ticket: bytes) -> bool:
        """Asks a governor to connect to this server; False if it has no connection."""
        ...

    def join_client(self, link: ClientLink, token: bytes = b"", user: str = "") -> ClientHandler:
        """With a token a client that comes back; `FencedError` if it cannot."""
        ...

    def join_governor(self, hello: GovernorHello, link: GovernorLink) -> GovernorHandler:
        """`FencedError` if it cannot resume; else the server sends again what the governor has not
        received.
        """
        ...


class ControlHandler(Protocol):
    """The governor's side of its connection to the server."""

    def order(self, orders: Orders) -> None: ...

    def report(self) -> GovernorReport: ...

    def running(self, task: TaskId) -> RunningTask:
        """The output of a task so far, and its memory; nothing if it does not run here."""
        ...

    def watch(self, number: int, watch: Watch | None) -> None:
        """Begins or changes the watch of this number, or ends it."""
        ...

    def stop(self, reason: str) -> None: ...

    def call_back(self, ticket: bytes) -> None:
        """The server wants to read data from this governor and cannot connect: the governor shall
        connect to it.
        """
        ...

    def applied(self, number: int) -> None:
        """The server has applied all updates up to this one, and they are safe."""
        ...

    def left(self, cause: str, *, at_fault: bool) -> None:
        """The connection has ended; a server `at_fault` has broken the protocol."""
        ...
