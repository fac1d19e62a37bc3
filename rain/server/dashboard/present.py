"""Describes a session, a task or an object from the live graph, between two turns."""

from __future__ import annotations

from itertools import islice
from typing import Any

from rain.base.copies import CopyRow
from rain.base.ids import SessionId, TaskId, pack, spell, unpack
from rain.base.states import TaskRow
from rain.graph import DataObject, Governor, Run, Task
from rain.graph.claims import Claim, Why, claims_on
from rain.graph.exchanges import is_exchange
from rain.graph.pausing import pauses_until
from rain.server.core import hold_ups
from rain.server.core.feasibility import nobody_has, spell_amounts
from rain.server.core.state import State
from rain.server.core.turns_of_users import TurnsOfUsers

MOST_NAMED = 5  # missing inputs that are named
MOST_OBJECTS = 200


def task_now(state: State, session: int, number: int) -> dict[str, Any] | None:
    """The state of a task and the reason for it; None if it is not in the graph."""
    task = state.graph.tasks.get(TaskId(pack(session, number)))
    if task is None:
        return None
    shadow = state.graph.shadows.get(task)
    return {
        "state": task.state.name.lower(),
        "row": task.row.value,
        "why": why(state, task),
        "governor": task.assigned.address if task.assigned else "",
        "planned_on": task.scheduled.address if task.scheduled else "",
        "runs": [run_now(run) for run in task.runs],
        "second_run": None if shadow is None or shadow.run is None else run_now(shadow.run),
        "cache": task.session.cached.get(task.id, ""),
        "inputs": [object_now(given) for given in islice(task.inputs, MOST_OBJECTS)],
        "outputs": [object_now(made) for made in islice(task.outputs, MOST_OBJECTS)],
    }


def run_now(run: Run) -> dict[str, Any]:
    """One run of a task: where and when it was, how it has ended, and why."""
    over = run.started and not run.is_open
    return {
        "number": run.number,
        "governor": run.governor,
        "state": run.state.value,
        "cause": "" if run.cause is None else run.cause.value,
        "told": run.told,
        "started": run.started or None,
        "seconds": run.duration if over else None,
        "error": run.message,
        "ending": ending_of(run.words.status),
    }


def ending_of(status: int | None) -> str:
    """How a process has ended, as "exit code 3" or "signal 11"; nothing for none."""
    if status is None:
        return ""
    return f"exit code {status}" if status >= 0 else f"signal {-status}"


def why(state: State, task: Task) -> str:
    """One sentence on why the task is in its state."""
    where = task.scheduled.address if task.scheduled else ""
    match task.row:
        case TaskRow.WAITING:
            return f"{_missing(task)}."
        case TaskRow.PLANNED:
            return f"{_missing(task)}. It will go to {where} as soon as they are there."
        case TaskRow.READY:
            return _unplanned(state, task)
        case TaskRow.PAUSED:
            return _pausing(state, task)
        case TaskRow.LIMITED:
            return f"It has no plan: {state.metering.why(state.graph, task)}."
        case TaskRow.QUEUED:
            return f"It waits for room on {where}.{_turn(state, task)}"
        case _ if task.assigned:
            return _in_hand(state, task, where) + _second_run(state, task)
        case _:
            return _ending(task)


def _turn(state: State, task: Task) -> str:
    """A sentence about a task that waits for the turn of its user."""
    why = TurnsOfUsers.of(state).why(task.session.belongs_to) if state.graph.has_users else ""
    return f" {why[0].upper()}{why[1:]}." if why else ""


def _second_run(state: State, task: Task) -> str:
    """A sentence about the second run of a late task."""
    shadow = state.graph.shadows.get(task)
    if shadow is None or shadow.run is None:
        return ""
    since = max(state.now - shadow.run.told, 0.0)
    return f" It is late: it has a second run on {shadow.run.governor} for {since:.1f} seconds."


def _pausing(state: State, task: Task) -> str:
    """How a task stands that waits for its next try."""
    number = task.last_run().number
    if task in state.standing_by:
        return f"Its run {number} has failed for good.{_second_run(state, task)}"
    left = max(pauses_until(state.graph, task) - state.now, 0.0)
    ended = "made a list that cannot be used" if is_exchange(task) else "has failed"
    return f"Its run {number} {ended}. It pauses, and is tried again in {left:.1f} seconds."


def _in_hand(state: State, task: Task, where: str) -> str:
    """How an assigned task stands."""
    match task.row:
        case TaskRow.AHEAD:
            return f"It was sent ahead to {where}, which makes its inputs and will then start it."
        case TaskRow.ASSIGNED:
            said = f"{where} was told to run it and has not said yet that it has started."
            return said + _on_the_way(task, task.assigned)
        case TaskRow.ASKED:
            said = (
                f"{where} was told to run it, and is asked to return it if it has not started it."
            )
            return said + _on_the_way(task, task.assigned)
        case TaskRow.CANCELLING:
            return f"It was cancelled, and {where} ends it."
        case TaskRow.BLOCKED:
            return f"It waits on {where} for other tasks, which may use its cpus."
        case _:
            return f"It runs on {where} for {max(state.now - task.started, 0.0):.1f} seconds."


