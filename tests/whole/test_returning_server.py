"""A server dies and comes back with what it knew, and its governor has gone on meanwhile.

The server lives in the process of the test: each of its lives is a service of its own, on the same
port and around the same state. The governor is a real one.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from math import inf
from pathlib import Path

import pytest
import structlog
import trio

from rain.base.states import TaskState
from rain.client import Client
from rain.daemon import program
from rain.rpc.client_registration import Entry
from rain.rpc.listener import Listener
from rain.rpc.server_endpoint import listen
from rain.scheduler.rain import RainScheduler
from rain.server.clock import Clock
from rain.server.core.messages import ServerReturned
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from rain.server.service import Service
from rain.server.spool import Spool
from tests.support.bell import Bell
from tests.support.waiting import until_now
from tests.whole.daemons import Daemon, governor
from tests.whole.test_losses import Gate, gate, held

__all__ = ["gate"]

pytestmark = pytest.mark.whole

PATIENCE = 60.0
RETURNS = ReactorSettings(debug=True, returns=True, governor_grace=60.0)


class Life(Service):
    """One life of the server."""

    turned: Bell
    listener: Listener

    def _settle(self) -> float:
        self.turned.ring()
        return super()._settle()


class Server:
    """All lives of the server, one after the other."""

    def __init__(self, nursery: trio.Nursery, folder: Path) -> None:
        self.state = State(RETURNS)
        self.spool = Spool(folder)
        self.turned = Bell()
        self.port = 0
        self._nursery = nursery

    def live(self) -> Life:
        self.state.succession.last_request += (
            1_000_000  # a journal would tell which numbers are used
        )
        life = Life(RainScheduler, self.state, Clock(), structlog.get_logger(), self.spool)
        life.turned = self.turned
        if self.port:
            life.inbox.from_governor(ServerReturned())
        life.listener = listen(self._nursery, ("127.0.0.1", self.port), life.registration)
        self.port = life.listener.port
        self._nursery.start_soon(life.turns.run)
        return life

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits for a turn after which this holds."""
        while not holds():
            await self.turned.wait()

    def finished(self, count: int) -> bool:
        tasks = self.state.graph.tasks.values()
        return [task.state for task in tasks].count(TaskState.FINISHED) >= count


def die(life: Life) -> None:
    """No turn is made any more, and all connections break."""
    life.turns.stop()
    life.listener.close()


def play(folder: Path, scene: Callable[[Server], Awaitable[None]]) -> None:
    async def main() -> int:
        with trio.fail_after(PATIENCE):
            async with trio.open_nursery() as nursery:
                await scene(Server(nursery, folder))
                nursery.cancel_scope.cancel()
        return 0

    program.run(main)


async def submit(server: Server, folder: Path, count: int) -> object:
    """A client with handles of some held tasks, which must be kept: else they are cancelled."""

    def submit_all() -> object:
        client = Client("127.0.0.1", server.port, insecure=True)
        with client.new_session("held").bind_only() as session:
            tasks = [held(str(folder)) for _ in range(count)]
            session.submit()
        return client, session, tasks

    return await trio.to_thread.run_sync(submit_all, abandon_on_cancel=True)


@asynccontextmanager
async def governor_of(server: Server, folder: Path, *arguments: str) -> AsyncGenerator[Daemon]:
    """A real governor; what waits for it does so in threads."""
    with ExitStack() as stack:
        address = f"127.0.0.1:{server.port}"
        daemon = governor(folder, "one", address, 1, "--insecure", *arguments)
        started = await trio.to_thread.run_sync(stack.enter_context, daemon)
        try:
            yield started
        finally:
            started.process.kill()


async def in_thread(do: Callable[[], object]) -> None:
    await trio.to_thread.run_sync(do, abandon_on_cancel=True)


def test_a_governor_works_on_while_the_server_is_away(tmp_path: Path, gate: Gate) -> None:
    (tmp_path / "spool").mkdir()

    async def scene(server: Server) -> None:
        life = server.live()
        handles = await submit(server, gate.folder, 3)
        async with governor_of(server, tmp_path) as one:
            await in_thread(gate.next_start)
            (incarnation,) = server.state.graph.governors

            # when: the server dies, and the running task ends while it is away
            die(life)
            gate.let_go()

            # then: the next one is started, without a server
            await in_thread(gate.next_start)
            assert not server.finished(1)

            # and when: the server comes back
            back = server.live()
            await server.until(lambda: server.finished(1))
            assert list(server.state.graph.governors) == [incarnation]

            # then: the second goes on in its first run, and the third follows
            gate.let_go()
            await in_thread(gate.next_start)
            gate.let_go()
            await server.until(lambda: server.finished(3))
            runs = [task.last_run().number for task in server.state.graph.tasks.values()]
            assert runs == [1, 1, 1]
            back.stop("the test is over")
            assert await trio.to_thread.run_sync(one.process.wait, PATIENCE) == 0
            assert "the server is back" in log_of(one, tmp_path)
        del handles

    play(tmp_path / "spool", scene)


