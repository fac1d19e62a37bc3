"""The operand scheduling of Mars: initial tasks by breadth-first search, others near their data.

Tasks without inputs are distributed at submission. Each governor has a quota by its cpus and takes
a task and then its neighbours in the graph, so that related tasks are on one governor. A task that
has no neighbours, or that is beyond the quotas, goes to the least loaded governor. Any other task
goes, when it is ready, where most of its input bytes are. Deeper tasks run first, then those
whose consumers already have other inputs, then those with few consumers.

With depth alone a task could starve while others make the graph deeper. So depth is counted within
one submission, and a second of waiting weighs as much as one step of depth.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from attrs import define

from rain.graph import Governor, Graph, Task
from rain.graph.rules import allows
from rain.scheduler.api import News, Plan
from rain.scheduler.toolbox.balance import feed_hungry
from rain.scheduler.toolbox.loads import Loads
from rain.scheduler.toolbox.places import bytes_by_governor
from rain.scheduler.toolbox.slots import kept, surely_kept
from rain.scheduler.toolbox.waiting_list import needs_plan, strangers

FEW = 64
"""The most neighbours and consumers of a task that are considered."""


@define(eq=False)
class Operand:
    """The mark of a task: its depth and its number of descendants."""

    depth: int
    came: int  # in whole seconds
    descendants: int = 1


class MarsScheduler:
    """Keeps the tasks without a plan."""

    def __init__(self, rebalance: bool = True) -> None:
        self._rebalance = rebalance
        self._waiting: dict[Task, None] = {}

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        """Distributes initial tasks, then plans ready ones."""
        _enter(news.submitted, plan.now)
        _enter(strangers(news, Operand), plan.now)
        self._waiting |= dict.fromkeys([*news.submitted, *news.unplanned, *news.ready])
        governors = list(graph.governors.values())
        if not governors:
            return
        tasks = [task for task in self._waiting if needs_plan(task) and not task.missing]
        initial = [task for task in tasks if _is_initial(task) and any(_consumers(task))]
        homes = place_initial(initial, governors)
        loads = Loads(governors)
        self._waiting = {}
        for task in sorted(tasks, key=lambda task: (-_priority(task), task.order)):
            governor = homes.get(task)
            if governor is None or not allows(task, governor, governors):
                governor = loads.nearest(task, bytes_by_governor(task, plan))
            if governor is None:
                self._waiting[task] = None
            else:
                plan.assign(task, governor, _priority(task))
        if self._rebalance:
            feed_hungry(governors, plan)


def _enter(tasks: list[Task], now: float) -> None:
    """Computes depths from the inputs on, and numbers of descendants from the ends back."""
    together = frozenset(tasks)
    for task in tasks:
        depths = [
            before.depth
            for producer in _producers(task)
            if producer in together and (before := kept(producer, Operand))
        ]
        task.sched = Operand(1 + max(depths, default=-1), int(now))
    for task in reversed(tasks):
        operand = surely_kept(task, Operand)
        for consumer in _consumers(task):
            if after := kept(consumer, Operand):
                operand.descendants += after.descendants


def _producers(task: Task) -> Iterable[Task]:
    return (obj.producer for obj in task.inputs if obj.producer is not None)


def _consumers(task: Task) -> Iterable[Task]:
    return (consumer for output in task.outputs for consumer in output.consumers)


def _is_initial(task: Task) -> bool:
    return all(data_object.producer is None for data_object in task.inputs)


def _priority(task: Task) -> int:
    """Combines depth, depth of the deepest partly supplied consumer, and few consumers."""
    consumers, operand = list(_consumers(task)), surely_kept(task, Operand)
    half_fed = [
        after.depth
        for consumer in consumers[:FEW]
        if consumer.missing < len(consumer.unique_inputs()[:FEW])
        and (after := kept(consumer, Operand))
    ]
    return (
        (operand.depth - operand.came << 40)
        + (max(half_fed, default=0) << 16)
        - min(len(consumers), 0xFFFF)
    )


def place_initial(tasks: list[Task], governors: list[Governor]) -> dict[Task, Governor]:
    """Breadth-first search from the task with the most descendants, within the quotas."""
    homes: dict[Task, Governor] = {}
    quotas = _quotas(len(tasks), governors)
    wanted = dict.fromkeys(tasks)
    spread = max(sum(1 + len(task.outputs) for task in tasks), len(governors)) // len(governors)
    candidates = sorted(
        tasks, key=lambda task: (surely_kept(task, Operand).descendants, -task.order)
    )
    while candidates:
        start = candidates.pop()
        if start in homes:
            continue
        governor = max(governors, key=lambda found: (quotas[found], -found.number))
        for task in _near(start, max(spread, FEW)):
            if quotas[governor] <= 0:
                break
            if task in wanted and task not in homes:
                homes[task] = governor
                quotas[governor] -= 1
    return homes


def _quotas(count: int, governors: list[Governor]) -> dict[Governor, int]:
    """Divides `count` tasks by cpus; the remainder is not in any quota."""
    cpus = sum(max(governor.cpus, 1) for governor in governors)
    return {governor: count * max(governor.cpus, 1) // cpus for governor in governors}


def _near(start: Task, most: int) -> Iterable[Task]:
    """The task and its neighbours in both directions, the nearest first."""
    seen = {start: None}
    pending = deque([start])
    while pending:
        task = pending.popleft()
        yield task
        for other in (*list(_producers(task))[:FEW], *list(_consumers(task))[:FEW]):
            if other not in seen and len(seen) < 4 * most:
                seen[other] = None
                pending.append(other)
