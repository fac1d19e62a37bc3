"""Plans nested tasks, which other tasks have submitted. Works beside every scheduler.

A task that waits for a nested task keeps its process, but not its cpus. A scheduler that plans by
free cpus, or by its own priorities, could keep nested tasks back until nothing runs any more. So
they are planned at once: near their inputs, else on the least loaded governor.
"""

from __future__ import annotations

from collections.abc import Iterable

from rain.graph import Graph, Task
from rain.graph.standing_in import stands_in
from rain.scheduler.api import News, Plan
from rain.scheduler.toolbox.loads import Loads
from rain.scheduler.toolbox.waiting_list import needs_plan


def is_nested(task: Task) -> bool:
    """Whether another task has submitted it, or makes its result."""
    return task.kind.depth > 0 or stands_in(task)


class NestedTasks:
    """The tasks of tasks that have no plan yet."""

    def __init__(self) -> None:
        self._unplanned: dict[Task, None] = {}

    def take(self, news: News) -> None:
        """Takes them out of the news for the scheduler."""
        nested = [task for task in news.submitted if is_nested(task)]
        if nested:
            self._add(nested)
            news.submitted = [task for task in news.submitted if not is_nested(task)]
        again = [task for task in news.unplanned if is_nested(task)]
        if again:
            self._add(again)
            for task in again:
                del news.unplanned[task]
        news.ready = [task for task in news.ready if not is_nested(task)]

    def _add(self, tasks: Iterable[Task]) -> None:
        """In the order of their submission, in which producers come before consumers."""
        together = {**self._unplanned, **dict.fromkeys(tasks)}
        self._unplanned = dict.fromkeys(sorted(together, key=lambda task: task.order))

    def __bool__(self) -> bool:
        return bool(self._unplanned)

    def plan(self, graph: Graph, plan: Plan) -> None:
        """Plans all for which there is a governor."""
        governors = [governor for governor in graph.governors.values() if not governor.rests]
        if not governors:
            return
        loads = Loads(governors)
        left: dict[Task, None] = {}
        for task in self._unplanned:
            if needs_plan(task):
                governor = loads.choose(task)
                if governor is None:
                    left[task] = None
                else:
                    plan.assign(task, governor)
        self._unplanned = left
