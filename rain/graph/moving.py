"""Moves tasks that were sent to a governor: it may have started them, so the server asks first.

A task never starts in two places because the scheduler has changed its mind. So a task that was
sent to a governor is first asked back, and stays planned and assigned there until the answer. If
the governor returns it, it may go elsewhere; if the governor has started it, it stays.

Its new governor, the target, can be known before the answer. The asked governor does not count the
cpus of the task any more, and the target counts them, so that a scheduler does not move too much.
"""

from __future__ import annotations

from typing import NoReturn

from rain.base.errors import InvariantError
from rain.base.states import TaskMove
from rain.graph import rules
from rain.graph.governor import Governor
from rain.graph.task import Task


def ask_back(task: Task) -> None:
    """The governor of an assigned task is being asked to return it."""
    governor = task.assigned or nowhere(task)
    task.move(TaskMove.ASK)
    governor.active_cpus -= task.cpus
    governor.asked[task] = None


def aim(task: Task, target: Governor, priority: int) -> None:
    """Chooses where a task goes that was asked back and has no target."""
    governor = task.assigned or nowhere(task)
    if governor.asked[task] is not None:
        raise InvariantError(f"{task!r} is to go to {governor.asked[task]!r}")
    governor.asked[task] = target
    task.priority = priority
    target.expected[task] = None
    target.active_cpus += task.cpus
    rules.enter_groups(task, target)


def aim_nowhere(task: Task) -> Governor | None:
    """Removes the target of a task that was asked back, if it has one."""
    governor = task.assigned or nowhere(task)
    target = governor.asked[task]
    if target is not None:
        governor.asked[task] = None
        del target.expected[task]
        target.active_cpus -= task.cpus
        rules.leave_groups(task, target)
    return target


def let_go(task: Task) -> None:
    """The governor has returned it."""
    aim_nowhere(task)
    del (task.assigned or nowhere(task)).asked[task]


def stay(task: Task) -> None:
    """The task stays: its governor has started or finished it, or will end it."""
    governor = task.assigned or nowhere(task)
    let_go(task)
    task.move(TaskMove.STAY)
    governor.active_cpus += task.cpus


def target_of(task: Task) -> Governor | None:
    """Where a task goes that was asked back, if that is known."""
    governor = task.assigned or nowhere(task)
    return governor.asked[task]


def nowhere(task: Task) -> NoReturn:
    """For what only a task can do that has a governor."""
    raise InvariantError(f"{task!r} has no governor")
