"""Followers: tasks that are sent to the executor that makes their inputs, behind those calls.

Otherwise each task of a chain would cost a round trip to the governor, which takes many times
longer than a short task. The executor keeps its recent outputs, so it has the inputs when it
reaches the follower. If it does not (an earlier call failed or made a large output), it says so,
and the task waits here as if it had never been sent.

Only straight chains are sent: if several tasks wait for one object, other executors may have time
for some of them.
"""

from __future__ import annotations

from rain.governor.nodes import DataObject, Executor, Task
from rain.governor.tables import ObjectRow, TaskRow

_HELD = ObjectRow.HELD
_MAKING = ObjectRow.MAKING
_WAITING = TaskRow.WAITING


def propose(task: Task) -> None:
    """Proposes a new task with missing inputs as a follower, if one executor makes them."""
    for target in task.inputs:
        if target.producer is not None and target.producer.executor is not None:
            target.producer.executor.followers.append(task)
            return


def can_follow(task: Task, executor: Executor) -> bool:
    """Whether the executor will have all missing inputs when it reaches the task."""
    if task.row is not _WAITING or task.kind.group is not executor.group or task.kind.cache:
        return False  # the cache is asked only with the inputs at hand
    for target in task.inputs:
        if target.row is not _HELD and not _makes(executor, target, task):
            return False
    # To remember a function, an executor needs more than its value.
    for function in task.inputs[: task.kind.functions]:  # noqa: SIM110 # as in `answers`
        if function.row is not _HELD:
            return False
    return True


def _makes(executor: Executor, target: DataObject, task: Task) -> bool:
    """Whether a call queued at the executor makes the object, and only this task waits for it."""
    producer = target.producer
    waiting = target.waiting
    return (
        target.row is _MAKING
        and producer is not None
        and producer.executor is executor
        and not producer.kind.cache  # the follower could finish before its outputs are kept
        and waiting is not None
        and waiting.count(task) == len(waiting)
    )
