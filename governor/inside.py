"""Finds the call of a unit that was running when its executor ended."""

from __future__ import annotations

import msgpack

from rain.base.units import UNIT, InnerCall, failure_inside
from rain.governor.nodes import Task


def failure_at(task: Task, place: int, text: str) -> str:
    """Why a task has failed; for a unit, with the name of the call at that place."""
    if task.kind.kind.task_type != UNIT or not place:
        return text
    try:
        config = msgpack.unpackb(task.config)
        calls = config["calls"]
        inner = InnerCall._make(calls[place - 1])
        name = config["kinds"][inner.kind][0]
        return failure_inside(inner.task, name, place, len(calls), text)
    except (LookupError, TypeError, ValueError, msgpack.UnpackException):
        return text  # a config that our clients never send
