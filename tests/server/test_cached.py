"""What the cache has said of tasks is told to who asks for them, and written down."""

from rain.base.caching import TAKEN
from rain.base.ids import TaskId
from rain.base.wire.requests import ReportsOf
from rain.base.wire.update import TaskNote, Update
from rain.server.core.finishing import learn
from rain.server.core.messages import Asked
from tests.support.events import listen
from tests.support.fake_client import reports_of
from tests.support.scenes import Scene, scene


def told(s: Scene, task: TaskId) -> str:
    request = s.world.request()
    s.world.turn(Asked(s.client.id, request, ReportsOf((task,), (), False)))
    answer = s.world.answers[request]
    cache: str = reports_of(answer)[0][0].cache
    return cache


def finish(s: Scene, task: TaskId, why: str) -> None:
    s.assign(task)
    update = s.governors[0].finished(task)
    update.task_notes.append(TaskNote(task, cache=why))
    s.governors[0].send(update)


def test_why_a_task_runs_is_known_while_it_runs() -> None:
    s = scene(1)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)
    assert told(s, task) == ""
    s.governors[0].send(Update(task_notes=[TaskNote(task, cache="ran: no entry")]))
    assert told(s, task) == "ran: no entry"


def test_where_its_outputs_came_from_is_in_the_event_log() -> None:
    s = scene(1)
    happenings = listen(s.world)
    task, (made,) = s.draft.task()
    s.client.compute(s.draft, made)
    finish(s, task, TAKEN)
    assert told(s, task) == TAKEN
    (end,) = [one for one in happenings.take().happenings if type(one).__name__ == "TasksFinished"]
    assert TAKEN in repr(end)


def test_news_of_another_governor_is_ignored() -> None:
    s = scene(1, 1)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)
    s.governors[1].send(Update(task_notes=[TaskNote(task, cache=TAKEN)]))
    assert told(s, task) == ""


def test_what_came_from_the_cache_says_nothing_of_how_long_tasks_take() -> None:
    s = scene(1)
    tasks = [s.draft.task()[0] for _ in range(2)]
    s.submit()
    finish(s, tasks[0], TAKEN)
    finish(s, tasks[1], "ran: no entry")
    state = s.world.reactor.state
    learn(state)
    (session,) = state.graph.sessions.values()
    assert [one.finished for one in session.learned.values()] == [1]
