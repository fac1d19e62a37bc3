"""What the process does that writes the event log, without the process."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from rain.base.ids import ClientId, KindId, SessionId, TaskId, pack
from rain.base.kinds import TaskKind
from rain.base.wire.submission import Submission, TaskColumns
from rain.graph import Session
from rain.graph.session import Client
from rain.server.core.collector import Happenings
from rain.server.core.happenings import (
    ClientSubmit,
    GovernorNew,
    Happening,
    SessionNew,
    Taken,
)
from rain.server.history.store import FILE, EventStore, open_store
from rain.server.history.writer import Writer, next_batch, packed, run

Reports = list[tuple[str, dict[str, object]]]


def _new(session: int) -> SessionNew:
    return SessionNew(1000.0, SessionId(session), ClientId(1), "", "")


def _events(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT event FROM events ORDER BY id").fetchall()
    return [json.loads(event)["type"] for (event,) in rows]


def test_batches_survive_the_pipe() -> None:
    session = Session(SessionId(1), Client(ClientId(1)))
    kind = TaskKind(KindId(pack(1, 10)), "py/", "work")
    session.task_kinds[kind.id] = kind
    happenings = Happenings()
    columns = TaskColumns([TaskId(pack(1, 11))], [kind.id], [b"config"], [0])
    happenings.submitted(1000.0, session, Submission(SessionId(1), [kind], [], columns))
    happenings.add(GovernorNew(1001.0, "host:1"))
    first, second = happenings.take(), Taken([], 7)

    source = io.BytesIO(packed(first) + packed(second))

    assert next_batch(source) == first
    assert next_batch(source) == second
    assert next_batch(source) is None


@pytest.mark.parametrize("kept", [0, 5, 8, 20, -1])
def test_a_batch_that_is_cut_off_is_the_end(kept: int) -> None:
    whole = packed(Taken([_new(1)]))

    assert next_batch(io.BytesIO(whole[:kept])) is None


def test_only_the_kinds_of_a_submission_travel_with_it() -> None:
    session = Session(SessionId(1), Client(ClientId(1)))
    for number in range(10, 20):
        kind = TaskKind(KindId(pack(1, number)), "py/")
        session.task_kinds[kind.id] = kind
    happenings = Happenings()
    columns = TaskColumns([TaskId(pack(1, 30))], [KindId(pack(1, 12))], [b""], [0])

    happenings.submitted(1000.0, session, Submission(SessionId(1), [], [], columns))

    (happening,) = happenings.take().happenings
    assert isinstance(happening, ClientSubmit)
    assert [*happening.task_kinds] == [pack(1, 12)]


def test_much_is_sent_in_parts_that_are_not_too_large() -> None:
    taken = Taken([_new(number) for number in range(1, 26)], lost=3)

    parts = [*taken.parts(10)]

    assert [part.count for part in parts] == [10, 10, 5]
    assert [part.lost for part in parts] == [0, 0, 3]
    assert [*Taken([]).parts(10)] == []
    assert [part.lost for part in Taken([], 3).parts(10)] == [3]


def test_all_batches_are_written_and_open_sessions_end_with_the_source(tmp_path: Path) -> None:
    source = io.BytesIO(packed(Taken([_new(1)])) + packed(Taken([_new(2)])))
    reports: Reports = []

    run(tmp_path / FILE, source, lambda event, details: reports.append((event, details)))

    assert _events(tmp_path / FILE) == ["SessionNew", "SessionNew"] + ["SessionClosed"] * 2
    assert reports == []


def test_a_full_disk_is_reported_once_and_leaves_a_gap_when_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    reports: Reports = []
    with closing(open_store(tmp_path / FILE)) as store:
        writer = Writer(
            store, lambda: 1000.0, lambda event, details: reports.append((event, details))
        )
        with monkeypatch.context() as patch:
            patch.setattr(EventStore, "write", full)
            writer.write(Taken([_new(1)]))
            writer.write(Taken([_new(2), _new(3)], lost=4))
        writer.write(Taken([_new(4)]))
        writer.write(Taken([_new(5)]))

    assert _events(tmp_path / FILE) == ["EventsLost", "SessionNew", "SessionNew"]
    assert reports == [
        ("event log cannot be written", {"error": "database or disk is full"}),
        ("events are missing in the event log", {"events": 7}),
    ]


def test_what_was_lost_on_the_way_is_noted_and_reported(tmp_path: Path) -> None:
    reports: Reports = []
    with closing(open_store(tmp_path / FILE)) as store:
        writer = Writer(
            store, lambda: 1000.0, lambda event, details: reports.append((event, details))
        )

        writer.write(Taken([], lost=4))

    assert _events(tmp_path / FILE) == ["EventsLost"]
    assert reports == [("events are missing in the event log", {"events": 4})]


def test_a_disk_that_is_full_at_the_end_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> Sequence[Happening]:
        raise sqlite3.OperationalError("database or disk is full")

    reports: Reports = []
    with closing(open_store(tmp_path / FILE)) as store:
        writer = Writer(
            store, lambda: 1000.0, lambda event, details: reports.append((event, details))
        )
        monkeypatch.setattr(EventStore, "close_lost_sessions", full)

        writer.finish()

    assert reports == [("event log cannot be finished", {"error": "database or disk is full"})]
