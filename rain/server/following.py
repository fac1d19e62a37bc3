"""Following a session: a client hears which tasks are done, in that order, each of them once.

The session keeps a list of them as soon as the first client follows. A client says how many entries
it knows and is told the others. So a question costs the same whatever the client waits for, and a
client that asks again after a lost answer misses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from rain.base.ids import TaskId
from rain.base.states import ObjectState
from rain.base.wire import WaitAnswer
from rain.graph import Session, Task, Wait, WaitMode
from rain.server import waiting
from rain.server.messages import AnswerWait, WaitAsked
from rain.server.state import State

MODES = (WaitMode.NEWS, WaitMode.GLANCE)


def add(state: State, event: WaitAsked, session: Session, mode: WaitMode) -> None:
    """Answers at once if there is news, or if the client does not wait for any."""
    if session.done is None:
        session.done = [task.id for task in session.tasks.values() if task.is_done]
    by_owner = session.client.id == event.client
    wait = Wait(event.request, mode, session, since=event.since, by_owner=by_owner)
    if mode is WaitMode.GLANCE or len(session.done) > wait.since:
        _answer(state, wait, session.done)
    else:
        state.waits[wait.request] = wait
        session.waits[wait] = None
        session.followers.append(wait)


def done(state: State, tasks: Sequence[Task]) -> None:
    """Tasks are done, in whatever way: notes them, and tells those who wait for news."""
    waited: dict[Session, list[TaskId]] = {}
    for task in tasks:
        session = task.session
        if session.done is not None:
            session.done.append(task.id)
            if session.followers:
                waited[session] = session.done
    for session, noted in waited.items():
        followers, session.followers = session.followers, []
        for wait in followers:
            del state.waits[wait.request]
            del session.waits[wait]
            _answer(state, wait, noted)


def _answer(state: State, wait: Wait, noted: list[TaskId]) -> None:
    session = wait.session
    answer = WaitAnswer(tasks=noted[wait.since :])
    for task_id in answer.tasks:
        task = session.tasks[task_id]
        if task.failure is not None:
            answer.failed.append(task_id)
        for output in task.outputs:
            if output.state is not ObjectState.UNFINISHED:
                answer.objects.append(output.id)
                if output.state is ObjectState.FAILED:
                    answer.failed.append(output.id)
    if session.undelivered and wait.by_owner:
        waiting.deliver(session, state.settings.delivery_limit, answer.delivery)
    state.emit(AnswerWait(wait.request, answer))
