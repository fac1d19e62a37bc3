"""Infeasible tasks, which no governor can run: they are reported, and fail after a grace time.

Feasibility is a property of kinds, not of tasks: a kind needs resources, and either some governor
has them or none. While governors are connected and none fits, the clock of the kind runs; a
governor that joins may stop it. Without any governor, tasks wait for the first one. A clock at
infinity belongs to a kind that fits nowhere and has no waiting task.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from rain.base.failures import SessionFailure
from rain.base.ids import KindId, spell
from rain.base.kinds import TaskKind
from rain.base.resources import spell_amount
from rain.graph import Session, Task
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
        if any(would_suit(kind, governor) for governor in governors) or is_promised(state, kind):
            continue
        key = (session, kind.id)
        if state.infeasible.get(key, inf) == inf:
            grace = state.settings.infeasible_grace
            state.infeasible[key] = state.now + grace
            if grace:  # else its tasks fail at once, and say it themselves
                state.emit(Notice(session.id, why(state, kind)))


def submitted(state: State, session: Session, new: Iterable[TaskKind], tasks: list[Task]) -> None:
    """Checks the new kinds of submitted tasks, and kinds that were given up before."""
    look_at(state, session, new)
    if any(held is session for held, _ in state.infeasible):
        look_at(state, session, {task.kind.id: task.kind for task in tasks}.values())


def governors_changed(state: State) -> None:
    """A governor has joined or left, or is promised: every kind is checked; clocks continue."""
    governors = state.graph.governors.values()
    for key in list(state.infeasible):
        session, kind_id = key
        kind = session.task_kinds[kind_id]
        suits = any(would_suit(kind, governor) for governor in governors)
        if not governors or suits or is_promised(state, kind):
            del state.infeasible[key]
    for session in state.graph.sessions.values():
        kinds = session.task_kinds.values()
        look_at(state, session, [k for k in kinds if (session, k.id) not in state.infeasible])


def is_promised(state: State, kind: TaskKind) -> bool:
    """Whether a client starts governors that could run tasks of this kind."""
    if kind.constraints is not None and kind.constraints.pin:
        return False
    return any(
        kind.resources.fits(offered)
        for client in state.graph.clients.values()
        if client.promise is not None
        for offered in client.promise.governors
    )


def give_up(state: State) -> None:
    """Fails the tasks that have waited for longer than the grace time, some in each turn.

    The clocks of their kinds stop, until more tasks of those kinds come.
    """
    for key, deadline in state.infeasible.items():
        if state.now >= deadline:
            state.infeasible[key] = inf
            state.hopeless += _waiting(*key)
    for _ in range(min(len(state.hopeless), state.settings.given_up_at_once)):
        task = state.hopeless.popleft()
        if task.is_known and not task.is_done:  # else its session has ended, or it was skipped
            grace = state.settings.infeasible_grace
            waited = f", and none that has joined within {grace:g} seconds" if grace else ""
            failure = SessionFailure(
                f"the task {spell(task.id)} cannot run: {why(state, task.kind)}{waited}",
                task=task.id,
            )
            failing.give_up(state, task, failure)


def next_deadline(state: State) -> float:
    """When the next grace time ends or more tasks must be given up."""
    return state.now if state.hopeless else min(state.infeasible.values(), default=inf)


def _waiting(session: Session, kind_id: KindId) -> list[Task]:
    return [t for t in session.tasks.values() if t.kind.id == kind_id and not t.is_done]


def why(state: State, kind: TaskKind) -> str:
    """Why tasks of this kind fit on none of the governors that are there."""
    governors = list(state.graph.governors.values())
    wishes = kind.constraints
    if wishes is not None and not any(wishes.admits(found.address) for found in governors):
        there = sorted(found.address for found in governors)
        return (
            f"{spelled_kind(kind)} is pinned to {', '.join(wishes.pin)}, which is no governor here"
            f" ({', '.join(there[:3])}{', ...' if there[3:] else ''})"
        )
    needs = spell_amounts(kind.resources.items())
    has = sorted({spell_amounts(governor.offered.items()) for governor in governors})
    return (
        f"{spelled_kind(kind)} needs {needs}, which {nobody_has(len(governors))}"
        f" ({'; '.join(has[:3])}{'; ...' if len(has) > 3 else ''})"
    )


def nobody_has(governors: int) -> str:
    """Says that none of the governors has something."""
    if governors == 1:
        return "the only governor does not have"
    return f"none of the {governors} governors has"


def spelled_kind(kind: TaskKind) -> str:
    """The name of a kind in messages."""
    return f"{kind.task_type} {kind.name!r}" if kind.name else kind.task_type


def spell_amounts(amounts: Iterable[tuple[str, int]]) -> str:
    """Formats the amounts of resources."""
    return ", ".join(f"{name}={spell_amount(name, amount)}" for name, amount in amounts)
