"""Step four of a turn: orders to governors: what to run, fetch and drop.

A governor gets more tasks than it can run at once, up to a limit, so that it never waits for the
server between two tasks. Tasks whose missing inputs it makes itself go along with these, up to
another limit. Each order has what the governor does not know yet: kinds, and where inputs are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from rain.base.kinds import TaskKind
from rain.base.states import ObjectState, TaskRow
from rain.base.wire.orders import Orders
from rain.graph import DataObject, Governor, Session, Task, planning
from rain.graph.needs import needs_of
from rain.scheduler.api import Plan
from rain.server.core import exchanging
from rain.server.core.placing import bring, find_sources, lend, place_again, tell_object_kind
from rain.server.core.state import State
from rain.server.core.tries import is_suspect, must_wait

_FINISHED = ObjectState.FINISHED

ENOUGH = 128
"""Ready tasks that a governor may always be sent, if the settings allow this many."""

PACES = 4
"""Or, if that is more, this factor times the number of tasks that it finished between its last two
messages. A governor finishes hundreds of short tasks during one round trip to the server. With
fewer tasks in hand, it and the server would wait for each other alternately. Of long tasks, which
another governor might run earlier, it is sent no more than `ENOUGH`.
"""


def apply_plan(state: State, plan: Plan) -> None:
    """Turns the withdrawals, copies and drops of a plan into orders."""
    for stopped in plan.stopped:
        state.stop(*stopped)
    for asked in plan.asked:
        state.ask_back(*asked)
    for data_object, governor in plan.drops:
        state.drop(data_object, governor)
    for data_object, governor in plan.copies:
        copy = governor.objects.get(data_object)
        if copy is not None and not copy.is_known:
            bring(state, state.orders(governor), (data_object,), governor)
    state.touched.update(plan.touched)


def distribute(state: State) -> None:
    """Fills every governor that has changed, best tasks first, up to the overbooking limit."""
    if state.to_place:
        for copy in state.to_place:
            if copy.is_there:
                place_again(state, copy)
        state.to_place.clear()
    if state.touched:
        _fill(state)
    if state.unsourced:
        find_sources(state)


def _fill(state: State) -> None:
    most = state.settings.overbooking
    for governor in state.touched:
        if governor.rests:
            continue
        limit = min(most, max(ENOUGH, PACES * governor.pace))
        if governor.queue.depth():
            _assign_nested(state, governor, limit)
        for session in governor.queue.with_priorities():
            _assign_preferred(state, governor, session, limit)
        room = limit - len(governor.assigned) + governor.ahead
        tasks = governor.queue.take(room)
        if tasks:
            _assign(state, governor, tasks)
        if governor.followers:
            _assign_ahead(state, governor)
    state.touched.clear()


def _assign_nested(state: State, governor: Governor, limit: int) -> None:
    """Assigns tasks of tasks. Each depth has as much room as if the other depths had no tasks here.
    Tasks at a smaller depth may have to wait for deeper ones, so they must not take their room.
    """
    depths = Counter(
        task.kind.depth for task in governor.assigned if task.row is not TaskRow.BLOCKED
    )
    taken: list[Task] = []
    while (depth := governor.queue.depth()) and depths[depth] < limit:
        depths[depth] += 1
        taken.append(governor.queue.pop())
    if taken:
        _assign(state, governor, taken)


def _assign_preferred(state: State, governor: Governor, session: Session, limit: int) -> None:
    """Assigns tasks of a session that go before some that were sent, and have not started.

    For each priority there is as much room as if the lower ones of the session were not here.
    """
    sent = [
        task.kind.priority
        for task in governor.assigned
        if task.session is session and task.row is TaskRow.ASSIGNED
    ]
    taken: list[Task] = []
    for preferred in iter(lambda: governor.queue.first_of(session), None):
        priority = preferred.kind.priority
        before = sum(other >= priority for other in sent)
        if before == len(sent) or before >= limit:
            break
        sent.append(priority)
        taken.append(governor.queue.take_first_of(session))
    if taken:
        _assign(state, governor, taken)


def _assign(state: State, governor: Governor, tasks: list[Task]) -> None:
    """Assigns tasks that were taken out of the queue, and tells the governor."""
    for task in tasks:
        if task.run is not None and is_suspect(task, state.settings.crash_limit):
            tasks = _assign_carefully(state, governor, tasks)
            break
    else:
        for task in tasks:
            planning.assign(task, state.now)
    if tasks:
        _tell(state, governor, tasks)


def _assign_carefully(state: State, governor: Governor, tasks: list[Task]) -> list[Task]:
    """One after the other, since some are suspects; those that must wait go back to the queue."""
    crash_limit = state.settings.crash_limit
    sent: list[Task] = []
    held_back: list[Task] = []
    for task in tasks:
        if must_wait(task, governor, crash_limit):
            held_back.append(task)
        else:
            planning.assign(task, state.now)
            sent.append(task)
    for task in held_back:
        governor.queue.add(task)
    return sent


def _assign_ahead(state: State, governor: Governor) -> None:
    """Sends the tasks that can follow these without the server, and then the followers of the
    followers.
    """
    limit, crash_limit = state.settings.overbooking_ahead, state.settings.crash_limit
    followers = governor.followers
    sent: list[Task] = []
    while followers and governor.ahead < limit:
        task = followers.popleft()
        if (
            task.row is TaskRow.PLANNED
            and task.scheduled is governor
            and planning.can_go_ahead(task, governor)
            and not (task.run is not None and must_wait(task, governor, crash_limit))
            and not state.metering.is_metered(state.graph, task)
        ):
            planning.assign(task, state.now)
            sent.append(task)
    if sent:
        _tell(state, governor, sent)


def _tell(state: State, governor: Governor, tasks: list[Task]) -> None:
    """Sends assigned tasks to a governor, with everything that it needs for them."""
    orders = state.orders(governor)
    columns, kinds_told = orders.tasks, governor.kinds_told
    for task in tasks:
        kind, inputs = task.kind, task.inputs
        if kind.id not in kinds_told:
            _tell_kind(orders, governor, task.session, kind)
        columns.ids.append(task.id)
        if task.run is not None:
            columns.runs.append(task.run.number)
        columns.kinds.append(kind.id)
        columns.priorities.append(task.priority)
        columns.configs.append(task.config)
        columns.input_counts.append(len(inputs))
        for output in task.outputs:
            columns.outputs.append(output.id)
    needs = needs_of(tasks) if state.graph.has_needs else []
    if any(needs) or columns.needs:
        columns.needs += [0] * (len(columns.ids) - len(tasks) - len(columns.needs))
        columns.needs += needs
    read = (
        exchanging.complete_rows(columns, tasks)
        if state.graph.has_exchanges
        else [one for task in tasks for one in task.inputs]
    )
    if read:
        columns.inputs += [one.id for one in read]
        there = governor.objects  # unfinished inputs are made there
        missing = [
            one
            for one in read
            if one.state is _FINISHED and ((copy := there.get(one)) is None or not copy.is_known)
        ]
        if missing:
            _send(state, orders, dict.fromkeys(missing), governor)


def _send(
    state: State, orders: Orders, objects: Collection[DataObject], governor: Governor
) -> None:
    """Sends the inputs of tasks that their governor does not know yet, each object once.

    An object that only one task reads is lent. Functions are not: they are constants, which more
    tasks will read soon.
    """
    lent = [
        one
        for one in objects
        if one.data is not None
        and len(one.consumers) == 1
        and one.producer is not None
        and one.producer.assigned is not governor
    ]
    if lent:
        lend(orders, lent, governor)
        if len(lent) == len(objects):
            return
        others = dict.fromkeys(objects)
        for one in lent:
            del others[one]
        objects = others
    bring(state, orders, objects, governor)


def _tell_kind(orders: Orders, governor: Governor, session: Session, kind: TaskKind) -> None:
    told = governor.kinds_told
    for output_kind in kind.outputs:
        if output_kind not in told:
            tell_object_kind(orders, governor, session, output_kind)
    told.add(kind.id)
    orders.task_kinds.append(kind)
