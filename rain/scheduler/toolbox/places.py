"""The places of a task's data: bytes by governor, now and according to the plan."""

from __future__ import annotations

from rain.base.wire import INLINE_LIMIT
from rain.graph import DataObject, Governor, Task
from rain.scheduler.api import Plan

LOOKED_AT = 64
"""The inputs of a task that count for its place; a merge of thousands need not check all."""


def travels_along(data_object: DataObject) -> bool:
    """Whether it is sent inside the message that names it, and so is near to every governor."""
    return data_object.data is not None and len(data_object.data) <= INLINE_LIMIT


def bytes_by_governor(task: Task, plan: Plan) -> dict[Governor, int]:
    """The bytes that the task reads and that are or will be on each governor, or near to it."""
    local: dict[Governor, int] = {}
    for data_object in task.inputs[:LOOKED_AT]:
        places = data_object.scheduled
        if places and not travels_along(data_object):
            size = plan.estimates.size(data_object) or 1
            for governor in places:
                local[governor] = local.get(governor, 0) + size
    if task.kind.near:
        plan.nearby.add_bytes(task, local)
    return local


def has_place(task: Task) -> bool:
    """Whether the place of every considered input is known."""
    return all(
        data_object.is_finished
        or (data_object.producer is not None and data_object.producer.scheduled is not None)
        for data_object in task.inputs[:LOOKED_AT]
    )
