"""Every scheduler that can be chosen keeps the contract, and the contract finds who does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rain.graph import Graph, Task
from rain.scheduler.api import News, Plan, Scheduler
from rain.scheduler.contract import BrokenContract, check_scheduler
from rain.scheduler.round_robin import RoundRobinScheduler
from rain.scheduler.shipped import SCHEDULERS


@pytest.mark.no_cover
@pytest.mark.parametrize("name", SCHEDULERS)
def test_every_scheduler_that_ships_keeps_the_contract(name: str) -> None:
    check_scheduler(SCHEDULERS[name], range(3))


class Lazy:
    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        for task in news.submitted[:1]:
            for governor in graph.governors.values():
                if task.kind.resources.fits(governor.resources) and not task.kind.constraints:
                    plan.assign(task, governor)
                    break


class Careless:
    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        for task in news.submitted:
            plan.assign(task, next(iter(graph.governors.values())))


class Moody(RoundRobinScheduler):
    made = 0

    def __init__(self) -> None:
        super().__init__()
        Moody.made += 1
        self._turn = Moody.made


class Scanning:
    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        for task in graph.tasks.values():
            task.sched = self


class Attached(RoundRobinScheduler):
    """Takes for granted that it has seen each task when that came."""

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        for task in news.submitted:
            task.sched = self
        assert all(task.sched is self for task in news.unplanned)
        super().schedule(graph, news, plan)


class Stubborn(RoundRobinScheduler):
    """Plans what is urgent when nothing else is left."""

    def __init__(self) -> None:
        super().__init__()
        self._urgent: list[Task] = []

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        self._urgent = [task for task in (*self._urgent, *news.submitted) if task.kind.priority]
        news.submitted = [task for task in news.submitted if not task.kind.priority]
        if not any(governor.scheduled for governor in graph.governors.values()):
            news.submitted += self._urgent
        super().schedule(graph, news, plan)


def test_a_scheduler_that_depends_on_its_past_is_found_because_it_is_made_anew() -> None:
    with pytest.raises(AssertionError):
        check_scheduler(Attached, range(5))


@pytest.mark.parametrize(
    ("scheduler", "complaint"),
    [
        (Lazy, "lets tasks starve"),
        (Careless, "breaks the rule 'resources'|breaks the rule 'pin'|breaks the rule 'apart'"),
        (Moody, "it is not deterministic"),
        (Stubborn, "it does not heed priorities: 300 of lower priority have started before"),
        (Scanning, "it is not incremental: it walks over graph.tasks"),
    ],
)
def test_a_scheduler_that_breaks_the_contract_is_told_which_part(
    scheduler: Callable[[], Scheduler], complaint: str
) -> None:
    with pytest.raises(BrokenContract, match=complaint):
        check_scheduler(scheduler, [1])
