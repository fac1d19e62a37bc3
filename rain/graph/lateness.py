"""Finds late tasks: those that are much slower than the others of their name in their session.

The tasks of one name in a session are a **group**. Only tasks that may run twice at a time are in
one (`TaskKind.idempotent`), so a session without such tasks has none. When most of a group have
finished, their durations show how long such a task takes, and one that has been running for much
longer is late.

A group has its running tasks whose starts were reported: short tasks end before that, and cost
nothing here. The graph has the earliest time at which any task can become late (`Graph.late_due`).
No group is examined before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, inf

from attrs import frozen

from rain.base.caching import TAKEN
from rain.base.ids import is_of_server
from rain.base.kinds import TaskKind
from rain.base.states import BEGUN, TaskRow
from rain.graph.graph import Graph
from rain.graph.group import Group
from rain.graph.session import Session
from rain.graph.task import Task


@frozen
class Rule:
    """The rule that decides when a task is late."""

    fraction: float = 0.75  # of its group must have finished,
    quantile: float = 0.75  # and it must have been running longer than this quantile of theirs
    factor: float = 2.0  # times this,
    least: float = 0.5  # and than this many seconds


def limit_of(group: Group, rule: Rule) -> float:
    """The seconds after which a task of the group is late; infinite while too few have finished."""
    if not group.durations.count or group.finished < rule.fraction * group.submitted:
        return inf
    return max(rule.factor * group.durations.quantile(rule.quantile), rule.least)


def add_group(graph: Graph, session: Session, kind: TaskKind) -> None:
    """A session has tasks of this kind, which may run twice at a time."""
    session.groups.setdefault((kind.task_type, kind.name), Group())
    graph.speculates = True


def submitted(tasks: Iterable[Task]) -> None:
    """There are more tasks."""
    for task in tasks:
        if task.kind.idempotent:
            _group_of(task).submitted += 1


def started(graph: Graph, task: Task, rule: Rule) -> None:
    """The start of a task that may run twice at a time was reported."""
    if is_of_server(task.id):
        return
    group, run = _group_of(task), task.last_run()
    group.running[task.id] = run.number
    graph.watched[group] = None
    _compute_limit(group, rule)
    graph.late_due = min(graph.late_due, run.started + group.limit)


def finished(graph: Graph, tasks: Mapping[Task, float], rule: Rule) -> None:
    """Tasks have finished, and these are their seconds. Others may be late by now."""
    groups: dict[Group, None] = {}
    for task, seconds in tasks.items():
        if task.kind.idempotent and not is_of_server(task.id):
            group = _group_of(task)
            group.running.pop(task.id, None)
            group.finished += 1
            if task.session.cached.get(task.id) != TAKEN:
                group.durations.add(seconds)
            groups[group] = None
    for group in groups:
        if group.running and group.finished >= group.limit_until:
            _compute_limit(group, rule)
            _may_be_late_sooner(graph, group)


def out_of_count(graph: Graph, task: Task) -> None:
    """A task does not count any more: it has failed, was cancelled, or stands in for others."""
    if is_of_server(task.id):
        return
    group = _group_of(task)
    group.running.pop(task.id, None)
    group.submitted -= 1
    if group.running:
        look_soon(graph)


def take_late(graph: Graph, now: float, rule: Rule) -> list[Task]:
    """All tasks that are late and have no shadow, and when to look again but for these."""
    late: list[Task] = []
    graph.late_due = inf
    for group in list(graph.watched):
        _compute_limit(group, rule)
        for task_id, number in list(group.running.items()):
            task = graph.tasks.get(task_id)
            if task is None or task.last_run().number != number or task.row not in BEGUN:
                del group.running[task_id]  # this run has ended
            elif task in graph.shadows:
                continue  # it is watched again if it loses that
            elif task.row is TaskRow.BLOCKED:  # it waits for others
                graph.late_due = min(graph.late_due, now + group.limit)
            elif now < (due := task.started + group.limit):
                graph.late_due = min(graph.late_due, due)
            else:
                late.append(task)
        if not group.running:
            del graph.watched[group]
    return late


def look_soon(graph: Graph) -> None:
    """Some may be late by now: fewer count, or a late task has no shadow any more."""
    graph.late_due = -inf


def not_again(task: Task) -> None:
    """This run of a late task gets no other shadow."""
    _group_of(task).running.pop(task.id, None)


def learn(task: Task, seconds: float) -> None:
    """Another run of the task has finished, and these are its seconds."""
    _group_of(task).durations.add(seconds)


def forget_groups(graph: Graph, session: Session) -> None:
    """The session has ended."""
    for group in session.groups.values():
        graph.watched.pop(group, None)
    session.groups = {}


def _group_of(task: Task) -> Group:
    return task.session.groups[task.kind.task_type, task.kind.name]


def _compute_limit(group: Group, rule: Rule) -> None:
    group.limit = limit_of(group, rule)
    if group.limit == inf:
        group.limit_until = ceil(rule.fraction * group.submitted)
    else:
        group.limit_until = group.finished + group.finished // 4 + 1


def _may_be_late_sooner(graph: Graph, group: Group) -> None:
    """The tasks of the group that run may become late earlier than was thought."""
    if group.limit == inf:
        return
    tasks = [graph.tasks.get(task_id) for task_id in group.running]
    starts = [task.started for task in tasks if task is not None and task not in graph.shadows]
    graph.late_due = min(graph.late_due, min(starts, default=inf) + group.limit)
