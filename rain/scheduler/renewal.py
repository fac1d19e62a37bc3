"""A scheduler that is made anew in the middle of a run: nothing of the one before it is left."""

from __future__ import annotations

from collections.abc import Iterable

from rain.graph import Graph, Task
from rain.scheduler.api import News
from rain.scheduler.toolbox.waiting_list import needs_plan


def forget(graph: Graph) -> None:
    """Empties the slots of a scheduler that has gone."""
    graph.sched = None
    for nodes in (graph.tasks, graph.objects, graph.governors, graph.sessions, graph.clients):
        for node in nodes.values():
            node.sched = None


def first_news(graph: Graph) -> News:
    """What a scheduler must hear that knows nothing of the past."""
    return News(submitted=without_plan(graph.tasks.values()), joined=list(graph.governors.values()))


def without_plan(tasks: Iterable[Task]) -> list[Task]:
    """Those that need a plan, inputs before consumers."""
    found = [task for task in tasks if needs_plan(task)]
    return sorted(found, key=lambda task: task.order)
