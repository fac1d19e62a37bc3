"""Keeping the event log beside the turns: with the real process that writes it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
import trio
from structlog.testing import LogCapture
from trio.testing import MockClock

from rain.base.errors import RefusedError, StartError
from rain.base.ids import ClientId, SessionId
from rain.server.core.happenings import SessionNew
from rain.server.core.state import State
from rain.server.history import keeper
from rain.server.history.keeper import HistorySettings, open_history
from rain.server.history.query import Query
from rain.server.history.reader import EventReader
from rain.server.history.retention import Keep
from rain.server.history.store import FILE, open_lock, take_lock
from tests.support.logs import capturing_logger
from tests.support.waiting import until

pytestmark = pytest.mark.whole


def _now() -> float:
    return 1000.0


def _types(reader: EventReader) -> list[str]:
    with closing(reader.pages(Query())) as pages:
        found: list[str] = []
        while page := pages.next():
            found += [row["event"]["type"] for row in json.loads(f"[{page}]")]
        return found


def _new(state: State) -> None:
    state.graph.last_session += 1
    state.note(SessionNew(1000.0, SessionId(state.graph.last_session), ClientId(1), "", ""))


@asynccontextmanager
async def _noting(folder: Path) -> AsyncGenerator[tuple[State, EventReader, LogCapture]]:
    """A server's state whose events are kept in the folder, their reader, and the program's log."""
    state = State()
    log, entries = capturing_logger()
    async with open_history(HistorySettings(folder), state, _now, log) as reader:
        assert reader is not None
        yield state, reader, entries


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[trio.Process]:
    """The writers that were started."""
    processes: list[trio.Process] = []
    start = keeper.start_writer

    async def remember(path: Path, lock: int, keep: Keep) -> trio.Process:
        process = await start(path, lock, keep)
        processes.append(process)
        return process

    monkeypatch.setattr(keeper, "start_writer", remember)
    return processes


def test_an_event_can_be_read_while_the_server_runs(tmp_path: Path) -> None:
    async def main() -> None:
        with trio.fail_after(60):
            async with _noting(tmp_path) as (state, reader, _):
                _new(state)
                await until(lambda: _types(reader))
                assert _types(reader) == ["SessionNew"]

    trio.run(main)


def test_what_happened_last_is_written_at_the_end_and_open_sessions_get_theirs(
    tmp_path: Path, started: list[trio.Process]
) -> None:
    async def main() -> EventReader:
        async with _noting(tmp_path) as (state, reader, entries):
            _new(state)
        assert state.happenings is None
        assert entries.entries == []
        return reader

    assert _types(trio.run(main)) == ["SessionNew", "SessionClosed"]
    assert [process.returncode for process in started] == [0]


def test_sessions_are_counted_on_from_the_log(tmp_path: Path) -> None:
    async def main() -> int:
        async with _noting(tmp_path) as (state, _, _):
            _new(state)
            return state.graph.last_session

    assert trio.run(main) == 1
    assert trio.run(main) == 2


def test_without_settings_nothing_is_noted(tmp_path: Path) -> None:
    async def main() -> None:
        state = State()
        log, _ = capturing_logger()
        async with open_history(None, state, _now, log) as reader:
            assert reader is None
            assert state.happenings is None

    trio.run(main)
    assert not list(tmp_path.iterdir())


def test_the_log_is_finished_when_the_server_is_cancelled_or_breaks(tmp_path: Path) -> None:
    async def cancelled() -> None:
        with trio.CancelScope() as scope:
            async with _noting(tmp_path) as (state, _, _):
                _new(state)
                scope.cancel()
                await trio.sleep_forever()

    async def broken() -> None:
        async with _noting(tmp_path) as (state, _, _):
            _new(state)
            raise RefusedError("not like this")

    trio.run(cancelled)
    with pytest.raises(RefusedError, match="not like this"):
        trio.run(broken)

    assert _types(EventReader(tmp_path / FILE)) == ["SessionNew", "SessionClosed"] * 2


def test_a_writer_that_is_stuck_holds_up_neither_the_server_nor_its_end(
    tmp_path: Path, started: list[trio.Process]
) -> None:
    async def main() -> None:
        async with _noting(tmp_path) as (state, _, entries):
            os.kill(started[0].pid, signal.SIGSTOP)
            happenings = state.happenings
            assert happenings is not None
            happenings.limit = 100_000
            # More than the pipe holds, then more than the state keeps.
            for _ in range(20):
                for _ in range(1000):
                    _new(state)
                await trio.sleep(1)  # by a clock that jumps as soon as everybody waits
            assert 200_000 < happenings.bytes < 201_000
        assert [entry["event"] for entry in entries.entries] == [
            "event log is incomplete: the disk does not answer"
        ]

    trio.run(main, clock=MockClock(autojump_threshold=0))
    assert started[0].returncode == -signal.SIGKILL


def test_a_writer_that_is_killed_ends_the_log_and_not_the_server(
    tmp_path: Path, started: list[trio.Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "INTERVAL", 0.01)

    async def main() -> None:
        async with _noting(tmp_path) as (state, _, entries):
            os.kill(started[0].pid, signal.SIGKILL)
            await started[0].wait()
            _new(state)
            await until(lambda: state.happenings is None)
            _new(state)
        assert [entry["event"] for entry in entries.entries] == ["event log writer has failed"]
        assert entries.entries[0]["status"] == -signal.SIGKILL

    trio.run(main)


def test_the_writer_hears_no_signals_for_the_whole_group(
    tmp_path: Path, started: list[trio.Process]
) -> None:
    async def main() -> EventReader:
        with trio.fail_after(60):
            async with _noting(tmp_path) as (state, reader, _):
                _new(state)
                await until(lambda: _types(reader))
                assert os.getsid(started[0].pid) != os.getsid(0)
                os.kill(started[0].pid, signal.SIGTERM)
                os.kill(started[0].pid, signal.SIGINT)
                _new(state)
        return reader

    events = _types(trio.run(main))
    assert events == ["SessionNew"] * 2 + ["SessionClosed"] * 2


def test_two_servers_cannot_write_one_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "PATIENCE", 0.05)

    async def main() -> None:
        log, _ = capturing_logger()
        async with open_history(HistorySettings(tmp_path), State(), _now, log):
            pass

    lock = open_lock(tmp_path / FILE)
    assert take_lock(lock)
    try:
        with pytest.raises(StartError, match="is written by another server; choose another --lo"):
            trio.run(main)
    finally:
        os.close(lock)


def test_the_writer_of_a_server_that_was_killed_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = open_lock(tmp_path / FILE)
    assert take_lock(lock)
    wait = keeper.wait_for_lock

    async def main() -> None:
        log, _ = capturing_logger()
        waiting = trio.Event()

        async def tell_and_wait(lock: int) -> None:
            waiting.set()
            await wait(lock)

        async def release() -> None:
            await waiting.wait()
            os.close(lock)

        monkeypatch.setattr(keeper, "wait_for_lock", tell_and_wait)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(release)
            async with open_history(HistorySettings(tmp_path), State(), _now, log) as reader:
                assert reader is not None

    trio.run(main)
