"""A server and a governor that do what a test says, and keep what they were told."""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from weakref import finalize

import trio
from attrs import Factory, define, field, frozen

from rain.base.failures import OnFailure
from rain.base.ids import FIRST_SHARED, GovernorId, ObjectId, SessionId, TaskId
from rain.base.leading import Servers
from rain.base.resources import Resources
from rain.base.silence import SILENCE_LIMIT
from rain.base.states import ObjectState, TaskState
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.answers import (
    DurableReport,
    DurableReports,
    DurableTask,
    Fetched,
    GovernorReport,
    HoldUps,
    JoinedSession,
    ObjectReport,
    Overview,
    RunningTask,
    TaskMemory,
    TaskReport,
    TasksByName,
    WaitAnswer,
)
from rain.base.wire.demand import Demand, Need
from rain.base.wire.orders import Orders
from rain.base.wire.printed import PrintedLines, Watch
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
    Submit,
    TakeHandles,
    TakePrinted,
    Terminate,
    Unkeep,
    UsageOf,
    WaitFor,
    WatchPrinted,
    WhatHoldsUp,
)
from rain.base.wire.update import Update
from rain.base.wire.usage import SessionUsage, UsageReport, UserUsage
from rain.rpc.governor_endpoint import Upstream, connect_governor
from rain.rpc.handlers import ClientLink, GovernorHello, GovernorLink, Reply
from rain.rpc.listener import Listener
from rain.rpc.server_endpoint import listen
from rain.server.spool import Adoption, Spool, Upload, UploadAccount
from rain.stream.holder import Elsewhere, Held, InMemory
from rain.tls.keys import NO_KEYS, Keys
from tests.support.swallowing import SwallowingProxy


@define(eq=False)
class Journal:
    """What happened, in order; a trio task can wait until something has."""

    entries: list[tuple[Any, ...]] = Factory(list)
    written: trio.Event = Factory(trio.Event)

    def write(self, *entry: Any) -> None:
        self.entries.append(entry)
        written, self.written = self.written, trio.Event()
        written.set()

    def named(self, name: str) -> list[tuple[Any, ...]]:
        return [entry[1:] for entry in self.entries if entry[0] == name]

    async def until(self, name: str, count: int = 1) -> list[tuple[Any, ...]]:
        """All entries of a name, once there are at least `count`."""
        while len(self.named(name)) < count:
            await self.written.wait()
        return self.named(name)


_DAY = UserUsage("ada", 20_000, 3, 1.5, 9, 4.5)
_SESSION = SessionUsage("ada", 4, "sweep", 2, 1, 3, 1.5, 9, -1.0, "all cpus are taken", 8, 4.5)


