"""Finds a place for the second run of a late task. Works beside every scheduler.

A second run only goes to idle cpus: the scheduler has nothing to run there now, and its next task
there waits for one task at most. Governors on which the task runs or has failed are left out.
"""

from __future__ import annotations

from rain.graph import Governor, Graph, Task
from rain.graph.needs import has_more, needed
from rain.graph.rules import allows
from rain.scheduler.toolbox.places import LOOKED_AT, travels_along


def spare_place(graph: Graph, task: Task) -> Governor | None:
    """Where most of its inputs are, or else most cpus are idle; None if no place is right."""
    governors = graph.governors.values()
    fitting = [
        found
        for found in governors
        if found is not task.assigned
        and found.away is None
        and _has_room(found, task)
        and not task.has_failed_on(found)
        and has_more(found, needed(task))
        and allows(task, found, governors)
    ]
    if not fitting:
        return None
    return max(fitting, key=lambda found: (_bytes_there(task, found), _idle(found), -found.number))


def _bytes_there(task: Task, governor: Governor) -> int:
    """Bytes of the inputs of a running task that are on this governor; all of them are finished."""
    inputs = [one for one in task.inputs[:LOOKED_AT] if not travels_along(one)]
    return sum(one.size for one in inputs if one in governor.objects)


def _idle(governor: Governor) -> int:
    return governor.cpus - governor.active_cpus


def _has_room(governor: Governor, task: Task) -> bool:
    """Whether it could start the task at once, as far as is known."""
    if governor.rests or _idle(governor) < max(task.cpus, 1):
        return False
    return all(
        _taken(governor, name) + amount <= governor.resources.amount(name)
        for name, amount in task.kind.resources.others
    )


def _taken(governor: Governor, name: str) -> int:
    return sum(task.kind.resources.amount(name) for task in governor.scheduled)
