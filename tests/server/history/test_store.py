"""The file of the event log."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rain.base.errors import StartError
from rain.base.ids import ClientId, SessionId, TaskId, pack
from rain.server.core.happenings import (
    CloseReason,
    GovernorNew,
    Happening,
    SessionClosed,
    SessionNew,
    TaskNotes,
    TasksFinished,
    TasksStarted,
)
from rain.server.history import query, reader
from rain.server.history.reader import EventReader
from rain.server.history.store import FILE, EventStore, open_lock, open_store, take_lock


def _write(store: EventStore, *happenings: Happening) -> None:
    store.write(1000.0, happenings, 0)


def _new(session: int) -> SessionNew:
    return SessionNew(1000.0, SessionId(session), ClientId(1), "name", "")


def _closed(session: int) -> SessionClosed:
    return SessionClosed(1001.0, SessionId(session), CloseReason.CLIENT_CLOSE, "")


def _read(path: Path, body: str = "{}") -> list[dict[str, Any]]:
    pages = EventReader(path).pages(query.parse(body.encode()))
    with closing(pages):
        found: list[dict[str, Any]] = []
        while page := pages.next():
            found += json.loads(f"[{page}]")
        return found


def _finished(count: int, notes: dict[TaskId, TaskNotes] | None = None) -> TasksFinished:
    ids = [TaskId(pack(1, 10 + number)) for number in range(count)]
    return TasksFinished(
        1001.5, "host:1", ids, [1000.25] * count, [0.5] * count, [*range(count)], notes or {}
    )


def test_the_table_is_the_one_that_readers_of_old_know(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / FILE)) as store:
        _write(store, _new(4), GovernorNew(1002.5, "host:1"))

        with closing(sqlite3.connect(tmp_path / FILE)) as database:
            rows = database.execute(
                "SELECT id, timestamp, event_type, session, event FROM events"
            ).fetchall()
            indexed = {
                column
                for (name,) in database.execute(
                    "SELECT name FROM pragma_index_list('events')"
                ).fetchall()
                for (column,) in database.execute("SELECT name FROM pragma_index_info(?)", (name,))
            }

    assert FILE == "events.db"
    assert [row[:4] for row in rows] == [
        (1, "1970-01-01T00:16:40.000+00:00", "SessionNew", 4),
        (2, "1970-01-01T00:16:42.500+00:00", "GovernorNew", None),
    ]
    assert json.loads(rows[1][4]) == {"type": "GovernorNew", "governor": "host:1"}
    assert indexed == {"timestamp", "event_type", "session"}


@pytest.mark.parametrize("count", [1, 3, 4, 500, 1201])
def test_any_number_of_rows_is_written_in_order(tmp_path: Path, count: int) -> None:
    started = TasksStarted(1000.0, "host:1", [TaskId(pack(1, 9))])
    with closing(open_store(tmp_path / FILE)) as store:
        _write(store, started, _finished(count))

        rows = _read(tmp_path / FILE)

    assert [row["id"] for row in rows] == [*range(1, 2 * count + 2)]
    assert [(row["event"]["type"], row["event"]["task"][1]) for row in rows] == [
        ("TaskStarted", 9),
        *(("TaskStarted", 10 + number) for number in range(count)),
        *(("TaskFinished", 10 + number) for number in range(count)),
    ]
    assert rows[-1]["time"] == "1970-01-01T00:16:41.500+00:00"


def test_json_of_users_may_be_nested_more_deeply_than_sqlite_reads(tmp_path: Path) -> None:
    depth = 900
    deep = "[" * depth + "]" * depth
    notes = {TaskId(pack(1, 10)): TaskNotes(deep, "")}
    with closing(open_store(tmp_path / FILE)) as store:
        _write(store, _finished(100, notes))

        rows = _read(tmp_path / FILE)

    assert len(rows) == 200
    assert rows[100]["event"]["info"]["user"] == json.loads(deep)


def test_a_batch_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str:
        raise sqlite3.OperationalError("the disk is full")

    with closing(open_store(tmp_path / FILE)) as store:
        with monkeypatch.context() as patch:
            patch.setattr("rain.server.history.rows.session_closed", broken)
            with pytest.raises(sqlite3.OperationalError, match="full"):
                _write(store, _new(1), _closed(1))
        assert _read(tmp_path / FILE) == []

        _write(store, _new(2))
        assert [row["event"]["session"] for row in _read(tmp_path / FILE)] == [2]


def test_a_gap_is_written_where_it_is(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / FILE)) as store:
        store.write(1000.0, [_new(1)], 0)
        store.write(1000.0, [_new(2)], 17)

        events = [row["event"] for row in _read(tmp_path / FILE)]

    assert [event["type"] for event in events] == ["SessionNew", "EventsLost", "SessionNew"]
    assert events[1] == {"type": "EventsLost", "count": 17}


def test_a_log_is_continued_and_sessions_without_an_end_get_it(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / FILE)) as store:
        assert store.last_session() == 0
        _write(store, _new(1), _new(2), _closed(1), _new(3))

    with closing(open_store(tmp_path / FILE)) as store:
        assert store.last_session() == 3
        assert store.close_lost_sessions(2000.0, "the server was lost") == 2
        assert store.close_lost_sessions(2000.0, "the server was lost") == 0

        rows = _read(tmp_path / FILE, '{"event_types": [{"value": "SessionClosed", "mode": "="}]}')

    assert [(row["event"]["session"], row["event"]["reason"]) for row in rows] == [
        (1, "ClientClose"),
        (2, "ServerLost"),
        (3, "ServerLost"),
    ]
    assert rows[1]["event"]["message"] == "the server was lost"


def test_the_lock_of_a_log_is_had_once(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    lock, other = open_lock(path), open_lock(path)
    assert take_lock(lock)
    assert not take_lock(other)

    os.close(lock)

    assert take_lock(other)
    os.close(other)


def test_a_file_that_is_no_event_log_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    path.write_text("something else " * 100)
    with pytest.raises(StartError, match="cannot be used: file is not a database"):
        open_store(path)

    path.unlink()
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE events (number INTEGER)")
    with pytest.raises(StartError, match=r"events\.db cannot be used: .*move it away"):
        open_store(path)


def test_a_folder_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="cannot be locked"):
        open_lock(tmp_path / "nowhere" / "events.db")
    with pytest.raises(StartError, match="cannot be used: unable to open"):
        open_store(tmp_path / "nowhere" / "events.db")


# Reading.


def test_an_answer_comes_in_pages_that_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "PAGE_ROWS", 7)
    with closing(open_store(tmp_path / FILE)) as store:
        _write(store, _finished(10))
        with closing(EventReader(tmp_path / FILE).pages(query.parse(b"{}"))) as pages:
            sizes: list[int] = []
            while page := pages.next():
                sizes.append(len(json.loads(f"[{page}]")))
    assert sizes == [7, 7, 6]

    monkeypatch.setattr(reader, "PAGE_BYTES", 300)
    with closing(EventReader(tmp_path / FILE).pages(query.parse(b"{}"))) as pages:
        lengths: list[int] = []
        while page := pages.next():
            lengths.append(len(json.loads(f"[{page}]")))
    assert sum(lengths) == 20
    assert max(lengths) == 3  # of some 130 bytes each


def test_one_event_that_is_larger_than_a_page_is_still_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "PAGE_BYTES", 10)
    with closing(open_store(tmp_path / FILE)) as store:
        _write(store, _new(1), _new(2))

        assert [row["event"]["session"] for row in _read(tmp_path / FILE)] == [1, 2]


def test_an_answer_ends_with_the_newest_event_of_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "PAGE_ROWS", 1)
    with closing(open_store(tmp_path / FILE)) as store:
        _write(store, _new(1), _new(2))
        with closing(EventReader(tmp_path / FILE).pages(query.parse(b"{}"))) as pages:
            assert '"session":1' in pages.next()
            _write(store, _new(3))
            assert '"session":2' in pages.next()
            assert pages.next() == ""


@pytest.mark.parametrize(
    "body",
    [
        "{}",
        '{"id": {"value": 5, "mode": ">"}}',
        '{"session": {"value": 1, "mode": "="}, "id": {"value": 5, "mode": ">"}}',
        '{"session": {"value": 1, "mode": "<"}}',
        '{"event_types": [{"value": "TaskStarted", "mode": "="}]}',
        '{"event_types": [{"value": "TaskStarted", "mode": ">"}]}',
        '{"event_types": [{"value": "A", "mode": "="}, {"value": "B", "mode": "="}]}',
        '{"session": {"value": 1, "mode": "="}, "event_types": [{"value": "A", "mode": "="}]}',
    ],
)
def test_no_query_sorts_the_whole_log_for_a_page(tmp_path: Path, body: str) -> None:
    with (
        closing(open_store(tmp_path / FILE)),
        closing(sqlite3.connect(tmp_path / FILE)) as database,
    ):
        chosen = query.selection(query.parse(body.encode()))
        plan = database.execute(
            f"EXPLAIN QUERY PLAN SELECT id, event FROM events WHERE id > 0 AND id <= 9"
            f" AND {chosen.where} ORDER BY id LIMIT 9",
            chosen.parameters,
        ).fetchall()

    (step,) = plan
    assert "SEARCH events" in step[3]
    assert "rowid>?" in step[3]
