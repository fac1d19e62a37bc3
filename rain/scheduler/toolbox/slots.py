"""Typed access to what a scheduler has stored in the slot `sched` of a task.

A task may have no value of this scheduler, because another one planned when the task came.
"""

from __future__ import annotations

from typing import TypeVar

from rain.graph import Task

Kept = TypeVar("Kept")


def kept(task: Task, kind: type[Kept]) -> Kept | None:
    """What is stored, if there is anything of this type."""
    found = task.sched
    return found if isinstance(found, kind) else None


def surely_kept(task: Task, kind: type[Kept]) -> Kept:
    """What is stored with a task that this scheduler was told of."""
    found = task.sched
    assert isinstance(found, kind), f"{task!r} was never submitted to this scheduler"
    return found
