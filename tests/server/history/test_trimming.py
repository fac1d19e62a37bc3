"""The event log keeps to its limits, and says what is left."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rain.base.ids import ClientId, SessionId, TaskId, pack
from rain.server.core.happenings import (
    CloseReason,
    GovernorNew,
    Happening,
    SessionClosed,
    SessionNew,
    Taken,
    TasksStarted,
)
from rain.server.history import trimming
from rain.server.history.retention import Keep
from rain.server.history.store import FILE, EventStore, open_store
from rain.server.history.trimming import EVERY
from rain.server.history.writer import Writer


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EventStore]:
    with closing(open_store(tmp_path / FILE)) as opened:
        yield opened


def session(number: int, at: float, tasks: int = 10, *, over: bool = True) -> list[Happening]:
    """A session that lives for ten seconds."""
    ids = [TaskId(pack(number, 10 + place)) for place in range(tasks)]
    lived: list[Happening] = [
        SessionNew(at, SessionId(number), ClientId(1), "", ""),
        TasksStarted(at + 1.0, "here:1", ids),
    ]
    if over:
        end = SessionClosed(at + 10.0, SessionId(number), CloseReason.CLIENT_CLOSE, "")
        lived.append(end)
    return lived


def sessions_in(folder: Path) -> list[int | None]:
    """Of which sessions there still is something; None for what belongs to none."""
    with closing(sqlite3.connect(folder / FILE)) as database:
        return [found for (found,) in database.execute("SELECT DISTINCT session FROM events")]


def trim(store: EventStore, keep: Keep, now: float) -> int:
    return store.trimmer(keep, lambda: now).trim()


def test_sessions_go_so_long_after_they_were_over(store: EventStore, tmp_path: Path) -> None:
    for number, at in ((1, 100.0), (2, 200.0), (3, 300.0), (4, 400.0)):
        store.write(at, session(number, at), 0)

    deleted = trim(store, Keep(seconds=100.0, bytes=None), now=350.0)

    assert deleted == 2 * 12
    assert sessions_in(tmp_path) == [3, 4]


def test_a_session_that_is_open_stays_however_old_it_is(store: EventStore, tmp_path: Path) -> None:
    store.write(0.0, session(1, 100.0, over=False), 0)
    store.write(0.0, session(2, 100.0), 0)
    store.write(0.0, session(3, 100.0), 0)

    trim(store, Keep(seconds=10.0, bytes=None), now=1e6)

    assert sessions_in(tmp_path) == [1, 3]  # the newest one stays for its number
    assert store.last_session() == 3


def test_what_belongs_to_no_session_goes_by_its_age(store: EventStore, tmp_path: Path) -> None:
    store.write(0.0, [GovernorNew(100.0 + place, "here:1") for place in range(10)], 0)

    deleted = trim(store, Keep(seconds=5.0, bytes=None), now=110.0)

    assert deleted == 5
    assert sessions_in(tmp_path) == [None]


def test_the_file_shrinks_to_its_limit_and_the_newest_are_left(
    store: EventStore, tmp_path: Path
) -> None:
    # Given many sessions in far more than the limit
    limit = 1_000_000
    for number in range(1, 21):
        store.write(0.0, session(number, 100.0 * number, tasks=1000), 0)
    assert (tmp_path / FILE).stat().st_size + (tmp_path / f"{FILE}-wal").stat().st_size > 3 * limit

    trim(store, Keep(bytes=limit), now=1e6)

    left = sessions_in(tmp_path)
    assert left == list(range(left[0] or 0, 21))
    assert 1 < len(left) < 10
    store.close()
    assert (tmp_path / FILE).stat().st_size <= limit


def test_open_sessions_lose_their_oldest_events_when_nothing_else_is_left(
    store: EventStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trimming, "SLICE", 100)
    store.write(0.0, session(1, 100.0, tasks=3000, over=False), 0)

    trim(store, Keep(bytes=300_000), now=1e6)

    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        types = [found for (found,) in database.execute("SELECT event_type FROM events")]
    assert types[0] == "SessionNew"
    assert 100 < len(types) < 2500
    assert store.close_lost_sessions(0.0, "the server was lost") == 1


def test_what_can_never_be_deleted_is_no_endless_task(store: EventStore) -> None:
    store.write(0.0, session(1, 100.0, tasks=0, over=False), 0)

    assert trim(store, Keep(bytes=1), now=1e6) == 0


def test_one_call_deletes_a_limited_number_of_slices_and_the_next_one_goes_on(
    store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trimming, "SLICE", 10)
    monkeypatch.setattr(trimming, "MOST_SLICES", 3)
    store.write(0.0, session(1, 100.0, tasks=50), 0)
    store.write(0.0, session(2, 200.0), 0)
    trimmer = store.trimmer(Keep(seconds=1.0, bytes=None), lambda: 1e6)

    assert [trimmer.trim() for _ in range(4)] == [30, 21, 1, 0]


def test_the_writer_looks_now_and_then(store: EventStore, tmp_path: Path) -> None:
    now = 1000.0
    reports: list[str] = []
    writer = Writer(
        store, lambda: now, lambda event, _: reports.append(event), Keep(seconds=50.0, bytes=None)
    )
    writer.write(Taken([*session(1, 945.0), *session(2, 990.0)]))
    assert sessions_in(tmp_path) == [1, 2]

    now += EVERY / 2
    writer.write(Taken(session(3, 990.0, tasks=0)))
    assert sessions_in(tmp_path) == [1, 2, 3]

    now += 10.0
    writer.write(Taken(session(4, 1000.0)))
    assert sessions_in(tmp_path) == [2, 3, 4]
    assert reports == []


def test_a_disk_that_does_not_let_it_delete_is_reported(
    store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    reports: list[str] = []
    writer = Writer(store, lambda: 1000.0, lambda event, _: reports.append(event))
    monkeypatch.setattr(trimming.Trimmer, "trim", full)

    writer.write(Taken(session(1, 100.0)))

    assert reports == ["event log cannot be trimmed"]
