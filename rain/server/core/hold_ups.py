"""Finds out why ready tasks do not run, if a user can fix it; for waiting clients and for the
status.

There may be no governor, none with what a task needs, none that takes tasks at present, a governor
that has no room for their results, or a scheduler of the user's that plans nothing. It is computed
on request.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import inf
from operator import attrgetter

from rain.base.durations import say_duration
from rain.base.governors import GovernorRow
from rain.base.ids import ClientId
from rain.base.kinds import TaskKind
from rain.base.states import TaskRow
from rain.base.wire.answers import HoldUp, HoldUps
from rain.graph import Governor, Session, times
from rain.graph.rules import would_suit
from rain.scheduler.shipped import SCHEDULERS
from rain.server.core import feasibility
from rain.server.core.state import State

AT_MOST = 3
"""Kinds of tasks of one session that a client is told of: each costs a look at all tasks."""

LATELY = 60.0
"""Seconds for which a failure of the scheduler is told to clients."""

_WAITING = (TaskRow.READY, TaskRow.PLANNED, TaskRow.QUEUED)


def of_client(state: State, client: ClientId, now: float) -> HoldUps:
    """The reasons that hold up the sessions in which a client takes part, each once.

    Tasks that wait until other tasks make room are no reason for a warning, since this ends by
    itself. But a disk may be full of data that only clients can release.
    """
    found: list[HoldUp] = []
    for session in state.graph.sessions.values():
        if client in session.members:
            full = _full(state, session)
            held_up = [full] if full else list(islice(_held_up(state, session, now), AT_MOST))
            forgotten = None if held_up else _forgotten(state, session)
            found += [*held_up, *([forgotten] if forgotten else [])]
    return _each_once([*found, *_failed(state, now)])


def that_failed(state: State, client: ClientId, now: float) -> HoldUps:
    """The failures of a short time ago, whether or not they hold up the client."""
    return _each_once(_failed(state, now) if client in state.graph.clients else [])


def _each_once(found: list[HoldUp]) -> HoldUps:
    by_why = {hold_up.why: hold_up for hold_up in found}
    return HoldUps(tuple(by_why), tuple(one.outlook for one in by_why.values()))


def of_session(state: State, session: Session, now: float) -> HoldUp | None:
    """A reason that holds up a task of the session, if there is one."""
    return (
        _full(state, session)
        or next(_held_up(state, session, now), None)
        or _forgotten(state, session)
        or _held_back(state, session)
        or _limited(state, session)
    )


def _held_up(state: State, session: Session, now: float) -> Iterator[HoldUp]:
    """No governor takes some of its tasks: what holds up each kind of them."""
    governors = list(state.graph.governors.values())
    if not session.unfinished:
        return
    if not governors:
        yield HoldUp("the cluster has no governor", _promised(state))
        return
    for kind in session.task_kinds.values():
        hold_up = _of_kind(state, session, kind, governors, now)
        if hold_up is not None and _waits(session, kind):
            yield hold_up


def _forgotten(state: State, session: Session) -> HoldUp | None:
    """A scheduler that does not come with Rain leaves a task alone that could run at once."""
    name = state.status.name
    if not is_foreign(name):
        return None
    idle = [one for one in state.graph.governors.values() if not one.assigned and not one.queue]
    for task in session.tasks.values():
        if task.row is TaskRow.READY and any(would_suit(task.kind, one) for one in idle):
            return HoldUp(
                f"the scheduler {name!r} has planned {task.kind.spelled} nowhere,"
                " while a governor that could run it has nothing to do",
                "it waits until the scheduler plans it: tasks without a plan come in news.submitted"
                " and in news.unplanned",
            )
    return None


def _failed(state: State, now: float) -> list[HoldUp]:
    """A scheduler that does not come with Rain has failed a short time ago."""
    status = state.status
    if not status.fault or now > status.complained + LATELY or not is_foreign(status.name):
        return []
    return [
        HoldUp(
            f"the scheduler {status.name!r} has failed: {status.fault}",
            "the scheduler 'rain' plans in its place, and the log of the server has the traceback",
        )
    ]


def is_foreign(name: str) -> bool:
    """Whether the scheduler of this name does not come with Rain."""
    return name != "" and name.partition("?")[0] not in SCHEDULERS


def _full(state: State, session: Session) -> HoldUp | None:
    """A governor has tasks of the session, and nothing there will make room for them."""
    full = [one for one in _holding_back(state, session) if one.is_full]
    return _of_full(full[0]) if full else None


def _held_back(state: State, session: Session) -> HoldUp | None:
    """A governor has tasks of the session, and others there will make room for them."""
    for governor in _holding_back(state, session):
        why = f"tasks wait at {governor.address} for room on its disk"
        return HoldUp(why, governor.holds_back)
    return None


def _holding_back(state: State, session: Session) -> Iterator[Governor]:
    """The governors that have reported why tasks wait there, and that have tasks of the session."""
    for governor in state.graph.governors.values():
        if governor.holds_back and any(
            task.session is session and task.row is TaskRow.ASSIGNED for task in governor.assigned
        ):
            yield governor


def _of_full(governor: Governor) -> HoldUp:
    return HoldUp(
        f"tasks wait for room on the disk of {governor.address}, and nothing there can make any",
        f"{governor.holds_back or 'its disk for data is full'}: let go of futures whose results you"
        " no longer need, or start the governor with a larger --disk or with --spill-to",
    )


def _limited(state: State, session: Session) -> HoldUp | None:
    """Its user uses as much of the cluster as allowed."""
    why = state.metering.why_in(state.graph, session)
    return HoldUp(why, "it waits until there is less") if why else None


def _of_kind(
    state: State, session: Session, kind: TaskKind, governors: list[Governor], now: float
) -> HoldUp | None:
    """The reason that would hold up a task of this kind."""
    suiting = [governor for governor in governors if would_suit(kind, governor)]
    if not suiting and feasibility.is_promised(state.graph, kind):
        needs = feasibility.spell_amounts(kind.resources.items())
        return HoldUp(
            f"no governor has what {kind.spelled} needs yet ({needs})",
            _promised(state),
        )
    if not suiting:
        deadline = state.infeasible.deadline(session, kind.id)
        if deadline == inf:  # they were given up
            return None
        left = max(deadline - now, 0.0)
        outlook = f"given up in {left:.0f} seconds unless such a governor joins"
        return HoldUp(feasibility.why(state.graph, kind), outlook)
    seconds = times.expected_of(session, kind)
    lasting = [governor for governor in suiting if seconds <= governor.ends_at - now]
    if not lasting:
        return _no_time(state, kind, seconds, suiting, now)
    suiting = lasting
    if any(governor.row is GovernorRow.WORKS and governor.away is None for governor in suiting):
        return None
    full = [governor for governor in suiting if governor.is_full]
    if full:  # the same words as before it has handed the tasks back
        return _of_full(full[0])
    reasons = "; ".join(_why_idle(state, governor) for governor in suiting[:3])
    more = "; ..." if suiting[3:] else ""
    return HoldUp(
        f"no governor takes {kind.spelled} now: {reasons}{more}",
        "it waits until one does",
    )


def _no_time(
    state: State, kind: TaskKind, seconds: float, suiting: list[Governor], now: float
) -> HoldUp:
    """The reason for tasks that would not end before the governors which could run them."""
    last = max(suiting, key=attrgetter("ends_at"))
    left = say_duration(max(last.ends_at - now, 0.0))
    promised = feasibility.is_promised(state.graph, kind)
    return HoldUp(
        f"{kind.spelled} is expected to take {say_duration(seconds)}, and"
        " no governor that has what it needs stays that long",
        f"the last one, {last.address}, ends in {left};"
        f" {_promised(state) if promised else 'it waits for one with more time'}",
    )


def _promised(state: State) -> str:
    """The outlook for tasks that wait for governors which are not there yet."""
    says = [
        client.promise.says or "they are asked for"
        for client in state.graph.clients.values()
        if client.promise is not None
    ]
    if not says:
        return "tasks wait for the first one that joins"
    return f"tasks wait for governors to be started: {'; '.join(says)}"


def _why_idle(state: State, governor: Governor) -> str:
    """Why a governor takes no tasks now."""
    if governor.away is not None:
        return f"{governor.address} is away, since {governor.away.why}"
    if governor.row is GovernorRow.RESTS:
        return f"{governor.address} rests, since {state.back_off.last[governor].why}"
    return f"{governor.address} drains"


def _waits(session: Session, kind: TaskKind) -> bool:
    """Whether a task of this kind could run, and was given to no governor."""
    return any(task.kind.id == kind.id and task.row in _WAITING for task in session.tasks.values())
