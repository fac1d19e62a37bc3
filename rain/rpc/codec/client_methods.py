"""Maps the requests of clients to methods of the schema: one row for each, with both codecs.

Both ends of a connection use these rows. Two special cases are elsewhere: submissions are sent in
parts (`submission`), and the bytes of a fetch may come over a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

from attrs import frozen

from rain.base.errors import ProtocolError
from rain.base.wire.answers import (
    DurableReports,
    Fetched,
    HoldUps,
    ObjectReport,
    Overview,
    TaskReport,
    TasksByName,
)
from rain.base.wire.demand import Demand
from rain.base.wire.requests import (
    Cancel,
    CancelUnstarted,
    CloseSession,
    DemandOf,
    DurableSessions,
    DurableTasks,
    Fetch,
    HandlesGone,
    JoinSession,
    OpenDashboard,
    OpenSession,
    OverviewOf,
    Promise,
    RemoveDurable,
    ReportsOf,
    Request,
    ServerInfo,
    Settled,
    ShareDurable,
    Statement,
    TakeHandles,
    TakePrinted,
    Terminate,
    Unkeep,
    UsageOf,
    WaitFor,
    WatchPrinted,
    WhatHoldsUp,
)
from rain.base.wire.usage import UsageReport
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
    read_cancelled,
    read_join_session,
    read_open_session,
    read_opened,
    read_promise,
    read_wait,
    read_wait_answer,
    write_cancelled,
    write_fitting_answer,
    write_join_session,
    write_open_session,
    write_opened,
    write_promise,
    write_wait,
)
from rain.rpc.interface import Fields

Q = TypeVar("Q")
A = TypeVar("A")


@frozen
class ClientMethod(Generic[Q, A]):
    """One method of `ClientService`."""

    name: str
    params: Codec[Q]
    results: Codec[A]
    fits: Callable[[Q, A], bool] | None = None
    """Whether an answer is about what was asked; without it only the schema judges."""

    def reader(self, request: Q) -> Callable[[Fields], A]:
        """The function that reads the answer to a request."""
        fits, read = self.fits, self.results.read
        if fits is None:
            return read

        def read_fitting(fields: Fields) -> A:
            answer = read(fields)
            if not fits(request, answer):
                raise ProtocolError(f"{self.name}: an answer about something else than was asked")
            return answer

        return read_fitting


def _is_fetched(asked: Fetch, fetched: Fetched) -> bool:
    return fetched.report.id == asked.object


def _are_reported(
    asked: ReportsOf, reports: tuple[Sequence[TaskReport], Sequence[ObjectReport]]
) -> bool:
    """The first of those that were asked for, at least one; objects come behind all tasks."""
    tasks, objects = reports
    count = len(tasks)
    if count < len(asked.tasks) and objects:
        return False
    if not (tasks or objects) and (asked.tasks or asked.objects):
        return False
    return [one.id for one in tasks] == [*asked.tasks[:count]] and _are_all(
        asked.objects[: len(objects)], objects
    )


def _are_taken(asked: TakeHandles, reports: Sequence[ObjectReport]) -> bool:
    return _are_all(asked.objects, reports)


def _are_all(asked: Sequence[int], reports: Sequence[ObjectReport]) -> bool:
    return [one.id for one in reports] == [*asked]


def _write_address(http: str) -> Fields:
    return {"http": http}


def _read_address(fields: Fields) -> str:
    address: str = fields["http"]
    return address


def _write_watching(said: WatchPrinted) -> Fields:
    return write_watch(said.watch)


def _read_watching(fields: Fields) -> WatchPrinted:
    return WatchPrinted(read_watch(fields))


_NOTHING: Codec[None] = Codec(lambda _: {}, lambda _: None)

_ANSWERED: Mapping[type, ClientMethod[Any, Any]] = {
    OpenSession: ClientMethod(
        "openSession",
        Codec(write_open_session, read_open_session),
        Codec(write_opened, read_opened),
    ),
    JoinSession: ClientMethod(
        "joinSession",
        Codec(write_join_session, read_join_session),
        Codec(write_joined, read_joined),
    ),
    CloseSession: ClientMethod("closeSession", record(CloseSession), _NOTHING),
    Unkeep: ClientMethod("unkeep", record(Unkeep), _NOTHING),
    TakeHandles: ClientMethod(
        "takeHandles", record(TakeHandles), Codec(write_taken, read_taken), _are_taken
    ),
    WaitFor: ClientMethod(
        "wait", Codec(write_wait, read_wait), Codec(write_fitting_answer, read_wait_answer)
    ),
    Fetch: ClientMethod("fetch", record(Fetch), Codec(write_fetched, read_fetched), _is_fetched),
    ReportsOf: ClientMethod(
        "reports", record(ReportsOf), Codec(write_reports, read_reports), _are_reported
    ),
    ServerInfo: ClientMethod(
        "serverInfo", record(ServerInfo), Codec(write_governor_reports, read_governor_reports)
    ),
    CancelUnstarted: ClientMethod(
        "cancelUnstarted", record(CancelUnstarted), Codec(write_cancelled, read_cancelled)
    ),
    OverviewOf: ClientMethod("overview", record(OverviewOf), record(Overview)),
    WhatHoldsUp: ClientMethod("holdUps", record(WhatHoldsUp), record(HoldUps)),
    UsageOf: ClientMethod("usage", record(UsageOf), record(UsageReport)),
    DemandOf: ClientMethod("demand", record(DemandOf), record(Demand)),
    Promise: ClientMethod("promise", Codec(write_promise, read_promise), _NOTHING),
    TakePrinted: ClientMethod("printed", record(TakePrinted), Codec(write_lines, read_lines)),
    OpenDashboard: ClientMethod(
        "dashboard", record(OpenDashboard), Codec(_write_address, _read_address)
    ),
    Terminate: ClientMethod("terminate", record(Terminate), _NOTHING),
    DurableSessions: ClientMethod(
        "durableSessions", record(DurableSessions), record(DurableReports)
    ),
    DurableTasks: ClientMethod("durableTasks", record(DurableTasks), record(TasksByName)),
    RemoveDurable: ClientMethod("removeDurable", record(RemoveDurable), _NOTHING),
    ShareDurable: ClientMethod("shareDurable", record(ShareDurable), _NOTHING),
}
_HEARD: Mapping[type, ClientMethod[Any, None]] = {
    Cancel: ClientMethod("cancel", Codec(record(Cancel).write, read_cancel), _NOTHING),
    HandlesGone: ClientMethod("handlesGone", record(HandlesGone), _NOTHING),
    Settled: ClientMethod("settled", record(Settled), _NOTHING),
    WatchPrinted: ClientMethod("watch", Codec(_write_watching, _read_watching), _NOTHING),
}

METHODS = {**_ANSWERED, **_HEARD}

REQUESTS = tuple(_ANSWERED.values())
STATEMENTS = tuple(_HEARD.values())
ALIVE = ClientMethod("alive", _NOTHING, _NOTHING)


@overload
def method_of(asked: Request[A]) -> ClientMethod[Any, A]: ...
@overload
def method_of(asked: Statement | WatchPrinted) -> ClientMethod[Any, None]: ...
def method_of(asked: Any) -> ClientMethod[Any, Any]:
    """How a request travels, unless it is a submission, or a statement."""
    return METHODS[type(asked)]
