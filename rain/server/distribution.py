"""Step four of a turn: telling governors what to run, fetch and drop.

A governor is told more than it can run at once, up to a limit, so that it never waits for the
server between two tasks. Tasks whose missing inputs it makes itself go along ahead of these, up to
another limit. With every task goes what the governor does not know yet: kinds, and where its inputs
are.
"""

from __future__ import annotations

from rain.base.kinds import TaskKind
from rain.base.states import TaskRow
from rain.base.wire import Orders
from rain.graph import DataObject, Governor, Session, Task, planning
from rain.scheduler.api import Plan
from rain.server.placing import bring, lend, place_again, tell_object_kind
from rain.server.state import State
from rain.server.tries import must_wait

ENOUGH = 128
"""Ready tasks that a governor may always be told of, if the settings allow as many."""

PACES = 4
"""And if that is more: so many times what it has finished between two of its messages.

It finishes short tasks by the hundred while a message, a turn and its answer are on their way; with
fewer in hand it and the server would wait for each other by turns. Of long tasks, which another
governor might rather run, it is told no more than `ENOUGH`.
"""


def apply_plan(state: State, plan: Plan) -> None:
    """Passes on what the scheduler has withdrawn, copied and dropped."""
    for governor, task, attempt in plan.stopped:
        state.stop(governor, task, attempt)
    for data_object, governor in plan.drops:
        state.drop(data_object, governor.alone)
    for data_object, governor in plan.copies:
        wanted = data_object.is_finished and governor in data_object.scheduled
        if wanted and governor not in data_object.assigned:
            bring(state, state.orders(governor), (data_object,), governor)
    state.touched.update(plan.touched)


def distribute(state: State) -> None:
    """Fills every governor that has changed, best tasks first, up to the overbooking limit."""
    if state.to_place:
        for (data_object, governor), tries in state.to_place.items():
            if governor in data_object.assigned and data_object.is_finished:
                place_again(state, data_object, governor, tries)
        state.to_place.clear()
    if not state.touched:
        return
    most = state.settings.overbooking
    for governor in state.touched:
        limit = min(most, max(ENOUGH, PACES * governor.pace))
        room = limit - len(governor.assigned) + governor.ahead
        tasks = governor.queue.take(room)
        if tasks:
            _assign(state, governor, tasks)
        if governor.followers:
            _assign_ahead(state, governor)
    state.touched.clear()


def _assign(state: State, governor: Governor, tasks: list[Task]) -> None:
    """Assigns tasks that were taken out of the queue, and tells the governor."""
    for task in tasks:
        if task.failures:
            tasks = _assign_carefully(governor, tasks, state.settings.crash_limit)
            break
    else:
        planning.assign_queued(tasks, governor)
    if tasks:
        _tell(state, governor, tasks)


def _assign_carefully(governor: Governor, tasks: list[Task], crash_limit: int) -> list[Task]:
    """One after the other, since some have failed before; who must wait goes back to the queue."""
    told: list[Task] = []
    held_back: list[Task] = []
    for task in tasks:
        if task.failures and must_wait(task, governor, crash_limit):
            held_back.append(task)
        else:
            planning.assign(task)
            told.append(task)
    governor.queue.add_all(held_back)
    return told


def _assign_ahead(state: State, governor: Governor) -> None:
    """Tells what can follow without the server; every task that is told may have followers too."""
    limit, crash_limit = state.settings.overbooking_ahead, state.settings.crash_limit
    followers = governor.followers
    told: list[Task] = []
    while followers and governor.ahead < limit:
        task = followers.popleft()
        if (
            task.row is TaskRow.PLANNED
            and task.scheduled is governor
            and planning.can_go_ahead(task, governor)
            and not (task.failures and must_wait(task, governor, crash_limit))
        ):
            planning.assign(task)
            told.append(task)
    if told:
        _tell(state, governor, told)


def _tell(state: State, governor: Governor, tasks: list[Task]) -> None:
    """Tells a governor of tasks that were assigned to it, and of what it needs for them."""
    orders = state.orders(governor)
    columns = orders.tasks
    ids, attempts, kinds = columns.ids, columns.attempts, columns.kinds
    priorities, configs, outputs = columns.priorities, columns.configs, columns.outputs
    counts, inputs = columns.input_counts, columns.inputs
    told = governor.kinds_told
    new: list[DataObject] = []
    lent: dict[DataObject, None] = {}
    for task in tasks:
        kind = task.kind
        if kind.id not in told:
            _tell_kind(orders, governor, task.session, kind)
        ids.append(task.id)
        attempts.append(task.attempt)
        kinds.append(kind.id)
        priorities.append(task.priority)
        configs.append(task.config)
        read, made = task.inputs, task.outputs
        counts.append(len(read))
        for data_object in read:
            if governor not in data_object.assigned:
                maker = data_object.producer
                if (
                    data_object.data is not None
                    and len(data_object.consumers) == 1
                    and maker is not None  # else more will read it soon: functions are constants
                    and maker.assigned is not governor
                ):
                    lent[data_object] = None
                else:
                    new.append(data_object)
            inputs.append(data_object.id)
        if new:
            bring(state, orders, new if len(new) == 1 else dict.fromkeys(new), governor)
            new.clear()
        if len(made) == 1:  # as nearly always
            outputs.append(made[0].id)
        else:
            outputs += [output.id for output in made]
    if lent:
        lend(orders, lent, governor)


def _tell_kind(orders: Orders, governor: Governor, session: Session, kind: TaskKind) -> None:
    for output_kind in kind.outputs:
        if output_kind not in governor.kinds_told:
            tell_object_kind(orders, governor, session, output_kind)
    governor.kinds_told.add(kind.id)
    orders.task_kinds.append(kind)
