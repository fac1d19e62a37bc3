"""Infeasible tasks, which no governor can run: they are reported, and fail after a grace time.

Feasibility is a property of kinds, not of tasks: a kind needs resources, and either some governor
has them or none. While governors are connected and none fits, the clock of the kind runs; a
governor that joins may stop it. Without any governor, tasks wait for the first one.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from rain.base.failures import SessionFailure
from rain.base.ids import spell
from rain.base.kinds import TaskKind
from rain.base.resources import spell_amount
from rain.graph import Graph, Session, Task
from rain.graph.rules import would_suit
from rain.server.core import failing
from rain.server.core.messages import Notice
from rain.server.core.state import State


def look_at(state: State, session: Session, kinds: Iterable[TaskKind]) -> None:
    """Starts the clocks of kinds that fit on no governor."""
    governors = state.graph.governors.values()
    if not governors:
        return
    for kind in kinds:
        if any(would_suit(kind, governor) for governor in governors) or is_promised(
            state.graph, kind
        ):
            continue
        if state.infeasible.deadline(session, kind.id) == inf:
            grace = state.settings.infeasible_grace
            state.infeasible.deadlines[session, kind.id] = state.now + grace
            if grace:  # else its tasks fail at once, and say it themselves
                state.emit(Notice(session.id, why(state.graph, kind)))


def submitted(state: State, session: Session, new: Iterable[TaskKind], tasks: list[Task]) -> None:
    """Checks the new kinds of submitted tasks, and kinds that were given up before."""
    look_at(state, session, new)
    if any(held is session for held, _ in state.infeasible.deadlines):
        look_at(state, session, {task.kind.id: task.kind for task in tasks}.values())


def governors_changed(state: State) -> None:
    """A governor has joined or left, or is promised: every kind is checked; clocks continue."""
    governors = state.graph.governors.values()
    for key in list(state.infeasible.deadlines):
        session, kind_id = key
        kind = session.task_kinds[kind_id]
        suits = any(would_suit(kind, governor) for governor in governors)
        if not governors or suits or is_promised(state.graph, kind):
            del state.infeasible.deadlines[key]
    for session in state.graph.sessions.values():
        kinds = session.task_kinds.values()
        look_at(
            state, session, [k for k in kinds if (session, k.id) not in state.infeasible.deadlines]
        )


def is_promised(graph: Graph, kind: TaskKind) -> bool:
    """Whether a client starts governors that could run tasks of this kind."""
    if kind.constraints is not None and kind.constraints.pin:
        return False
    return any(
        kind.resources.fits(offered)
        for client in graph.clients.values()
        if client.promise is not None
        for offered in client.promise.governors
    )


def give_up(state: State) -> None:
    """Fails the tasks that have waited for longer than the grace time, some in each turn.

    The clocks of their kinds stop, until more tasks of those kinds come.
    """
    state.infeasible.expire(state.now)
    for task in state.infeasible.take_hopeless(state.settings.given_up_at_once):
        if task.is_known and not task.is_done:  # else its session has ended, or it was skipped
            grace = state.settings.infeasible_grace
            waited = f", and none that has joined within {grace:g} seconds" if grace else ""
            failure = SessionFailure(
                f"the task {spell(task.id)} cannot run: {why(state.graph, task.kind)}{waited}",
                task=task.id,
            )
            failing.give_up(state, task, failure)


def why(graph: Graph, kind: TaskKind) -> str:
    """Why tasks of this kind fit on none of the governors that are there."""
    governors = list(graph.governors.values())
    wishes = kind.constraints
    if wishes is not None and not any(wishes.admits(found.address) for found in governors):
        there = sorted(found.address for found in governors)
        return (
            f"{kind.spelled} is pinned to {', '.join(wishes.pin)}, which is no governor here"
            f" ({', '.join(there[:3])}{', ...' if there[3:] else ''})"
        )
    needs = spell_amounts(kind.resources.items())
    has = sorted({spell_amounts(governor.offered.items()) for governor in governors})
    return (
        f"{kind.spelled} needs {needs}, which {nobody_has(len(governors))}"
        f" ({'; '.join(has[:3])}{'; ...' if len(has) > 3 else ''})"
    )


def nobody_has(governors: int) -> str:
    """Says that none of the governors has something."""
    if governors == 1:
        return "the only governor does not have"
    return f"none of the {governors} governors has"


def spell_amounts(amounts: Iterable[tuple[str, int]]) -> str:
    """Formats the amounts of resources."""
    return ", ".join(f"{name}={spell_amount(name, amount)}" for name, amount in amounts)
