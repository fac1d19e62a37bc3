"""Following a session: a client gets its finished tasks in their order, each of them once.

The session notes the order from the first such request on. A client says how many entries it knows
and gets the others. So a request costs the same whatever the client waits for, and a client that
asks again after a lost answer misses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from rain.base.ids import TaskId
from rain.base.states import ObjectState
from rain.base.wire.answers import WaitAnswer
from rain.graph import Session, Task, Wait, WaitMode
from rain.server.core import waiting
from rain.server.core.messages import Answered, Asked
from rain.server.core.state import State

MODES = (WaitMode.NEWS, WaitMode.GLANCE)

NOBODY = TaskId(0)
"""The entry in an answer for a task that was removed, so that the client counts correctly."""


def add(state: State, event: Asked, session: Session, mode: WaitMode, since: int) -> None:
    """Answers at once if there is news, or if the client does not wait for any."""
    if session.done is None:
        ended = (task.id for task in session.own_tasks if task.is_done)
        session.done = {task_id: place for place, task_id in enumerate(ended)}
        session.done_count = len(session.done)
    by_owner = session.client.id == event.client
    wait = Wait(event.request, mode, session, since=since, by_owner=by_owner)
    if mode is WaitMode.GLANCE or session.done_count > wait.since:
        _answer(state, wait)
    else:
        waiting.keep(state, wait, 1)
        session.followers.append(wait)


def done(state: State, tasks: Sequence[Task]) -> None:
    """Tasks are done, in whatever way: notes them, and tells those who wait for news."""
    waited: dict[Session, None] = {}
    for task in tasks:
        session = task.session
        if session.done is not None:
            session.done.pop(task.id, None)  # it may have run again
            session.done[task.id] = session.done_count
            session.done_count += 1
            if session.followers:
                waited[session] = None
    for session in waited:
        followers, session.followers = session.followers, []
        for wait in followers:
            waiting.drop(state, wait)
            _answer(state, wait)


def _ended_since(session: Session, since: int) -> list[TaskId]:
    """Those that ended after the first `since`; places of tasks that have gone are counted, too."""
    found: list[TaskId] = []
    for task_id, place in reversed((session.done or {}).items()):
        if place < since:
            break
        found.append(task_id)
    found.reverse()
    return found


def _answer(state: State, wait: Wait) -> None:
    session = wait.session
    ended = _ended_since(session, wait.since)
    missing = max(session.done_count - wait.since, 0) - len(ended)
    answer = WaitAnswer(tasks=[*[NOBODY] * missing, *ended])
    for task_id in ended:
        task = session.tasks[task_id]
        if task.failure is not None:
            answer.failed.append(task_id)
            if task.failure.cancelled:
                answer.cancelled.append(task_id)
        for output in task.outputs:
            if output.state is not ObjectState.UNFINISHED:
                answer.objects.append(output.id)
                if output.state is ObjectState.FAILED:
                    answer.failed.append(output.id)
    if session.undelivered and wait.by_owner:
        waiting.deliver(session, state.settings.delivery_limit, answer.delivery)
    state.emit(Answered(wait.request, answer))
