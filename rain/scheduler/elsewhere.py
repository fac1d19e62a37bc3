"""Plans the next try of a task on another governor than the one where it has failed. Works beside
every scheduler.

A run may have failed because of its machine: a broken gpu, a missing library, a full disk. So the
next try goes to a governor on which no run of the task has failed. If there is none, it goes to any
other than the last one. If no other governor can take it, the scheduler plans it as any task.

A task for which the whole disk of its governor was too small goes to the one with the largest disk.

If a run was evicted because of its memory, only the size of the machine is to blame: the next try
goes to a governor that has enough memory, perhaps the same one. Retries go before waiting tasks,
because they show whether the task or the machine was the reason, and a machine that fails
everything should be found soon (`rain.server.core.blaming`).
"""

from __future__ import annotations

from math import inf

from attrs import define, field

from rain.base.address import Source
from rain.base.resources import MEMORY
from rain.base.runs import RunCause, RunState
from rain.graph import Governor, Graph, Task
from rain.graph.needs import had, has_more, needed
from rain.graph.rules import allows
from rain.scheduler.api import MOST, News, Plan
from rain.scheduler.toolbox.loads import Loads
from rain.scheduler.toolbox.waiting_list import needs_plan


def plan_elsewhere(graph: Graph, news: News, plan: Plan) -> None:
    """Plans those of the unplanned tasks whose last run has failed, and takes them out of the
    news for the scheduler, as far as other governors can take them."""
    failed = [task for task in news.unplanned if _has_failed(task) and needs_plan(task)]
    if not failed:
        return
    others = _Others([governor for governor in graph.governors.values() if not governor.rests])
    for task in failed:
        governor = others.choose(task)
        if governor is not None:
            plan.assign(task, governor, MOST)
            del news.unplanned[task]


def _has_failed(task: Task) -> bool:
    run = task.run
    return run is not None and (
        run.state is RunState.FAILED
        or (run.state is RunState.HANDED_BACK and run.cause is RunCause.DISK)
    )


@define
class _Others:
    """The governors without some of them. Many tasks have often failed at the same place."""

    governors: list[Governor]
    _without: dict[frozenset[Source], Loads] = field(init=False, factory=dict)

    def choose(self, task: Task) -> Governor | None:
        """Where the task goes; None if no other governor can take it."""
        if task.last_run().cause is RunCause.MEMORY:
            return self._choose_with_more(task)
        if task.last_run().cause is RunCause.DISK:
            return self._choose_of(task, self._with_the_largest_disk())
        failed = frozenset(run.place for run in task.runs if run.state is RunState.FAILED)
        governor = self._choose(task, failed)
        if governor is None and len(failed) > 1:
            governor = self._choose(task, frozenset([task.last_run().place]))
        return governor

    def _choose_with_more(self, task: Task) -> Governor | None:
        """A governor with as much memory as the task needs now, or else with more than it had.

        A governor where it has failed is not excluded, because the task may be alone there next
        time.
        """
        need = needed(task)
        enough = [one for one in self.governors if one.offered.amount(MEMORY) >= need]
        more = enough or [one for one in self.governors if has_more(one, had(task))]
        return self._choose_of(task, more)

    def _with_the_largest_disk(self) -> list[Governor]:
        """Those that have not told its size may have any."""
        most = max((one.disk or inf for one in self.governors), default=inf)
        return [one for one in self.governors if (one.disk or inf) == most]

    def _choose_of(self, task: Task, some: list[Governor]) -> Governor | None:
        governor = Loads(some).choose(task) if some else None
        return governor if governor and allows(task, governor, self.governors) else None

    def _choose(self, task: Task, without: frozenset[Source]) -> Governor | None:
        loads = self._without.get(without)
        if loads is None:
            there = [found for found in self.governors if found.place not in without]
            loads = self._without[without] = Loads(there)
        if not loads.governors:
            return None
        governor = loads.choose(task)
        if governor is None or not allows(task, governor, self.governors):
            return None  # a group that is spread counts on all governors
        return governor
