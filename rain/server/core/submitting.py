"""Submissions: read at once or, when they are large, part by part in several turns.

A submission is accepted or refused as a whole, with its last part. Until then nothing of it is in
the graph, and later requests of its client wait; those of all others are served in between.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable

from rain.base.errors import RefusedError
from rain.base.ids import ClientId, ObjectId
from rain.base.wire.requests import Submit
from rain.base.wire.submission import Submission
from rain.graph import Session, Task
from rain.graph.growth import grow, grow_again, grow_in_parts
from rain.graph.release import release
from rain.server.core import adopting, by_name, failing, feasibility, limits, test_mode
from rain.server.core.growing import Growing
from rain.server.core.messages import Asked
from rain.server.core.sessions import living_session
from rain.server.core.state import State


def submit(state: State, event: Asked, submit: Submit) -> bool:
    """Applies a submission or, if it is large, reads its first part. Returns whether it is
    complete.
    """
    submission = submit.submission
    session = living_session(state, event.client, submission.session)
    if session.is_left:
        raise RefusedError(f"the session {session.id} was closed by the client that has opened it")
    if state.settings.test_mode:
        test_mode.check(state.graph, submission)
    member = session.members[event.client]
    at_once = state.settings.grown_at_once
    tasks = submission.tasks
    if state.graph.users:
        limits.check(state, session, submission)
    if len(tasks.ids) + len(tasks.inputs) + len(submission.constants.ids) <= at_once:
        _granted(state, submission, session, grow(state.graph, session, member, submission))
        return True
    growing = Growing(
        event, submit, grow_in_parts(state.graph, session, member, submission, at_once)
    )
    growing.read_part()  # there are more
    state.growing[event.client] = growing
    return False


def read_part(state: State, growing: Growing) -> bool:
    """Reads one more part; whether that was the last one, and the submission is granted.

    Its session may have ended or failed meanwhile.
    """
    submission = growing.submit.submission
    session = living_session(state, growing.event.client, submission.session)
    tasks = growing.read_part()
    if tasks is None:
        return False
    _granted(state, submission, session, tasks)
    return True


def read_again(state: State, growing: Growing) -> None:
    """Reads the parts that were read when the state was saved."""
    submission, client = growing.submit.submission, growing.event.client
    session = state.graph.sessions.get(submission.session)
    if session is None or session.failure is not None:  # the next part will be refused
        growing.parts = _nothing()
        return
    at_once = state.settings.grown_at_once
    member = session.members[client]
    growing.parts = grow_again(state.graph, session, member, submission, at_once, growing.read)


def _nothing() -> Generator[None, None, list[Task]]:
    yield from ()
    return []


def give_up(state: State, client_id: ClientId) -> None:
    """A client has gone: drops its incomplete submission and its later requests."""
    growing = state.growing.pop(client_id, None)
    if growing is not None:
        growing.parts.close()
        for event in (growing.event, *growing.held):
            if isinstance(event, Asked):
                state.refuse(event.request, "the client has gone")


def _granted(state: State, submission: Submission, session: Session, tasks: list[Task]) -> None:
    if state.settings.test_mode:
        test_mode.note(state, session, submission)
    if submission.fails_alone:
        for task in tasks:
            task.fails_alone = True
    if state.happenings is not None:
        state.happenings.submitted(state.now, session, submission)
    if state.nested.held and session.parent in state.nested.held:
        tasks = adopting.adopt(state, session, tasks)
    if state.durable.openings and session in state.durable.openings:
        tasks = by_name.submitted(state, session, submission, tasks)
    state.news.submitted += tasks
    if submission.task_kinds or state.infeasible.deadlines:
        feasibility.submitted(state, session, submission.task_kinds, tasks)
    if session.first_failed is not None or session.reads_outside:
        failing.skip_hopeless(state, tasks)
    if submission.constants.ids:
        _release_unneeded(state, submission.constants.ids)


def _release_unneeded(state: State, object_ids: Iterable[ObjectId]) -> None:
    """Removes new constants that are neither read nor kept."""
    release(state.graph, [state.graph.objects[object_id] for object_id in object_ids])
