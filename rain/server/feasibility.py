"""Tasks that no governor could ever run: they are told about, and given up after a grace time.

Feasibility is a matter of kinds, not of tasks: a kind asks for resources, and some governor has
them or none. While governors are connected and none fits, the clock runs; a governor that joins may
stop it. Without any governor nothing is known, and tasks wait for the first one.
"""

from __future__ import annotations

from collections.abc import Iterable

from rain.base.failures import SessionFailure
from rain.base.ids import KindId, spell
from rain.base.kinds import TaskKind
from rain.graph import Session, Task
from rain.graph.rules import suits
from rain.server import failing
from rain.server.messages import Notice
from rain.server.state import State


def look_at(state: State, session: Session, kinds: Iterable[TaskKind]) -> None:
    """New kinds have come: starts the clock for those that fit nowhere."""
    governors = state.graph.governors.values()
    if not governors:
        return
    for kind in kinds:
        if any(suits(kind, governor) for governor in governors):
            continue
        key = (session, kind.id)
        if key not in state.infeasible:
            state.infeasible[key] = state.now + state.settings.infeasible_grace
            state.emit(Notice(session.id, _why(state, kind)))


def governors_changed(state: State) -> None:
    """A governor has joined or left: judges every kind anew; clocks that run go on."""
    governors = state.graph.governors.values()
    for key in list(state.infeasible):
        session, kind_id = key
        kind = session.task_kinds[kind_id]
        if not governors or any(suits(kind, governor) for governor in governors):
            del state.infeasible[key]
    for session in state.graph.sessions.values():
        look_at(state, session, session.task_kinds.values())


def give_up(state: State) -> None:
    """Fails the tasks that have waited for longer than the grace time."""
    expired = [key for key, deadline in state.infeasible.items() if state.now >= deadline]
    for session, kind_id in expired:
        state.infeasible.pop((session, kind_id), None)
        grace = state.settings.infeasible_grace
        while (task := _first_waiting(session, kind_id)) is not None:
            why = _why(state, task.kind)
            failure = SessionFailure(
                f"the task {spell(task.id)} cannot run: {why}, and none that has"
                f" joined within {grace:g} seconds",
                task=task.id,
            )
            failing.give_up(state, task, failure)


def why_held_up(state: State, session: Session, now: float) -> str:
    """Why a session waits for a governor that is not there, and how long yet; "" if it does not."""
    for (held, kind_id), deadline in state.infeasible.items():
        if held is session and _first_waiting(session, kind_id) is not None:
            left = max(deadline - now, 0.0)
            why = _why(state, session.task_kinds[kind_id])
            return f"{why}; given up in {left:.0f} seconds unless such a governor joins"
    return ""


def next_deadline(state: State) -> float:
    """When the next grace time ends."""
    return min(state.infeasible.values(), default=float("inf"))


def _first_waiting(session: Session, kind_id: KindId) -> Task | None:
    waiting = (task for task in session.tasks.values() if not task.is_done)
    return next((task for task in waiting if task.kind.id == kind_id), None)


def _why(state: State, kind: TaskKind) -> str:
    governors = list(state.graph.governors.values())
    name = f" {kind.name!r}" if kind.name else ""
    wishes = kind.constraints
    if wishes is not None and not any(wishes.admits(found.address) for found in governors):
        there = sorted(found.address for found in governors)
        return (
            f"{kind.task_type}{name} is pinned to {', '.join(wishes.pin)}, which is none of the"
            f" {len(governors)} governors ({', '.join(there[:3])}{', ...' if there[3:] else ''})"
        )
    needs = _spelled(kind.resources.items())
    has = sorted({_spelled(governor.resources.items()) for governor in governors})
    return (
        f"{kind.task_type}{name} needs {needs}, which none of the {len(governors)} governors has"
        f" ({'; '.join(has[:3])}{'; ...' if len(has) > 3 else ''})"
    )


def _spelled(amounts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name}={amount}" for name, amount in amounts)
