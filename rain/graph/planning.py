"""Plans and assigns tasks. The lists of tasks and those of governors always agree.

A governor's `active_cpus` is the sum over its tasks that are planned and ready (queued, assigned or
running, but neither blocked nor asked back), those that it was told to cancel, and those that it
gets when others return them. It changes here, where tasks go forward (`progress`), and where
they move (`moving`).

**Ahead.** A task whose missing inputs are all being made on its governor can be sent there before
they are finished: the governor starts it without asking the server. Every missing input of such a
task must have a producer that is assigned to the same governor. So before an assigned task is taken
from its governor, its followers are recalled.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from rain.base.copies import CopyMove
from rain.base.errors import InvariantError
from rain.base.exchange import EXCHANGE
from rain.base.runs import RunCause
from rain.base.states import ObjectState, TaskMove, TaskRow
from rain.graph import moving, rules
from rain.graph.copy import forget_copies, move_copy
from rain.graph.data_object import DataObject
from rain.graph.governor import Governor
from rain.graph.run import Ending, Run, remembered
from rain.graph.task import Task
from rain.graph.times import expected

LOOKED_AT = 16
"""A task with more inputs is never sent ahead: checking all of them for each new input would cost
more than a round trip.
"""

NOTABLE_SECONDS = 1.0
"""A task that takes so long is not sent ahead to a governor that must be gone at some time."""


class Stopped(NamedTuple):
    """An assignment that was undone, or will be."""

    governor: Governor
    task: Task
    run: int
    """The number of its run."""


def plan(task: Task, governor: Governor, priority: int = 0) -> None:
    """Chooses a governor for a task that has none."""
    if task.scheduled is not None:
        raise InvariantError(f"{task!r} is planned on {task.scheduled!r}")
    task.move(TaskMove.PLAN)
    task.scheduled = governor
    task.priority = priority
    governor.scheduled[task] = None
    if task.kind.constraints is not None:
        rules.enter_groups(task, governor)
    if task.row is TaskRow.QUEUED:
        governor.queue.add(task)
        governor.active_cpus += task.kind.resources.cpus
    elif can_go_ahead(task, governor):
        governor.followers.append(task)


def can_go_ahead(task: Task, governor: Governor) -> bool:
    """Whether the governor will make all missing inputs of the task.

    A governor with a time limit would start such a task later than its time allows. So only very
    short tasks are sent ahead there.
    """
    if len(task.inputs) > LOOKED_AT or task.kind.task_type == EXCHANGE:
        return False  # where the inputs of an exchange are is known when they are finished
    if governor.ends_at < inf and expected(task) >= NOTABLE_SECONDS:
        return False
    for data_object in task.inputs:
        if data_object.state is ObjectState.UNFINISHED:
            producer = data_object.producer
            if (
                producer is None
                or producer.assigned is not governor
                or producer.row is TaskRow.ASKED
            ):
                return False
    return True


def inputs_finished(task: Task) -> None:
    """The last missing input is finished: a planned task enters its governor's queue."""
    task.move(TaskMove.INPUTS_FINISHED)
    if task.row is TaskRow.QUEUED:
        governor = task.scheduled or moving.nowhere(task)
        governor.queue.add(task)
        governor.active_cpus += task.kind.resources.cpus
    elif task.row is TaskRow.ASSIGNED:
        governor = task.scheduled or moving.nowhere(task)
        governor.ahead -= 1
        governor.active_cpus += task.kind.resources.cpus


def input_lost(task: Task) -> None:
    """A finished input is made again, and the task waits again. It must not be assigned."""
    if task.row is TaskRow.QUEUED:
        _leave_queue(task, task.scheduled or moving.nowhere(task))
    if task.row is not TaskRow.WAITING and task.row is not TaskRow.PLANNED:
        task.move(TaskMove.INPUT_LOST)
    task.missing += 1


def assign(task: Task, now: float) -> None:
    """Its governor is told to run it, at once or ahead: one more run.

    The caller has taken it out of the queue, or has seen that it can go ahead.
    """
    governor = task.scheduled or moving.nowhere(task)
    task.move(TaskMove.ASSIGN)
    if task.row is TaskRow.AHEAD:
        governor.ahead += 1
    task.assigned = governor
    governor.assigned[task] = None
    last = task.run
    if last is None:  # the usual case
        task.run = Run(1, governor.place, now)
    else:
        task.former = remembered((*task.former, last))
        task.run = Run(last.number + 1, governor.place, now)
    for output in task.outputs:
        for consumer in output.consumers:
            if consumer.row is TaskRow.PLANNED and consumer.scheduled is governor:
                followers = governor.followers  # it may go ahead now
                if (
                    not followers or followers[-1] is not consumer
                ):  # another input was assigned just before
                    followers.append(consumer)


