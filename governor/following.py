"""Tasks that are sent to the executor which makes their inputs, behind the calls that make them.

The tasks of a chain would otherwise cost a round trip to the governor each, many times longer than
a short task. The executor keeps what it has made lately, and so has the inputs when it comes to the
follower; if it does not (the call before has failed, or has made much), it says so, and the task
waits here as if it had never been sent.

Only straight lines are sent: when several tasks wait for one object, other executors may have time
for some of them.
"""

from __future__ import annotations

from rain.governor.nodes import DataObject, Executor, Task
from rain.governor.tables import ObjectRow, TaskRow

_HELD = ObjectRow.HELD
_MAKING = ObjectRow.MAKING
_WAITING = TaskRow.WAITING


def propose(task: Task) -> None:
    """A task has arrived that misses inputs: an executor may be making them."""
    for target in task.inputs:
        if target.producer is not None and target.producer.executor is not None:
            target.producer.executor.followers.append(task)
            return


def can_follow(task: Task, executor: Executor) -> bool:
    """Whether the executor will have all that the task misses when it comes to it."""
    if task.row is not _WAITING or task.kind.group is not executor.group:
        return False
    for target in task.inputs:
        if target.row is not _HELD and not _makes(executor, target, task):
            return False
    # A function is remembered, which takes more than its value.
    for function in task.inputs[: task.kind.functions]:  # noqa: SIM110 # as in `answers`
        if function.row is not _HELD:
            return False
    return True


def _makes(executor: Executor, target: DataObject, task: Task) -> bool:
    """Whether a call that the executor has in hand makes the object, for this task alone."""
    producer = target.producer
    waiting = target.waiting
    return (
        target.row is _MAKING
        and producer is not None
        and producer.executor is executor
        and waiting is not None
        and waiting.count(task) == len(waiting)
    )
