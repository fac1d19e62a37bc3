"""Replaces a scheduler in the middle of a run with a new one without state."""

from __future__ import annotations

from collections.abc import Iterable

from rain.graph import Graph, Task
from rain.scheduler.api import News
from rain.scheduler.nested import is_nested
from rain.scheduler.toolbox.waiting_list import needs_plan


def forget(graph: Graph) -> None:
    """Clears the slots of the previous scheduler."""
    graph.sched = None
    for nodes in (graph.tasks, graph.objects, graph.governors, graph.sessions, graph.clients):
        for node in nodes.values():
            node.sched = None


def first_news(graph: Graph) -> News:
    """The news for a scheduler that knows nothing of the past."""
    tasks = (task for task in graph.tasks.values() if not is_nested(task))
    return News(submitted=without_plan(tasks), joined=list(graph.governors.values()))


def without_plan(tasks: Iterable[Task]) -> list[Task]:
    """The tasks that need a plan, producers before consumers."""
    found = [task for task in tasks if needs_plan(task)]
    return sorted(found, key=lambda task: task.order)