@define(eq=False)
class FakeClient:
    """The server's side of a client: answers at once, or as the test's rule for a call says."""

    server: "FakeServer"

    token = b""

    def ask(self, request: Request[Any], reply: Reply[Any], number: int = 0) -> None:
        match request:
            case OpenSession(name, user, on_failure, parent, _):
                of = () if parent is None else (parent,)
                self._tell("open_session", reply, SessionId(1), name, user, on_failure, *of)
            case JoinSession(session, name, numbers):
                joined = JoinedSession(SessionId(1), name, OnFailure.CONTINUE, FIRST_SHARED)
                self._tell("join_session", reply, joined, session, name, numbers)
            case CloseSession(session):
                self._tell("close_session", reply, None, session)
            case Submit():
                self._submit(request, reply)
            case Unkeep(objects):
                self._tell("unkeep", reply, None, list(objects))
            case WaitFor(session, tasks, objects, mode):
                named = list(tasks), list(objects)
                self._tell("wait", reply, WaitAnswer(*named), session, *named, mode)
            case TakeHandles(objects, wants_data):
                reports = [ObjectReport(one, ObjectState.FINISHED, 1, "text") for one in objects]
                self._tell("take_handles", reply, reports, list(objects), wants_data)
            case CancelUnstarted(session, objects):
                self._tell("cancel_unstarted", reply, objects[1:], session, list(objects))
            case Fetch(object_id):
                self._tell("fetch", reply, self._fetched(object_id), object_id)
            case ReportsOf(tasks, objects, logs):
                self._tell("update", reply, _reports(tasks, objects, logs), [*tasks], [*objects])
            case UsageOf():
                self._tell("usage", reply, UsageReport((_DAY,), (_SESSION,)))
            case _:
                self._tell_of_server(request, reply)

    def _tell_of_server(self, request: Request[Any], reply: Reply[Any]) -> None:
        match request:
            case ServerInfo():
                here = GovernorReport("here:1", (), (), (), (("cpus", 2),))
                self._tell("server_info", reply, [here])
            case OverviewOf(session):
                self._tell("overview", reply, Overview(1, 2, 6, 1, 3, "here:7222"), session)
            case WhatHoldsUp():
                self._tell("hold_ups", reply, HoldUps(("no governor",), ("wait for one",)))
            case DemandOf(seconds):
                self._tell("demand", reply, Demand((Need(waiting=3),)), seconds)
            case Promise(governors, says):
                self._tell("promise", reply, None, governors, says)
            case TakePrinted(wait):
                lines = [PrintedLines(TaskId(5), "talk", True, "hello\n", 7, "there:1")]
                self._tell("printed", reply, lines, wait)
            case DurableSessions():
                self._tell(
                    "durable_sessions",
                    reply,
                    DurableReports((DurableReport("sweep", 1.5, 1, 3, 2, 1, 9),)),
                )
            case DurableTasks(name, first):
                told = TasksByName((DurableTask(TaskId(5), "f", (ObjectId(6),)),), 1)
                self._tell("durable_tasks", reply, told, name, first)
            case RemoveDurable(name):
                self._tell("remove_durable", reply, None, name)
            case ShareDurable(name, users):
                self._tell("share_durable", reply, None, name, users)
            case OpenDashboard():
                self._tell("dashboard", reply, "here:7222")
            case _:
                assert isinstance(request, Terminate)
                self._tell("terminate", reply, None)

    def welcome(self, reply: Reply[None]) -> None:
        reply.answer(None)

    def has_heard(self, number: int) -> bool:
        return False

    def say(
        self,
        statement: Statement | WatchPrinted | Settled,
        reply: Reply[None] | None = None,
        number: int = 0,
    ) -> None:
        if reply is not None:
            reply.answer(None)
        match statement:
            case HandlesGone(tasks, objects):
                self.server.journal.write("handles_gone", list(tasks), list(objects))
            case Cancel(session, tasks, objects, whole, always):
                named = list(tasks), list(objects)
                self.server.journal.write("cancel", session, *named, whole, always)
            case WatchPrinted(watch):
                self.server.journal.write("watch", watch)
            case Settled(calls):
                self.server.journal.write("settled", calls)

    def _submit(self, asked: Submit, reply: Reply[Any]) -> None:
        if asked.wanted:
            wanted = list(asked.wanted)
            self._tell("compute", reply, WaitAnswer([], wanted), asked.submission, wanted)
        else:
            self._tell("submit", reply, None, asked.submission)

    def _fetched(self, object_id: ObjectId) -> Fetched:
        data = self.server.data.get(object_id)
        report = ObjectReport(object_id, ObjectState.FINISHED, len(data or b""), "text")
        if data is not None and len(data) > INLINE_LIMIT:
            data = None
        return Fetched(report, data, self.server.holder)

    def abandoned(self, reply: Reply[Any]) -> None:
        self.server.journal.write("abandoned", reply)

    def left(self, cause: str, *, on_purpose: bool = False) -> None:
        self.server.journal.write("client left", cause)

    def _tell(self, name: str, reply: Reply[Any], answer: Any, *said: Any) -> None:
        self.server.journal.write(name, *said)  # before the answer, after which a client looks
        rule = self.server.rules.get(name)
        if rule is None:
            reply.answer(answer)
        else:
            rule(reply)


def _reports(
    tasks: Iterable[TaskId], objects: Iterable[ObjectId], logs: bool
) -> tuple[list[TaskReport], list[ObjectReport]]:
    printed = "printed" if logs else ""
    return (
        [TaskReport(task, TaskState.RUNNING, logs=printed) for task in tasks],
        [ObjectReport(object_id, ObjectState.UNFINISHED) for object_id in objects],
    )


@define(eq=False)
class FakeGovernor:
    """The server's side of a governor."""

    address: str
    server: "FakeServer"
    returns: bool = False
    applied: int = 0

    def update(self, update: Update) -> None:
        rule = self.server.rules.get("news")
        if rule is not None:
            rule(update)
        self.server.journal.write("news", update)

    def printed(self, watch: int, lines: Sequence[PrintedLines]) -> None:
        self.server.journal.write("printed", watch, list(lines))

    def drained(self) -> None:
        self.server.journal.write("drained")

    def left(self, cause: str, *, at_fault: bool = False) -> None:
        self.server.journal.write("governor left", cause)
        if at_fault:
            self.server.journal.write("at fault")


@define(eq=False)
class FakeUploads:
    """A spool in a temporary folder, which is gone with it."""

    folder: Path = Factory(lambda: Path(mkdtemp()))
    spool: Spool = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.spool = Spool(self.folder)
        finalize(self, rmtree, self.folder)

    def join(self) -> UploadAccount:
        return self.spool.join()

    def begin_upload(self, key: bytes, object_id: ObjectId, length: int) -> Upload:
        return self.spool.begin_upload(key, object_id, length)

    def begin_adoption(self, key: bytes, object_id: ObjectId, length: int) -> Adoption:
        return self.spool.begin_adoption(key, object_id, length)

    def data(self, object_id: ObjectId) -> bytes:
        found = self.spool.find(object_id)
        assert found is not None
        found.close()
        return found.path.read_bytes()