def withdraw(task: Task, ending: Ending, why: TaskMove = TaskMove.TAKE_BACK) -> None:
    """Takes a task from its governor. If it was assigned, its run ends as `ending` says.

    The followers of an assigned task must be recalled before.
    """
    governor = task.scheduled or moving.nowhere(task)
    row = task.row
    task.move(why)
    if row is TaskRow.QUEUED:
        governor.queue.remove(task)
    if task.assigned is not None:
        task.last_run().end(why, ending)
    vacate(task, governor, row)
    _detach(task, governor)


def cancel(task: Task) -> None:
    """An assigned task is not wanted any more: its governor is being told to end it.

    It takes its cpus until its run ends. Its followers must be cancelled with it.
    """
    governor = task.assigned or moving.nowhere(task)
    row = task.row
    if row is TaskRow.ASKED:
        moving.stay(task)
    task.move(TaskMove.CANCEL)
    if row is TaskRow.AHEAD:
        governor.ahead -= 1
        governor.active_cpus += task.cpus
    elif row is TaskRow.BLOCKED:
        governor.active_cpus += task.cpus


def hand_on(task: Task, now: float) -> None:
    """The run of a task has ended, and other tasks will make its outputs.

    Its followers must be recalled before.
    """
    governor = task.assigned or moving.nowhere(task)
    row, run = task.row, task.last_run()
    task.move(TaskMove.HAND_ON)
    run.move(TaskMove.HAND_ON)
    run.started = run.started or now  # too short for its start to be reported
    run.duration = max(now - run.started, 0.0)
    vacate(task, governor, row)
    _detach(task, governor)


def recall_followers(task: Task, now: float) -> list[Stopped]:
    """Takes back all tasks that were sent ahead of the outputs of this one, and their followers.

    They stay planned. Returns the assignments that were undone.
    """
    recalled: list[Stopped] = []
    ending = Ending(now, RunCause.RECALLED)
    pending = [task]
    while pending:
        for output in pending.pop().outputs:
            for follower in output.consumers:
                if follower.row is TaskRow.AHEAD and not output.is_finished:
                    recalled.append(_recall(follower, ending))
                    pending.append(follower)
    return recalled


def _recall(task: Task, ending: Ending) -> Stopped:
    governor = task.scheduled or moving.nowhere(task)
    run = task.last_run()
    task.move(TaskMove.RECALL)
    run.end(TaskMove.RECALL, ending)
    task.assigned = None
    governor.ahead -= 1
    del governor.assigned[task]
    return Stopped(governor, task, run.number)


def take_back(task: Task, ending: Ending) -> list[Stopped]:
    """Withdraws a planned task; if it was assigned, recalls its followers first.

    Returns the assignments that were undone.
    """
    undone: list[Stopped] = []
    if task.assigned is not None:
        undone += recall_followers(task, ending.now)
        undone.append(stopped(task))
    withdraw(task, ending)
    return undone


def returned(task: Task, ending: Ending) -> Governor | None:
    """A governor has returned an assigned task, whose followers must be recalled before.

    It is planned where it was to go. Returns that governor, or None if the task needs a plan.
    """
    target = moving.target_of(task) if task.row is TaskRow.ASKED else None
    withdraw(task, ending)
    if target is None or target.rests or target.away is not None:
        return None
    plan(task, target, task.priority)
    return target


def stopped(task: Task) -> Stopped:
    """The assignment of a task that is about to be undone."""
    return Stopped(task.assigned or moving.nowhere(task), task, task.last_run().number)


def expect(data_object: DataObject) -> list[Governor]:
    """The object has become unfinished, and its copies are of no use any more.

    Returns the governors that were told of one, except that of its producer if that one is at work
    already, to make another output again.
    """
    producer = data_object.producer
    makes = producer is not None and not producer.is_done
    maker = producer.assigned if producer is not None and makes else None
    return [governor for governor in forget_copies((data_object,)) if governor is not maker]


def order_copy(data_object: DataObject, governor: Governor) -> None:
    """The scheduler wants a copy of a finished object on a governor, unless there is one."""
    if data_object not in governor.objects:
        move_copy(data_object, governor, CopyMove.ORDER)


def vacate(task: Task, governor: Governor, row: TaskRow) -> None:
    """Subtracts a task that has left this row from the sums of its governor."""
    if row is TaskRow.AHEAD:
        governor.ahead -= 1
    elif row is TaskRow.ASKED:
        moving.let_go(task)
    elif row is not TaskRow.PLANNED and row is not TaskRow.BLOCKED:
        governor.active_cpus -= task.kind.resources.cpus


def _detach(task: Task, governor: Governor) -> None:
    task.scheduled = None
    task.assigned = None
    del governor.scheduled[task]
    rules.leave_groups(task, governor)
    governor.assigned.pop(task, None)


def _leave_queue(task: Task, governor: Governor) -> None:
    governor.queue.remove(task)
    governor.active_cpus -= task.cpus
