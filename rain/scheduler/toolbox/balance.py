"""Load balancing: moves waiting tasks from overloaded governors to idle ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from rain.base.states import TaskRow
from rain.graph import Governor, Task
from rain.graph.rules import suits
from rain.scheduler.api import Plan

LOOKED_AT = 64
"""Tasks that are tried beyond the wanted share; a queue may have many that do not fit."""


REFUSALS = 16
"""After this many refused moves the rest is left for the next run."""

Moves = Callable[[Task, Governor, Governor, Plan], bool]
"""A function that decides whether a task moves from one governor to another."""


def always(task: Task, donor: Governor, taker: Governor, plan: Plan) -> bool:
    """Any idle governor may take the task."""
    return True


Gives = Callable[[Governor], bool]
"""A function that decides whether an overloaded governor gives tasks away."""


def willingly(donor: Governor) -> bool:
    """Every overloaded governor gives tasks away."""
    return True


def feed_hungry(
    governors: list[Governor], plan: Plan, moves: Moves = always, gives: Gives = willingly
) -> None:
    """Moves waiting tasks to governors with idle cpus; no task moves back and forth."""
    # One that only expects tasks, of which others have been asked, has none to give.
    full = [one for one in governors if one.active_cpus > one.cpus and one.scheduled]
    if not full:
        return
    hungry = [governor for governor in governors if governor.active_cpus < governor.cpus]
    if not hungry:
        return
    donors = [governor for governor in full if gives(governor)]
    if not donors:
        return
    refused = 0
    for governor in hungry:
        for donor in sorted(donors, key=lambda donor: (-_surplus(donor), donor.number)):
            if governor.active_cpus >= governor.cpus or _surplus(donor) <= 0:
                break
            for task in _to_move(donor, governor):
                if moves(task, donor, governor, plan):
                    plan.take_back(task)
                    plan.assign(task, governor, task.priority)
                else:
                    refused += 1
            if refused >= REFUSALS:
                return


def _surplus(governor: Governor) -> int:
    """The cpus of ready tasks beyond what the governor can run at once."""
    return governor.active_cpus - governor.cpus


def _to_move(donor: Governor, governor: Governor) -> list[Task]:
    """The tasks that balance the two governors, or one that could run at once.

    Neither choice makes the donor idle or the taker overloaded, so no task moves back and forth.
    """
    surplus, room = _surplus(donor), -_surplus(governor)
    share = min(surplus, (surplus + room) // 2)
    chosen: list[Task] = []
    moved = 0
    for task in islice(_waiting(donor), share + LOOKED_AT):
        alone = not moved and task.cpus <= room
        if (
            task.cpus  # tasks without cpus do not wait for cpus
            and (moved + task.cpus <= share or alone)
            and can_move(task, governor)
            and not task.has_failed_on(governor)
            and _evens_out(task, donor, governor, len(chosen))
        ):
            chosen.append(task)
            moved += task.cpus
            if moved >= share:
                break
    return chosen


def can_move(task: Task, governor: Governor) -> bool:
    """Whether a planned task may move there; tasks with constraints stay."""
    wishes = task.kind.constraints
    return suits(task, governor) and (wishes is None or not wishes.groups())


def _evens_out(task: Task, donor: Governor, governor: Governor, before: int) -> bool:
    """Whether a task with scarce resources gets fewer tasks before it, after `before` moves."""
    needs = task.kind.resources
    if not needs.others:
        return True
    taker_load = (len(governor.scheduled) + before + 1) / needs.times_in(governor.resources)
    return taker_load <= (len(donor.scheduled) - before - 1) / needs.times_in(donor.resources)


def _waiting(donor: Governor) -> Iterator[Task]:
    """The tasks that have not started there, the end of the queue first."""
    yield from reversed(donor.queue)
    if donor.is_behind:
        return  # it may have run what it was told
    for task in reversed(donor.assigned):
        if task.row is TaskRow.ASSIGNED:
            yield task
