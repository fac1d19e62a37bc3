"""What peers say is spoiled behind the door: nothing of it ends the server, or harms the others."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import trio

from rain.base.admission import Role
from rain.base.failures import OnFailure
from rain.base.ids import GovernorId, ObjectId, SessionId, TaskId
from rain.base.leading import Servers
from rain.base.resources import Resources
from rain.base.wire.requests import (
    CloseSession,
    Fetch,
    JoinSession,
    OpenSession,
    ReportsOf,
    ServerInfo,
    Submit,
    Unkeep,
    WaitFor,
)
from rain.base.wire.update import (
    FinishedTasks,
    Monitoring,
    ObjectNote,
    TaskFailure,
    TaskNote,
    Update,
)
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.governor_endpoint import connect_governor
from rain.rpc.handlers import GovernorHello
from tests.rpc.fakes import FakeControl
from tests.support.malformed import (
    MARK,
    KeepingTap,
    Said,
    Serving,
    beside_a_server,
    enter,
    register,
    say,
    spoiled,
    tapped,
)
from tests.support.submissions import Draft

CLIENTS = 500
GOVERNORS = 300


def record(folder: Path, play: Callable[[Serving, KeepingTap], None]) -> Said:
    """What a peer says to a server, in the session that can be found in it."""
    taps: list[KeepingTap] = []

    def script(serving: Serving) -> None:
        with tapped(KeepingTap(serving.port)) as tap:
            taps.append(tap)
            play(serving, tap)

    beside_a_server(folder, script, MARK - 1)
    return taps[0].said


def a_client_asks_for_everything(serving: Serving, tap: KeepingTap) -> None:
    client = ClientConnection("127.0.0.1", tap.port)
    tap.registered()
    session = client.ask(OpenSession("first", "{}", OnFailure.CONTINUE))
    draft = Draft(session)
    constant = draft.constant(b"hello", keep=True)
    task, (made,) = draft.task(constant, keep=True, config=b"config")
    other, more = draft.task(constant, draft.constant(b"x" * 100), made, outputs=2, keep=True)
    client.ask(Submit(draft.take()))
    client.complete(client.ask(Fetch(constant)))
    client.ask(ReportsOf((task, other), (constant, made, *more)))
    client.ask(ServerInfo())
    for mode in ("all", "some"):
        with suppress(TimeoutError):
            client.ask(WaitFor(session, (task, other), (made,), mode), timeout=0.01)
    client.ask(JoinSession(session, "", numbers=True))
    client.ask(JoinSession(SessionId(0), "first", numbers=True))
    draft.task(constant, keep=True)
    second = draft.constant(b"hi", keep=True)
    client.begin(Submit(draft.take(), (second,)))()
    client.ask(Unkeep((constant,)))
    client.say(CloseSession(session))
    client.ask(ServerInfo())
    client.close()


def test_a_client_that_speaks_nonsense_harms_nobody_else(tmp_path: Path) -> None:
    said = record(tmp_path / "recorded", a_client_asks_for_everything)

    def script(serving: Serving) -> None:
        before = serving.last_session
        say(serving.port, Role.CLIENT, said.in_session(before + 1))
        assert serving.last_session == before + 1, "what was recorded is understood"
        for seed in range(CLIENTS):
            random = Random(seed)
            here = said.in_session(serving.last_session + 1)
            if seed % 5:
                say(
                    serving.port,
                    Role.CLIENT,
                    Said(here.opening, here.answered, spoiled(random, here.rest)),
                )
            else:
                say(serving.port, Role.CLIENT, Said(spoiled(random, here.opening), 0, b""))
        serving.still_serves()

    beside_a_server(tmp_path / "spoiled", script)


def submit(client: ClientConnection, session: SessionId) -> tuple[list[TaskId], list[ObjectId]]:
    """Work for a governor: tasks that read a constant and each other's results."""
    draft = Draft(session)
    constant = draft.constant(b"hello", keep=True)
    first, (made,) = draft.task(constant, keep=True, config=b"config")
    second, more = draft.task(constant, outputs=2, keep=True)
    third, _ = draft.task(made, keep=True)
    fails, _ = draft.task(constant, tries=2)
    client.ask(Submit(draft.take()))
    return [first, second, third, fails], [made, *more]


def news(tasks: list[TaskId], objects: list[ObjectId]) -> list[Update]:
    """Everything that a governor can tell."""
    first, second, third, fails = tasks
    finished = FinishedTasks(
        [first, second], [1, 1], [0.5, 0.25], [1, 2], [3, 100_000, 2], [b"abc", b"", b"xy"]
    )
    return [
        Update(),
        Update(started_ids=[first, second], started_runs=[1, 1]),
        Update(
            finished=finished,
            object_notes=[ObjectNote(objects[0], "text", "{}")],
            task_notes=[TaskNote(second, '{"a": 1}', "debug")],
            monitoring=[Monitoring((10, 20), 30, ("eth0",), (1000,), (2000,))],
        ),
        Update(failed=[TaskFailure(fails, 1, "message", "debug")]),
        Update(unfetched=[objects[0]], located=[objects[1]], started_ids=[third], started_runs=[1]),
        Update(finished=FinishedTasks([third], [1], [0.5], [1], [3], [b"abc"])),
    ]


def a_governor_tells_everything(serving: Serving, tap: KeepingTap) -> None:
    client = ClientConnection("127.0.0.1", serving.port)

    async def live() -> None:
        async with trio.open_nursery() as nursery:
            control = FakeControl()
            upstream = await connect_governor(
                nursery,
                Servers([("127.0.0.1", tap.port)]),
                control,
                GovernorHello(GovernorId(77), "0.0.0.0:7000", Resources.of({"cpus": 8, "gpus": 1})),
            )
            tap.registered()
            opened = OpenSession("recorded", on_failure=OnFailure.CONTINUE)
            session = await trio.to_thread.run_sync(client.ask, opened)
            work = await trio.to_thread.run_sync(submit, client, session)
            await control.journal.until("order")
            for update in news(*work):
                upstream.update(update)
            await upstream.drained()
            upstream.close()

    serving.trio(live)
    client.close()


def test_a_governor_that_speaks_nonsense_harms_nobody_else(tmp_path: Path) -> None:
    said = record(tmp_path / "recorded", a_governor_tells_everything)

    def script(serving: Serving) -> None:
        client = ClientConnection("127.0.0.1", serving.port)
        for seed in range(GOVERNORS):
            random = Random(seed)
            if seed % 6 == 0:
                say(serving.port, Role.GOVERNOR, Said(spoiled(random, said.opening), 0, b""))
                continue
            session = client.ask(OpenSession("spoiled", "", OnFailure.CONTINUE))
            here = said.in_session(session)
            with enter(serving.port, Role.GOVERNOR) as connected, suppress(ConnectionError):
                register(connected, here)
                submit(client, session)
                connected.recv(1 << 16)  # orders
                connected.sendall(spoiled(random, here.rest))
                connected.shutdown(socket.SHUT_WR)
                while connected.recv(1 << 16):
                    pass
            client.say(CloseSession(session))
        client.close()
        serving.still_serves()

    beside_a_server(tmp_path / "spoiled", script)