def _on_the_way(task: Task, governor: Governor | None) -> str:
    """Which inputs its governor fetches, and which of them cannot come on the direct way."""
    if governor is None:
        return ""
    inputs = task.unique_inputs()
    coming = [
        given
        for given in inputs
        if (copy := governor.objects.get(given)) is not None and copy.row is CopyRow.COMING
    ]
    if not coming:
        return ""
    closed = dict(governor.closed_ways)
    relayed = [
        (given, holders[0])
        for given in coming
        if (holders := [one.address for one in given.located])
        and all(holder in closed for holder in holders)
    ]
    through = "".join(
        [
            f" {spell(given.id)} comes through the server, since {governor.address} cannot connect"
            f" to {holder}: {closed[holder]}."
            for given, holder in relayed[:MOST_NAMED]
        ]
    )
    are = "is" if len(coming) == 1 else "are"
    return f" {len(coming)} of its {len(inputs)} inputs {are} on the way there.{through}"


def _ending(task: Task) -> str:
    """How a finished task has ended."""
    if task.row is TaskRow.SKIPPED:
        return "It will never run, because a task that it depends on has failed."
    if task.row is TaskRow.CANCELLED:
        return f"{'It' if task.run is None else 'Its run on ' + task.run.governor} was cancelled."
    ending = "finished" if task.row is TaskRow.FINISHED else "failed"
    on = f" on {task.run.governor}" if task.run is not None else ""
    return f"It has {ending}{on}."


def _missing(task: Task) -> str:
    inputs = task.unique_inputs()
    missing = [given for given in inputs if not given.is_finished]
    named = ", ".join([_described(given) for given in missing[:MOST_NAMED]])
    more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
    return f"{len(missing)} of its {len(inputs)} inputs are not finished: {named}{more}"


def _described(given: DataObject) -> str:
    producer = given.producer
    if producer is None:
        return spell(given.id)
    name = producer.kind.name or producer.kind.task_type
    return f"{spell(given.id)} of {name} {spell(producer.id)}, which is {producer.row.value}"


def _unplanned(state: State, task: Task) -> str:
    governors = list(state.graph.governors.values())
    if not governors:
        return "There is no governor."
    if not any(_fits(task, governor) for governor in governors):
        needs = spell_amounts(task.kind.resources.items())
        return f"It needs {needs}, which {nobody_has(len(governors))}."
    chooser = "The scheduler"
    if hold_ups.is_foreign(state.status.name):  # it may have overlooked the task
        chooser += f" {state.status.name!r}"
    return f"{chooser} has not chosen a governor yet.{_turn(state, task)}"


def _fits(task: Task, governor: Governor) -> bool:
    return task.kind.resources.fits(governor.resources)


def object_now(data_object: DataObject) -> dict[str, Any]:
    """One data object."""
    producer = data_object.producer
    return {
        "id": [*unpack(data_object.id)],
        "label": data_object.kind.label,
        "data_type": data_object.kind.data_type.value,
        "content_type": data_object.content_type or data_object.kind.content_type,
        "state": data_object.state.name.lower(),
        "size": data_object.size if data_object.is_finished else None,
        "kept": data_object.kept,
        "needed_by": data_object.needed_by,
        "claims": [_reason(claim) for claim in claims_on(data_object)],
        "producer": None if producer is None else unpack(producer.id).id,
        "where": [governor.address for governor in data_object.located],
        "on_server": data_object.data is not None,
    }


def _reason(claim: Claim) -> str:
    """One reason why an object lives, for people."""
    tasks = f"{claim.count} task{'s' * (claim.count != 1)}"
    match claim.why:
        case Why.HANDLE:
            what = "keeps it" if claim.holds_data else "has a handle of it"
            return f"client {claim.client} {what}"
        case Why.READERS:
            return f"{tasks} will read it"
        case Why.CONTAINERS:
            have = "have" if claim.count != 1 else "has"
            return f"{claim.count} {have} a future of it inside"
        case Why.LINEAGE:
            return f"{tasks} may have to read it again"


def objects_now(state: State, session: int, skip: int) -> dict[str, Any] | None:
    """Some data objects of an open session, in order; None if it is not open."""
    node = state.graph.sessions.get(SessionId(session))
    if node is None or node.failure is not None:
        return None
    shown = islice(node.objects.values(), skip, skip + MOST_OBJECTS)
    return {
        "total": len(node.objects),
        "skipped": skip,
        "objects": [object_now(each) for each in shown],
    }