@define(eq=False)
class FakeServer:
    """A server without a reactor. A rule takes the place of the answer to a call."""

    journal: Journal = Factory(Journal)
    rules: dict[str, Callable[[Any], object]] = Factory(dict)
    data: dict[ObjectId, bytes] = Factory(dict)
    own: dict[ObjectId, bytes] = Factory(dict)  # what only streams show
    holders: dict[ObjectId, tuple[str, ...]] = Factory(dict)  # what others have
    holder: str = ""
    returns: bool = False  # when it has died
    cluster: bytes = b"the fake cluster"
    generation: int = 0
    applied: int = 0  # of the updates of all governors
    uploads: FakeUploads = Factory(FakeUploads)
    clients: list[ClientLink] = Factory(list)
    governors: list[GovernorLink] = Factory(list)
    hellos: list[GovernorHello] = Factory(list)

    def join_client(self, link: ClientLink, token: bytes = b"", user: str = "") -> FakeClient:
        self.clients.append(link)
        self.journal.write("client joined")
        return FakeClient(self)

    def join_governor(self, hello: GovernorHello, link: GovernorLink) -> FakeGovernor:
        self.hellos.append(hello)
        rule = self.rules.get("join governor")
        if rule is not None:
            rule(hello)
        self.governors.append(link)
        self.journal.write("governor joined")
        return FakeGovernor(hello.data_address, self, self.returns, self.applied)

    def ask_for_call(self, governor: GovernorId, ticket: bytes) -> bool:
        self.governors[0].call_back(ticket)
        return True

    def find(self, object_id: ObjectId) -> Held | None:
        if object_id in self.holders:
            return Elsewhere(self.holders[object_id])
        return FakeStore({**self.data, **self.own}).find(object_id)


@define(eq=False)
class FakeStore:
    """Holds some objects."""

    objects: dict[ObjectId, bytes]
    reads: int = 0

    def find(self, object_id: ObjectId) -> Held | None:
        self.reads += 1
        data = self.objects.get(object_id)
        return None if data is None else InMemory(data)


@define(eq=False)
class FakeControl:
    """The governor's side of its connection."""

    journal: Journal = Factory(Journal)
    rules: dict[str, Callable[[Any], object]] = Factory(dict)

    def order(self, orders: Orders) -> None:
        rule = self.rules.get("order")
        if rule is not None:
            rule(orders)
        self.journal.write("order", orders)

    def report(self) -> GovernorReport:
        return GovernorReport("there:1", (TaskId(5),), (), (), (("cpus", 4), ("gpus", 1)))

    def running(self, task: TaskId) -> RunningTask:
        return RunningTask(f"printed by {task}", TaskMemory(3, 4, 5))

    def watch(self, number: int, watch: Watch | None) -> None:
        self.journal.write("watch", number, watch)

    def call_back(self, ticket: bytes) -> None:
        self.journal.write("call back", ticket)

    def stop(self, reason: str) -> None:
        self.journal.write("stop", reason)

    def applied(self, number: int) -> None:
        self.journal.write("applied", number)

    def left(self, cause: str, *, at_fault: bool = False) -> None:
        self.journal.write("left", cause)
        if at_fault:
            self.journal.write("at fault")


@frozen
class Serving:
    """A server under test that listens."""

    listener: Listener
    nursery: trio.Nursery

    @property
    def port(self) -> int:
        return self.listener.port


@asynccontextmanager
async def serving(
    server: FakeServer, limit: float = 60, **options: Any
) -> AsyncGenerator[Serving, None]:
    """A server that listens; at the end all of its connections have ended, or TooSlowError."""
    with trio.fail_after(limit):
        async with trio.open_nursery() as nursery:
            listener = listen(nursery, ("127.0.0.1", 0), server, **options)
            yield Serving(listener, nursery)
            await listener.drain("the test is over")
            nursery.cancel_scope.cancel()


async def join(
    nursery: trio.Nursery,
    listener: Listener | SwallowingProxy,
    control: FakeControl,
    data_address: str = "0.0.0.0:7000",
    port: int = 0,
    keys: Keys = NO_KEYS,
    silence_limit: float | None = SILENCE_LIMIT,
    **others: Any,
) -> Upstream:
    """A governor that is registered with a server under test, perhaps through another port."""
    resources = Resources.of({"cpus": 4, "gpus": 1})
    return await connect_governor(
        nursery,
        Servers([("127.0.0.1", port or listener.port)]),
        control,
        GovernorHello(GovernorId(77), data_address, resources, **others),
        keys=keys,
        silence_limit=silence_limit,
    )
