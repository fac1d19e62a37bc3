"""Limits how many cpus one user's tasks may use at a time, and how many bytes one user may store.

A ready task of a user at a limit is *limited*: it has no plan, and no scheduler sees it until there
is room again. So the limits hold with every scheduler. Other ready tasks count with their cpus from
the turn in which they are ready until they have ended, except while they wait for other tasks.

A user at the limit of bytes starts nothing new. But tasks that read outputs of other tasks go on,
since these outputs may be released when they have ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop

from rain.base.failures import SessionFailure
from rain.base.ids import spell
from rain.base.runs import RunCause
from rain.base.states import TaskMove, TaskRow
from rain.base.users import rule_of
from rain.graph import Graph, Task, planning
from rain.graph.run import Ending
from rain.server.core import failing
from rain.server.core.metering import BEGUN, COUNTED, Quota, Use, never_fits, rule, stored_of
from rain.server.core.state import State


def rules_changed(state: State) -> None:
    """The file of users was read again: limits hold for what starts from now on."""
    metering = state.metering
    metering.is_on = any(one.is_metered for one in state.graph.users.values())
    again = {task for quota in metering.quotas.values() for task in quota.limited()}
    metering.quotas = {}
    for task in sorted(again, key=lambda task: task.order):
        task.move(TaskMove.END_LIMIT)
        state.news.unplanned[task] = None
    if metering.is_on:
        for session in state.graph.sessions.values():
            if rule(state.graph, session).is_metered:
                _take_in(state, session.tasks.values())


def apply(state: State) -> None:
    """Limits tasks that have become ready, and lets those run for which there is room now."""
    news, quotas = state.news, state.metering.quotas
    for quota in quotas.values():
        quota.forget(state.graph)
    for tasks in (news.submitted, news.ready, news.unplanned):
        _take_in(state, tasks)
    announced = {*news.submitted}
    for user, quota in quotas.items():
        for task in _let_on(state.graph, user, quota):
            if task not in announced:
                news.unplanned[task] = None
    if any(quota.waiting for quota in quotas.values()):
        news.submitted = [task for task in news.submitted if task.row is not TaskRow.LIMITED]
        news.ready = [task for task in news.ready if task.row is not TaskRow.LIMITED]
        for task in [task for task in news.unplanned if task.row is TaskRow.LIMITED]:
            del news.unplanned[task]


def _take_in(state: State, tasks: Iterable[Task]) -> None:
    """Those that are ready wait for their turn; what was begun counts."""
    graph = state.graph
    for task in list(tasks):
        session = task.session
        if task.row not in COUNTED or not rule(graph, session).is_metered or not task.is_known:
            continue
        quota = state.metering.quotas.setdefault(session.belongs_to, Quota())
        if task in quota.let_on:
            continue
        if task.row in BEGUN:
            if task not in graph.shadowed:
                quota.let_on[task] = None
            continue
        reason = never_fits(graph, session, task.kind)
        if reason:
            message = f"the task {spell(task.id)} cannot run: {reason}"
            failing.give_up(state, task, SessionFailure(message, task=task.id))
            continue
        if task.row is TaskRow.QUEUED:
            planning.withdraw(task, Ending(state.now, RunCause.TAKEN_BACK))
        quota.limit(task)


def _let_on(graph: Graph, user: str, quota: Quota) -> Iterator[Task]:
    """The tasks of a user for which there is room, those of deeper tasks first.

    The sessions of a user get equal parts. A large task is not passed by smaller ones, so that it
    gets its turn.
    """
    if not quota.waiting:
        return
    most, use = rule_of(graph.users, user), quota.use(graph)
    full = bool(most.bytes) and stored_of(graph, user) >= most.bytes
    while True:
        heads = [
            (key, task)
            for key in list(quota.waiting)
            if (key[1] or not full) and (task := quota.first(*key)) is not None
        ]
        if not heads:
            break
        key, task = min(heads, key=lambda head: _place(use, head[1]))
        if most.cpus and task.cpus and use.cpus + task.cpus > most.cpus:
            break
        heappop(quota.waiting[key])
        task.move(TaskMove.END_LIMIT)
        quota.let_on[task] = None
        use.cpus += task.cpus
        use.by_session[task.session] += task.cpus
        yield task
    for key in [key for key, entries in quota.waiting.items() if not entries]:
        del quota.waiting[key]


def _place(use: Use, task: Task) -> tuple[int, int, int, int]:
    session = task.session
    return -task.kind.depth, use.by_session[session], -task.kind.priority, task.order
