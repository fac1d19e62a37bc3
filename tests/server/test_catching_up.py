"""An event log that begins in the middle of a run tells how things stand, and then goes on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from rain.base.failures import OnFailure
from rain.base.ids import unpack
from rain.base.wire.update import TaskNote
from rain.server.core.catching_up import note_all
from rain.server.core.collector import Happenings
from rain.server.dashboard.digest import Digest, LoggedState
from rain.server.dashboard.reading import catch_up, task
from rain.server.history.store import FILE, open_store
from tests.support.scenes import Scene, scene


def log(s: Scene) -> Happenings:
    """The log begins."""
    happenings = s.world.state.happenings = Happenings()
    note_all(s.world.state, happenings, s.world.now)
    return happenings


def digest_of(folder: Path, s: Scene, happenings: Happenings) -> Digest:
    with closing(open_store(folder / FILE)) as store:
        store.write(s.world.now, happenings.take().happenings, 0)
    digest = Digest(1)
    assert catch_up(folder / FILE, digest) == 1.0
    return digest


def test_the_log_has_every_task_of_an_open_session_as_it_stands(tmp_path: Path) -> None:
    s = scene(1)
    finished, (made,) = s.draft.task()
    failed, _ = s.draft.task()
    running, _ = s.draft.task()
    waits, _ = s.draft.task(made)
    s.client.compute(s.draft, made)
    for one in (finished, failed, running):
        s.assign(one)
    update = s.governors[0].finished(finished)
    update.task_notes.append(TaskNote(finished, logs="printed"))
    s.governors[0].send(update)
    s.governors[0].send(s.governors[0].failed(failed, "why"))
    s.governors[0].start(running)

    digest = digest_of(tmp_path, s, log(s))

    marks = {
        one: LoggedState(digest.columns.mark[unpack(one).id]) for one in (finished, failed, running)
    }
    assert marks == {
        finished: LoggedState.FINISHED,
        failed: LoggedState.FAILED,
        running: LoggedState.RUNNING,
    }
    assert digest.columns.mark[unpack(waits).id] == LoggedState.WAITING
    assert [tasks for _, tasks in digest.submissions] == [4]
    assert (digest.closed, digest.failed_task) == (0.0, unpack(failed).id)
    told = task(tmp_path / FILE, 1, unpack(finished).id)
    assert told is not None
    assert [entry["event"] for entry in told["story"]] == ["TaskStarted", "TaskFinished"]
    assert told["story"][-1]["info"]["logs"] == "printed"


def test_what_happens_afterwards_goes_on_from_there(tmp_path: Path) -> None:
    s = scene(1)
    running, _ = s.draft.task()
    s.submit()
    s.assign(running)
    s.governors[0].start(running)
    happenings = log(s)
    s.governors[0].finish(running)
    later = s.client.session("later")
    late, _ = later.task()
    s.client.submit(later)

    digest = digest_of(tmp_path, s, happenings)

    assert digest.columns.mark[unpack(running).id] == LoggedState.FINISHED
    second = Digest(2)
    assert catch_up(tmp_path / FILE, second) == 1.0
    assert second.columns.mark[unpack(late).id] == LoggedState.WAITING


def test_the_tasks_of_a_failure_that_were_skipped_are_told_as_skipped(tmp_path: Path) -> None:
    s = scene(1)
    first, (made,) = s.draft.task()
    second, _ = s.draft.task(made)
    s.client.compute(s.draft, made)
    s.assign(first)
    s.governors[0].send(s.governors[0].failed(first, "why"))

    digest = digest_of(tmp_path, s, log(s))

    assert digest.columns.mark[unpack(second).id] == LoggedState.SKIPPED


def test_tasks_that_were_cancelled_before_are_told_as_cancelled(tmp_path: Path) -> None:
    s = scene(1, on_failure=OnFailure.CONTINUE)
    first, (made,) = s.draft.task()
    second, _ = s.draft.task(made)
    s.submit()
    s.assign(first)
    s.client.cancel(s.draft.session, first, always=True)

    digest = digest_of(tmp_path, s, log(s))

    marks = [digest.columns.mark[unpack(task).id] for task in (first, second)]
    assert marks == [LoggedState.CANCELLED, LoggedState.CANCELLED]


def test_governors_clients_and_sessions_without_tasks_are_in_the_log() -> None:
    kinds = [type(one).__name__ for one in log(scene(1)).take().happenings]
    assert kinds == ["GovernorNew", "ClientNew", "SessionNew"]


def test_a_server_that_returns_adds_to_its_log_only_what_that_lacks(tmp_path: Path) -> None:
    # given: a log with a session, of which one task has finished and one runs
    s = scene(1)
    finished, _ = s.draft.task(keep=True)
    running, _ = s.draft.task(keep=True)
    s.submit()
    s.assign(finished, running)
    s.governors[0].start(running)
    s.governors[0].finish(finished)
    digest_of(tmp_path, s, log(s))
    # and: what came just before the server was killed is not in it
    s.world.state.happenings = None
    late, _ = s.draft.task(keep=True)
    s.submit()
    s.assign(late)
    s.governors[0].finish(running, late)

    # when: it comes back
    graph = s.world.state.graph
    with closing(open_store(tmp_path / FILE)) as store:
        assert store.close_lost_sessions(s.world.now, "lost", graph.sessions) == 0
        logged = {session: store.knows_of(session) for session in store.open_sessions()}
    happenings = Happenings()
    note_all(s.world.state, happenings, s.world.now, logged)
    digest = digest_of(tmp_path, s, happenings)

    # then
    assert list(logged) == [s.draft.session]
    assert [tasks for _, tasks in digest.submissions] == [2, 1]
    assert digest.closed == 0.0
    for one in (finished, running, late):
        place = digest.columns.place(unpack(one).id)
        assert digest.columns.mark[place] == LoggedState.FINISHED
    assert digest.columns.runs[digest.columns.place(unpack(running).id)] == 1
    assert _count(tmp_path, "SessionNew") == 1
    assert _count(tmp_path, "TaskFinished") == 3


def test_a_session_that_has_gone_with_its_server_is_closed_in_the_log(tmp_path: Path) -> None:
    s = scene(1)
    s.draft.task()
    s.submit()
    digest_of(tmp_path, s, log(s))
    with closing(open_store(tmp_path / FILE)) as store:
        assert store.close_lost_sessions(s.world.now, "lost") == 1
        assert store.open_sessions() == []


def _count(folder: Path, event_type: str) -> int:
    with closing(sqlite3.connect(folder / FILE)) as database:
        query = "SELECT count(*) FROM events WHERE event_type = ?"
        ((count,),) = database.execute(query, (event_type,))
    return int(count)
