"""Keeps the event log: takes happenings from the state at intervals and sends them to a writer.

A trio task takes them in the thread of the turns, between turns, and sends them to the process that
writes (`rain.server.history.writer`). While that process is busy, or the disk stalls, happenings
are collected in the state up to a limit. Happenings that are not written leave a line in the
server's own log and an event `EventsLost`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, asynccontextmanager, closing
from pathlib import Path

import trio
from attrs import Factory, asdict, define, frozen
from structlog.typing import FilteringBoundLogger

from rain.base.errors import StartError
from rain.daemon.packages import python_path
from rain.server.beside import beside
from rain.server.core.catching_up import note_all
from rain.server.core.collector import Happenings
from rain.server.core.state import State
from rain.server.history.reader import EventReader
from rain.server.history.retention import Keep
from rain.server.history.store import FILE, open_lock, open_store, take_lock
from rain.server.history.writer import packed

INTERVAL = 0.25
"""Seconds between two batches, so that an event can be read within a second."""

PART = 5000
"""The approximate size of the parts that are sent to the writer."""

PATIENCE = 5.0
"""Seconds that the writer may take to end, also when the next server waits for it."""

_WAIT_FOR_LOCK = "import fcntl, sys; fcntl.flock(int(sys.argv[1]), fcntl.LOCK_EX)"


@frozen
class HistorySettings:
    """The settings of the event log: what it keeps, and where."""

    folder: Path
    with_objects: bool = False  # an event for every finished data object too
    keep: Keep = Factory(Keep)


@asynccontextmanager
async def open_history(
    settings: HistorySettings | None,
    state: State,
    now: Callable[[], float],
    log: FilteringBoundLogger,
) -> AsyncGenerator[EventReader | None]:
    """Keeps the event log of a server during the block; without settings there is none.

    It begins with how things stand. Enter it between two turns; before the first one the session
    numbers continue where the log ends.
    """
    if settings is None:
        yield None
        return
    path = settings.folder / FILE
    lock = await _lock(path)
    try:
        with closing(open_store(path)) as store:
            lost = store.close_lost_sessions(now(), "the server was lost", state.graph.sessions)
            logged = {session: store.knows_of(session) for session in store.open_sessions()}
            state.graph.last_session = max(state.graph.last_session, store.last_session())
        if lost:
            log.warning("sessions of an earlier server were lost", sessions=lost)
        process = await start_writer(path, lock, settings.keep)
    finally:
        os.close(lock)  # the writer has its own copy
    state.happenings = Happenings(settings.with_objects)
    note_all(state, state.happenings, now(), logged)
    keeper = _Keeper(state, state.happenings, process, log)
    async with beside(keeper.run, keeper.end):
        yield EventReader(path)


async def _lock(path: Path) -> int:
    """Takes the lock; waits for the writer of a server that was killed."""
    with ExitStack() as opened:
        lock = open_lock(path)
        opened.callback(os.close, lock)
        if not take_lock(lock):
            with trio.move_on_after(PATIENCE):
                await wait_for_lock(lock)
            if not take_lock(lock):
                raise StartError(
                    f"the event log {path} is written by another server; choose another --logdir"
                )
        opened.pop_all()
    return lock


async def wait_for_lock(lock: int) -> None:
    """Waits for the lock; can be cancelled.

    There is no asynchronous wait for a lock, and a thread that waits for one cannot be stopped. A
    child process can be stopped, and its lock belongs to all copies of the descriptor.
    """
    try:
        await trio.run_process(
            [sys.executable, "-I", "-S", "-c", _WAIT_FOR_LOCK, str(lock)],
            pass_fds=(lock,),
            start_new_session=True,  # Ctrl-C must reach only the server, which then ends it
            check=False,
        )
    except OSError as error:
        raise StartError(
            f"the lock of the event log cannot be waited for: {error.strerror}"
        ) from error


async def start_writer(path: Path, lock: int, keep: Keep) -> trio.Process:
    """Starts the writer process, which holds the lock while it lives."""
    packages = python_path(os.environ.get("PYTHONPATH"))
    try:
        return await trio.lowlevel.open_process(
            [
                sys.executable,
                "-m",
                "rain.server.history.writer",
                str(path),
                json.dumps(asdict(keep)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(lock,),
            start_new_session=True,  # Ctrl-C must not reach it: see the writer
            env={**os.environ, "PYTHONPATH": packages},
        )
    except OSError as error:
        raise StartError(
            f"the writer of the event log cannot be started: {error.strerror}"
        ) from error


@define(eq=False)
class _Keeper:
    """Sends batches to the writer and reads its reports."""

    state: State
    happenings: Happenings
    process: trio.Process
    log: FilteringBoundLogger
    ending: trio.Event = Factory(trio.Event)
    # The last batch is written even if the server is cancelled, but within a time limit.
    scope: trio.CancelScope = Factory(lambda: trio.CancelScope(shield=True))

    async def run(self) -> None:
        """Sends batches until the end, then waits for the writer to end."""
        try:
            with self.scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._hear)
                    await self._feed()
                await self.process.wait()
        finally:
            # It is stuck. SQLite transactions make it safe to kill it.
            self.process.kill()
            with trio.CancelScope(shield=True):
                await self.process.wait()
        self.state.happenings = None
        if self.scope.cancelled_caught:
            self.log.error("event log is incomplete: the disk does not answer")
        elif self.process.returncode:
            self.log.error("event log writer has failed", status=self.process.returncode)

    def end(self) -> None:
        """Stops keeping happenings."""
        self.scope.deadline = trio.current_time() + PATIENCE
        self.ending.set()

    async def _feed(self) -> None:
        assert self.process.stdin is not None  # it is a pipe
        last = False
        async with self.process.stdin as pipe:
            while not last:
                with trio.move_on_after(INTERVAL):
                    await self.ending.wait()
                last = self.ending.is_set()
                for part in self.happenings.take().parts(PART):
                    try:
                        await pipe.send_all(packed(part))
                    except trio.BrokenResourceError:
                        return  # the writer has died, which is reported at the end

    async def _hear(self) -> None:
        assert self.process.stdout is not None  # it is a pipe
        said = b""
        async with self.process.stdout as pipe:
            async for piece in pipe:
                *lines, said = (said + piece).split(b"\n")
                for line in lines:
                    self.log.warning(**json.loads(line))
