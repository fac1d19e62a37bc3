"""Durable sessions: results under a name stay when the clients that made them have gone.

Each client that opens the name has an ordinary session of its own, and the results of its tasks are
**held** under the name. So when the session ends its tasks go on, like tasks whose results another
client has. Each task that a client submits is compared with the held ones, finished or not, and
stands in for one that is the same (`sameness`). Of equal tasks the first of a session stands in for
the first one there, the second for the second. So a program that runs again finds all its results,
and two that run at the same time share them. A task that has failed or was cancelled runs again.

A durable session ends when it is removed. A server that comes back has all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from rain.base.errors import RefusedError
from rain.base.failures import OnFailure
from rain.base.states import TaskRow
from rain.base.users import OWNER
from rain.base.wire.answers import DurableReport, DurableReports, DurableTask, TasksByName
from rain.base.wire.requests import OpenSession
from rain.base.wire.submission import Submission
from rain.graph import DataObject, Session, Task, claims, references
from rain.graph.run import Run
from rain.graph.standing_in import stands_in
from rain.server.core import failing, rights
from rain.server.core.adopting import pass_on, without_finished
from rain.server.core.durable import NO_KEY, Durable, Opening
from rain.server.core.held import Key
from rain.server.core.sameness import given_keys, key_of, note_constants
from rain.server.core.state import State

NAME_LIMIT = 200
"""The most characters of a name."""

REPORTED_AT_ONCE = 5_000
"""Tasks of a durable session in one answer."""


def check(asked: OpenSession) -> None:
    """Refuses what cannot be a durable session."""
    if not 0 < len(asked.name) <= NAME_LIMIT:
        raise RefusedError(
            f"the name of a durable session has 1 to {NAME_LIMIT} letters, not {len(asked.name)}"
        )
    if asked.parent is not None:
        raise RefusedError(
            "a task cannot open a durable session: what it has submitted ends with it"
        )
    if asked.on_failure is not OnFailure.CONTINUE:
        raise RefusedError("a durable session goes on after failures")


def open_by_name(state: State, session: Session) -> None:
    """A client has opened this session by its name."""
    session.is_durable = True
    state.durable.open(session, state.now)


def submitted(
    state: State, session: Session, submission: Submission, tasks: list[Task]
) -> list[Task]:
    """Lets new tasks stand in for what is there; returns those that have not finished by it."""
    opening = state.durable.openings[session]
    given = given_keys(submission.keys)
    note_constants(submission.constants.ids, given, opening.made)
    adopted: dict[Task, Run | None] = {}
    for task in tasks:  # inputs before consumers
        key = key_of(task, opening.made, given, cluster=state.succession.cluster)
        former = None if key is None else _take(state, opening, key, task)
        if former is not None:
            adopted[task] = former.run
            pass_on(state, task, former.outputs)
        elif key is None:
            opening.durable.alone += 1
            _hold(state, opening.durable, (NO_KEY, opening.durable.alone), task)
    return without_finished(state, tasks, adopted)


def _take(state: State, opening: Opening, key: Key, task: Task) -> Task | None:
    """The task that is the same; if there is none, this one is from now on."""
    number = opening.asked[key] = opening.asked.get(key, 0) + 1
    former = opening.durable.find((key, number))
    if former is None:
        _hold(state, opening.durable, (key, number), task)
    return former


def _hold(state: State, durable: Durable, place: tuple[Key, int], task: Task) -> None:
    before = durable.tasks.pop(place, None)
    if before is not None:  # it has failed, or was cancelled
        _let_go(state, before.outputs)
    if task.outputs:
        durable.tasks[place] = task
        claims.hold(state.graph, task.outputs)


def goes_on_alone(session: Session, task: Task) -> bool:
    """Whether a task without outputs goes on when its client has gone: it may have an effect that
    the client wants.
    """
    return session.is_durable and not (task.outputs or task.is_done)


def has_more_to_do(session: Session) -> bool:
    """Whether a session has such tasks."""
    return session.is_durable and any(goes_on_alone(session, task) for task in session.own_tasks)


def is_wanted_elsewhere(task: Task) -> bool:
    """Whether a task of a durable session makes what another client has asked for, too."""
    return task.session.is_durable and any(
        reader.session is not task.session and stands_in(reader) and not reader.is_done
        for made in task.outputs
        for reader in made.consumers
    )


def remove(state: State, name: str, user: str = OWNER) -> None:
    """Removes a durable session; open sessions of this name go on as ordinary ones."""
    find(state, name, user)
    durable = state.durable.remove(name)
    for task in durable.tasks.values():
        _let_go(state, task.outputs)
    for session in state.graph.sessions.values():
        if session.is_durable and session.name == name:
            session.is_durable = False
            if session.is_left:
                _cancel_unneeded(state, session)


def _cancel_unneeded(state: State, session: Session) -> None:
    """In a session whose client has gone, tasks without outputs are not wanted any more."""
    needed = references.leading_to(references.claimed_outside(session))
    unneeded = [task for task in session.own_tasks if not task.is_done and task not in needed]
    failing.cancel(state, unneeded, "its durable session was removed")


def share(state: State, name: str, users: Sequence[str], user: str = OWNER) -> None:
    """From now on these users may open it, and no others."""
    find(state, name, user).shared_with = tuple(dict.fromkeys(users))


def find(state: State, name: str, user: str = OWNER) -> Durable:
    """The durable session of this name; refused if there is none."""
    durable = state.durable.by_name.get(name)
    if durable is None:
        names = [rights.shown_name(one, user) for one in _seen(state, user)]
        known = ", ".join(map(repr, sorted(names)[:5]))
        name = name.removeprefix(f"{user}/") if user else name
        there = f"these exist: {known}" if known else "there is none at all"
        raise RefusedError(f"there is no durable session {name!r}; {there}")
    return durable


def _seen(state: State, user: str) -> list[Durable]:
    """Those that a user may open."""
    found = list(state.durable.by_name.values())
    if rights.is_admin(state, user):
        return found
    return [durable for durable in found if rights.is_shared(durable, user)]


def report(state: State, user: str = OWNER) -> DurableReports:
    """All that a user sees, in numbers."""
    found: list[DurableReport] = []
    for durable in _seen(state, user):
        tasks = durable.tasks.values()
        found.append(
            DurableReport(
                rights.shown_name(durable, user),
                durable.since,
                len(state.durable.clients_of(durable)),
                len(tasks),
                sum(task.row is TaskRow.FINISHED for task in tasks),
                sum(task.has_failed for task in tasks),
                sum(made.size for task in tasks for made in task.outputs),
                durable.belongs_to,
                durable.shared_with,
            )
        )
    return DurableReports(tuple(found))


def tasks_of(state: State, name: str, first: int, user: str = OWNER) -> TasksByName:
    """Some of its tasks from a place on, in the order of their submission."""
    tasks = [*find(state, name, user).tasks.values()]
    some = [
        DurableTask(task.id, task.kind.name, tuple([made.id for made in task.outputs]))
        for task in tasks[first : first + REPORTED_AT_ONCE]
    ]
    return TasksByName(tuple(some), len(tasks))


def _let_go(state: State, objects: Sequence[DataObject]) -> None:
    state.release_soon(claims.end_hold(state.graph, objects))
