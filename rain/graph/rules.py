"""Decides which tasks may be planned on which governors: resources, time, pins, spread and apart.

A governor counts how many tasks of each group are planned on it; `planning` keeps the counts. An
error names the rule that a plan breaks.
"""

from __future__ import annotations

from collections.abc import Iterable

from rain.base.constraints import APART, PIN, SPREAD
from rain.base.kinds import TaskKind
from rain.graph.governor import Governor
from rain.graph.task import Task
from rain.graph.times import expected, has_time

RESOURCES = "resources"
RESTS = "rests"
TIME = "time"


def suits(task: Task, governor: Governor) -> bool:
    """Whether the task could ever run on the governor: its resources, its time, and the task's pin.

    It may have to wait until other tasks have left.
    """
    kind = task.kind
    wishes = kind.constraints
    return (
        kind.resources.fits(governor.resources)
        and (wishes is None or wishes.admits(governor.address))
        and has_time(task, governor)
    )


def would_suit(kind: TaskKind, governor: Governor) -> bool:
    """Whether tasks of this kind have their resources there, even while the governor rests."""
    wishes = kind.constraints
    return kind.resources.fits(governor.offered) and (
        wishes is None or wishes.admits(governor.address)
    )


def allows(task: Task, governor: Governor, governors: Iterable[Governor]) -> bool:
    """Whether the task may be planned there now."""
    kind = task.kind
    if kind.constraints is None and not kind.resources.others:  # the usual case
        return kind.resources.cpus <= governor.resources.cpus and has_time(task, governor)
    return broken_rule(task, governor, governors) is None


def broken_rule(
    task: Task, governor: Governor, governors: Iterable[Governor]
) -> tuple[str, str] | None:
    """The rule that planning the task there would break and a sentence about it, or None."""
    kind = task.kind
    needs = kind.resources
    if governor.rests:
        return RESTS, f"{task!r} cannot go to {governor!r}, which gets no tasks now"
    if not needs.fits(governor.resources):
        has = governor.resources.as_dict()
        return RESOURCES, f"{task!r} needs {needs.as_dict()}, but {governor!r} has only {has}"
    if not has_time(task, governor):
        left = f"{governor!r} ends in {governor.left:.0f}"
        return TIME, f"{task!r} is expected to take {expected(task):.0f} seconds, but {left}"
    wishes = kind.constraints
    if wishes is None:
        return None
    if not wishes.admits(governor.address):
        return PIN, f"{task!r} is pinned to {', '.join(wishes.pin)}, not to {governor!r}"
    for rule, name in wishes.groups():
        key = (task.session, rule, name)
        here = governor.groups.get(key, 0)
        if rule == APART and here:
            return APART, f"{governor!r} has a task of the group {name!r} already"
        if rule == SPREAD and here:
            least = min(other.groups.get(key, 0) for other in governors if suits(task, other))
            if here > least:
                return (
                    SPREAD,
                    f"{governor!r} has {here} tasks of the group {name!r}, others {least}",
                )
    return None


def enter_groups(task: Task, governor: Governor) -> None:
    """The task has been planned there."""
    wishes = task.kind.constraints
    if wishes is not None:
        for group in wishes.groups():
            key = (task.session, *group)
            governor.groups[key] = governor.groups.get(key, 0) + 1


def leave_groups(task: Task, governor: Governor) -> None:
    """The task is not planned there any more."""
    wishes = task.kind.constraints
    if wishes is not None:
        for group in wishes.groups():
            key = (task.session, *group)
            governor.groups[key] -= 1
            if not governor.groups[key]:
                del governor.groups[key]
