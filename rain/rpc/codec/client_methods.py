"""The methods that a client calls: for each, what is asked and what is answered.

Both ends of a connection work from these rows. What is special in sending is not here: submissions
travel in parts (`submission`), and the bytes of a fetch may come over a stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from attrs import frozen

from rain.base.ids import SessionId
from rain.base.requests import (
    Cancel,
    CancelUnstarted,
    CloseSession,
    Fetch,
    HandlesGone,
    ReportsOf,
    ServerInfo,
    TakeHandles,
    Unkeep,
)
from rain.base.wire import Overview, PrintedLines
from rain.rpc.codec.answers import (
    read_fetched,
    read_governor_reports,
    read_joined,
    read_reports,
    read_taken,
    write_fetched,
    write_governor_reports,
    write_joined,
    write_reports,
    write_taken,
)
from rain.rpc.codec.printed import read_lines, read_watch, write_lines, write_watch
from rain.rpc.codec.record import Codec, record
from rain.rpc.codec.requests import (
    read_cancel,
    read_join_session,
    read_open_session,
    read_wait,
    write_join_session,
    write_open_session,
    write_wait,
)
from rain.rpc.codec.responses import (
    read_cancelled,
    read_opened,
    read_wait_answer,
    write_cancelled,
    write_opened,
    write_wait_answer,
)

Q = TypeVar("Q")
A = TypeVar("A")


@frozen
class ClientMethod(Generic[Q, A]):
    """One method of `ClientService`."""

    name: str
    params: Codec[Q]
    results: Codec[A]


def _read_session(fields: dict[str, SessionId]) -> SessionId:
    return fields["session"]


def _read_wait(fields: dict[str, bool]) -> bool:
    return fields["wait"]


def _read_http(fields: dict[str, str]) -> str:
    return fields["http"]


NOTHING: Codec[None] = Codec(lambda _: {}, lambda _: None)

OPEN_SESSION = ClientMethod(
    "openSession", Codec(write_open_session, read_open_session), Codec(write_opened, read_opened)
)
JOIN_SESSION = ClientMethod(
    "joinSession", Codec(write_join_session, read_join_session), Codec(write_joined, read_joined)
)
CLOSE_SESSION = ClientMethod("closeSession", record(CloseSession), NOTHING)
UNKEEP = ClientMethod("unkeep", record(Unkeep), NOTHING)
TAKE_HANDLES = ClientMethod("takeHandles", record(TakeHandles), Codec(write_taken, read_taken))
WAIT = ClientMethod(
    "wait", Codec(write_wait, read_wait), Codec(write_wait_answer, read_wait_answer)
)
FETCH = ClientMethod("fetch", record(Fetch), Codec(write_fetched, read_fetched))
REPORTS = ClientMethod("reports", record(ReportsOf), Codec(write_reports, read_reports))
SERVER_INFO = ClientMethod(
    "serverInfo", record(ServerInfo), Codec(write_governor_reports, read_governor_reports)
)
CANCEL_UNSTARTED = ClientMethod(
    "cancelUnstarted", record(CancelUnstarted), Codec(write_cancelled, read_cancelled)
)
CANCEL = ClientMethod("cancel", Codec(record(Cancel).write, read_cancel), NOTHING)
HANDLES_GONE = ClientMethod("handlesGone", record(HandlesGone), NOTHING)
OVERVIEW = ClientMethod(
    "overview",
    Codec(lambda session: {"session": session}, _read_session),
    record(Overview),
)
WATCH = ClientMethod("watch", Codec(write_watch, read_watch), NOTHING)
PRINTED: ClientMethod[bool, Sequence[PrintedLines]] = ClientMethod(
    "printed", Codec(lambda wait: {"wait": wait}, _read_wait), Codec(write_lines, read_lines)
)
DASHBOARD: ClientMethod[None, str] = ClientMethod(
    "dashboard", NOTHING, Codec(lambda http: {"http": http}, _read_http)
)
TERMINATE = ClientMethod("terminate", NOTHING, NOTHING)
ALIVE = ClientMethod("alive", NOTHING, NOTHING)
