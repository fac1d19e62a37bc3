"""What tasks print is kept with their session, of very much the latest part."""

from __future__ import annotations

import pytest

from rain.base.ids import TaskId
from rain.base.wire.requests import ReportsOf
from rain.base.wire.update import TaskNote
from rain.server.core.messages import Asked
from tests.support.events import listen
from tests.support.fake_client import reports_of
from tests.support.scenes import Scene, scene


def logs(s: Scene, task: TaskId, *, asked: bool = True) -> str:
    request = s.world.request()
    s.world.turn(Asked(s.client.id, request, ReportsOf((task,), (), asked)))
    answer = s.world.answers[request]
    logs: str = reports_of(answer)[0][0].logs
    return logs


def finish(s: Scene, task: TaskId, text: str) -> None:
    s.assign(task)
    update = s.governors[0].finished(task)
    update.task_notes.append(TaskNote(task, logs=text))
    s.governors[0].send(update)


def test_they_are_told_to_who_asks_for_them() -> None:
    s = scene(1)
    task, _ = s.draft.task()
    s.submit()
    assert logs(s, task) == ""
    finish(s, task, "printed")
    assert logs(s, task) == "printed"
    assert logs(s, task, asked=False) == ""


def test_those_of_a_failed_task_are_kept_in_a_session_that_goes_on_and_in_the_event_log() -> None:
    s = scene(1)
    happenings = listen(s.world)
    task, (made,) = s.draft.task()
    s.client.compute(s.draft, made)
    s.assign(task)
    update = s.governors[0].failed(task, "why")
    update.task_notes.append(TaskNote(task, logs="printed"))
    s.governors[0].send(update)
    assert logs(s, task) == "printed"
    (end,) = [one for one in happenings.take().happenings if type(one).__name__ == "TaskFailed"]
    assert "printed" in repr(end)


def nine_that_print(characters: int) -> tuple[Scene, list[TaskId]]:
    """Nine finished tasks, each of which has printed this much."""
    s = scene(1)
    many = [s.draft.task()[0] for _ in range(9)]
    s.submit()
    for task in many:
        finish(s, task, "x" * characters)
    return s, many


def test_the_oldest_are_let_go_when_a_session_prints_very_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rain.server.core.logs.LIMIT", 80_000)
    s, many = nine_that_print(10_000)
    assert "dropped older output" in logs(s, many[0])
    assert len(logs(s, many[-1])) == 10_000


def test_those_of_the_latest_tasks_stay_when_the_oldest_are_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rain.server.core.logs.LIMIT", 80_000)
    s, many = nine_that_print(9_000)
    kept = [task for task in many if len(logs(s, task)) == 9_000]
    assert kept == many[-4:]  # half of the limit


def test_one_that_has_printed_nothing_is_not_said_to_have_lost_it() -> None:
    s = scene(1)
    task, _ = s.draft.task(keep=True)
    s.submit()
    s.run(task)
    assert logs(s, task) == ""
