"""What the dashboard asks for."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import cast

import pytest
import trio

from rain.base.ids import FIRST_SHARED, SessionId, TaskId, spell, unpack
from rain.base.wire.answers import RunningTask, TaskMemory
from rain.rpc.handlers import GovernorLink, Reply
from rain.server.core.messages import ClientLeft, GovernorLeft
from rain.server.core.state import State
from rain.server.dashboard import library as library_module
from rain.server.dashboard import newest as newest_module
from rain.server.dashboard.digest import Digest
from rain.server.dashboard.library import Library
from rain.server.history.reader import EventReader
from rain.server.http.site import HttpSite
from rain.server.live import Live
from tests.server.dashboard.stories import Story, story
from tests.server.http.asking import Got, ask, serving, site
from tests.support.logs import capturing_logger

MARKUP = "<script>alert(1)</script>"
PATHS = [
    "/api/machines",
    "/api/events",
    "/api/sessions",
    "/api/session?session=1",
    "/api/graph?session=1",
    "/api/timeline?session=1",
    "/api/tasks?session=1",
    "/api/objects?session=1",
]


def get(asked: HttpSite, *paths: str) -> list[Got]:
    """Some requests, one after the other."""
    answers: list[Got] = []

    async def use(address: str) -> None:
        answers.extend([await ask(address, "GET", path) for path in paths])

    serving(asked.answer, use)
    return answers


def told(tale: Story) -> HttpSite:
    return site(tale.world.state, EventReader(tale.write()))


def lived(folder: Path) -> tuple[Story, int]:
    """A session of two tasks, of which one has finished; and the number of that one."""
    tale = story(folder)
    draft = tale.client.session(MARKUP)
    task, (made,) = draft.task()
    draft.task(made)
    tale.client.submit(draft)
    tale.governors[0].finish(task)
    return tale, unpack(task).id


def test_sessions_tell_how_far_they_are_as_plain_text(tmp_path: Path) -> None:
    tale, _ = lived(tmp_path)

    (answer,) = get(told(tale), "/api/sessions")

    (session,) = answer.json["sessions"]
    assert answer.headers["content-type"] == "application/json"
    assert (session["name"], session["status"]) == (MARKUP, "open")
    assert (session["tasks"], session["unfinished"]) == (2, 1)


def test_a_session_that_is_over_is_told_from_the_log_alone(tmp_path: Path) -> None:
    tale, number = lived(tmp_path)
    tale.client.close(SessionId(1))

    summary, tasks, task, objects, sessions = get(
        told(tale),
        "/api/session?session=1",
        "/api/tasks?session=1&state=finished",
        f"/api/task?session=1&task={number}",
        "/api/objects?session=1",
        "/api/sessions",
    )

    assert (summary.json["status"], summary.json["read"]) == ("closed", 1.0)
    assert summary.json["counts"]["finished"] == 1
    assert [row["task"] for row in tasks.json["tasks"]] == [number]
    assert task.json["spec"]["id"] == [1, number]
    assert [entry["event"] for entry in task.json["story"]] == ["TaskStarted", "TaskFinished"]
    assert task.json["now"] is None
    assert (objects.json["living"], objects.json["total"]) == (False, 2)
    assert sessions.json["sessions"][0]["tasks"] is None


def test_a_task_of_an_open_session_tells_why_it_waits(tmp_path: Path) -> None:
    tale, number = lived(tmp_path)

    (answer,) = get(told(tale), f"/api/task?session=1&task={number}")

    assert answer.json["now"]["why"].startswith("It has finished on")


def test_a_running_task_shows_what_it_has_printed_so_far_and_its_memory(tmp_path: Path) -> None:
    class Link:
        def running(self, task: TaskId, reply: Reply[RunningTask]) -> None:
            reply.answer(RunningTask(f"{spell(task)} has printed this", TaskMemory(3, 5, 2)))

    tale = story(tmp_path)
    draft = tale.client.session("prints")
    task, _ = draft.task()
    tale.client.submit(draft)
    number = unpack(task).id
    state = tale.world.state
    log, _ = capturing_logger()
    live = Live(state, {tale.governors[0].id: cast("GovernorLink", Link())})
    asked = HttpSite.of(state, EventReader(tale.write()), lambda: 2000.0, log, live=live)

    (answer,) = get(asked, f"/api/task?session=1&task={number}")

    assert answer.json["now"]["printed"] == f"1/{number} has printed this"
    assert answer.json["now"]["memory"] == {"now": 3, "peak": 5, "mapped": 2}


def test_graph_and_timeline_are_ready_to_draw(tmp_path: Path) -> None:
    tale, number = lived(tmp_path)

    graph, timeline = get(told(tale), "/api/graph?session=1", "/api/timeline?session=1&since=0")

    assert graph.json["single"]
    assert len(graph.json["nodes"]) == 4
    (row,) = timeline.json["governors"]
    assert row["bars"][0][3] == number


def test_events_come_newest_first_cut_and_by_filter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newest_module, "MOST_EVENTS", 3)
    monkeypatch.setattr(newest_module, "_TEXT", 20)
    tale, number = lived(tmp_path)

    newest, after, chosen = get(
        told(tale),
        "/api/events",
        "/api/events?after=5",
        "/api/events?types=SessionNew,GovernorNew&session=1",
    )

    ids = [event["id"] for event in newest.json["events"]]
    assert ids == sorted(ids, reverse=True)
    assert len(ids) == 3
    assert {len(event["text"]) for event in newest.json["events"]} == {20}
    assert newest.json["events"][0]["about"].startswith(f"task 1/{number} · 127.0.0.1:")
    assert [event["id"] for event in after.json["events"]] == [6]
    assert [event["type"] for event in chosen.json["events"]] == ["SessionNew"]


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("/api/session", "session: this must be a whole number"),
        ("/api/session?session=x", "session: this must be a whole number"),
        ("/api/session?session=-1", "session: this must be a whole number"),
        ("/api/session?session=" + "9" * 5000, "session: this must be a whole number"),
        ("/api/session?session=99999999999", "session: this must be a whole number"),
        ("/api/session?colour=red", "unknown part 'colour'; known: session"),
        ("/api/timeline?session=1&since=nan", "since: this must be a number of seconds"),
        ("/api/tasks?session=1&state=lost", "state: this must be one of waiting, running, "),
        ("/api/events?after=x", "after: this must be a whole number"),
    ],
)
def test_a_wrong_question_is_refused_with_one_line(
    tmp_path: Path, path: str, complaint: str
) -> None:
    (answer,) = get(told(story(tmp_path)), path)

    assert answer.status == 400
    assert answer.body.decode().startswith(complaint)
    assert answer.body.count(b"\n") == 1


def test_a_governor_that_leaves_in_order_is_no_trouble(tmp_path: Path) -> None:
    tale = story(tmp_path)
    for cause in ("it has stopped", "the other side closed the connection"):
        governor = tale.world.governor()
        tale.world.turn(GovernorLeft(governor.id, cause))
    client = tale.world.client()
    tale.world.turn(ClientLeft(client.id, "the other side closed the connection"))

    (answer,) = get(told(tale), "/api/events?types=GovernorRemoved,ClientRemoved")

    found = [(event["type"], event["trouble"]) for event in answer.json["events"]]
    assert found == [
        ("ClientRemoved", False),
        ("GovernorRemoved", True),
        ("GovernorRemoved", False),
    ]


@pytest.mark.parametrize("number", [10, FIRST_SHARED])
def test_what_nobody_knows_is_not_found(tmp_path: Path, number: int) -> None:
    (answer,) = get(told(story(tmp_path)), f"/api/task?session=1&task={number}")

    assert answer.status == 404


@pytest.mark.parametrize("path", PATHS)
def test_without_an_event_log_each_path_says_so(path: str) -> None:
    (answer,) = get(site(State()), path)

    assert answer.status == 404
    assert b"keeps no event log" in answer.body


@pytest.mark.parametrize("path", PATHS)
def test_a_log_that_cannot_be_read_is_an_answer_and_not_the_end(tmp_path: Path, path: str) -> None:
    asked = site(State(), EventReader(tmp_path / "gone.db"))

    first, second = get(asked, path, path)

    assert (first.status, second.status) == (503, 503)
    assert b"the event log cannot be read" in first.body


def test_a_log_that_is_not_ours_is_an_answer_and_not_the_end(tmp_path: Path) -> None:
    tale, _ = lived(tmp_path)
    asked = told(tale)
    with sqlite3.connect(tale.path) as database:
        database.execute("UPDATE events SET event = '{}' WHERE event_type = 'SessionNew'")
    database.close()

    (answer,) = get(asked, "/api/session?session=1")

    assert answer.status == 503
    assert b"is not understood" in answer.body


def test_only_the_sessions_that_were_asked_for_last_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_module, "MOST_DIGESTS", 2)
    path = story(tmp_path).write()
    seen: list[Digest] = []

    def look(digest: Digest, read: float) -> None:
        seen.append(digest)

    async def main() -> None:
        library = Library(path)
        for session in (1, 2, 1, 3, 1, 2):
            await library.ask(session, look)

    trio.run(main)

    first, second, first_again, _, first_still, second_again = seen
    assert first is first_again
    assert first is first_still
    assert second is not second_again


def test_a_question_that_is_given_up_leaves_no_half_read_session(tmp_path: Path) -> None:
    tale, _ = lived(tmp_path)
    path = tale.write()

    async def main() -> list[int]:
        library = Library(path)
        tasks: list[int] = []

        def keep(digest: Digest, _: float) -> None:
            tasks.append(digest.tasks)

        with trio.CancelScope() as scope:
            scope.cancel()
            await library.ask(1, keep)
        await library.ask(1, keep)
        return tasks

    assert trio.run(main)[-1] == 2


def test_answers_stay_small_however_large_a_session_is(tmp_path: Path) -> None:
    tale = story(tmp_path, cpus=1000)
    draft = tale.client.session()
    tasks = [draft.task(outputs=2)[0] for _ in range(3000)]
    tale.client.submit(draft)
    for start in range(0, len(tasks), 128):
        tale.governors[0].finish(*tasks[start : start + 128])

    answers = get(told(tale), *PATHS)

    assert {answer.status for answer in answers} == {200}
    assert max(len(answer.body) for answer in answers) < 200_000
    assert json.loads(answers[3].body)["counts"]["finished"] == 3000