def test_a_connection_that_breaks_while_the_server_lives_is_taken_up_again(
    tmp_path: Path, gate: Gate
) -> None:
    (tmp_path / "spool").mkdir()

    async def scene(server: Server) -> None:
        life = server.live()
        handles = await submit(server, gate.folder, 1)
        async with governor_of(server, tmp_path) as one:
            await in_thread(gate.next_start)
            (former,) = server.state.graph.governors.values()

            # when
            life.links.governors[former.id].close("a cable was pulled")
            await server.until(lambda: former.away is not None)
            await server.until(lambda: former.away is None)
            gate.let_go()

            # then
            await server.until(lambda: server.finished(1))
            assert list(server.state.graph.governors.values()) == [former]
            (task,) = server.state.graph.tasks.values()
            assert task.last_run().number == 1
            life.stop("the test is over")
            assert await trio.to_thread.run_sync(one.process.wait, PATIENCE) == 0
        del handles

    play(tmp_path / "spool", scene)


def test_a_client_goes_on_that_loses_the_server_as_soon_as_it_has_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spool").mkdir()
    register = Entry.register
    is_registered, may_go_on = threading.Event(), threading.Event()

    def stopped_afterwards(entry: Entry) -> object:
        """The thread that makes the client gets no cpu until the server has come back."""
        result = register(entry)
        is_registered.set()
        may_go_on.wait(PATIENCE)
        return result

    monkeypatch.setattr(Entry, "register", stopped_afterwards)

    async def scene(server: Server) -> None:
        life = server.live()

        def opens_a_session() -> None:
            with Client("127.0.0.1", server.port, insecure=True) as client, client.new_session("s"):
                pass

        async with trio.open_nursery() as nursery:
            nursery.start_soon(in_thread, opens_a_session)
            await in_thread(partial(is_registered.wait, PATIENCE))
            (client,) = server.state.asked.clients.values()

            # when
            die(life)
            server.live()
            await server.until(lambda: client.away_until < inf)
            await server.until(lambda: client.away_until == inf)

            # then
            may_go_on.set()

    play(tmp_path / "spool", scene)


def test_a_governor_that_the_server_does_not_know_any_more_joins_anew(
    tmp_path: Path, gate: Gate
) -> None:
    (tmp_path / "spool").mkdir()

    async def scene(server: Server) -> None:
        life = server.live()
        handles = await submit(server, gate.folder, 1)
        async with governor_of(server, tmp_path) as one:
            await in_thread(gate.next_start)
            (former,) = server.state.graph.governors

            # when: the server comes back without all that it knew
            die(life)
            server.state = State(RETURNS)
            back = server.live()

            # then
            await server.until(lambda: bool(server.state.graph.governors))
            (incarnation,) = server.state.graph.governors
            assert incarnation != former
            assert "joins anew" in log_of(one, tmp_path)
            back.stop("the test is over")
            assert await trio.to_thread.run_sync(one.process.wait, PATIENCE) == 0
        del handles

    play(tmp_path / "spool", scene)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_governor_ends_when_it_is_told_to_while_the_server_is_away(
    tmp_path: Path, gate: Gate, number: signal.Signals
) -> None:
    (tmp_path / "spool").mkdir()

    async def scene(server: Server) -> None:
        life = server.live()
        handles = await submit(server, gate.folder, 1)
        async with governor_of(server, tmp_path, "--drain-seconds", "600") as one:
            await in_thread(gate.next_start)  # it has begun for good, and heeds signals
            die(life)
            await in_thread(lambda: until_now(lambda: "is away" in log_of(one, tmp_path)))
            one.send(number)  # nothing could be handed on, so it does not drain
            assert await trio.to_thread.run_sync(one.process.wait, PATIENCE) == 0
        del handles

    play(tmp_path / "spool", scene)


def test_a_governor_does_not_wait_for_a_server_longer_than_it_may(tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()

    async def scene(server: Server) -> None:
        life = server.live()
        async with governor_of(server, tmp_path, "--server-away", "1") as one:
            await server.until(lambda: bool(server.state.graph.governors))
            die(life)
            assert await trio.to_thread.run_sync(one.process.wait, PATIENCE) == 1
            assert "it has not come back within 1 seconds" in log_of(one, tmp_path)

    play(tmp_path / "spool", scene)


def log_of(one: Daemon, folder: Path) -> str:
    """What a governor has logged."""
    (log,) = (folder / "one-logs").glob("*.log")
    return log.read_text(encoding="utf-8") + one.errors.read_text(encoding="utf-8")
