"""A scheduler may be used for a part of the governors, by another one that shows it these."""

from __future__ import annotations

from typing import cast

import pytest
from attrs import Factory, define

from rain.base.ids import GovernorId
from rain.graph import Governor, Graph
from rain.scheduler.api import News, Plan, Scheduler
from rain.scheduler.shipped import SCHEDULERS
from tests.support.scenes import scene_with
from tests.support.submissions import timed


@define
class Part:
    """The graph without some of its governors."""

    whole: Graph
    governors: dict[GovernorId, Governor]

    def __getattr__(self, name: str) -> object:
        return getattr(self.whole, name)


@define(eq=False)
class Restricted:
    """Shows another scheduler all governors, and from some time on those with odd numbers."""

    inner: Scheduler
    whole: bool = True
    shown: list[int] = Factory(list)

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        there = {id_: one for id_, one in graph.governors.items() if self.whole or one.number % 2}
        self.inner.schedule(cast("Graph", Part(graph, there)), news, plan)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_scheduler_uses_only_the_governors_that_it_is_shown_wherever_data_is(name: str) -> None:
    # given: data on every governor, some of which the scheduler is not shown any more
    scheduler = Restricted(SCHEDULERS[name]())
    s = scene_with(scheduler, 1, 1, 1, 1)
    made = [timed(s.draft, seconds)[1] for seconds in (0.001, 20.0) * 4]
    s.draft.submission.kept += made
    s.submit()
    for _ in range(20):
        for governor in s.governors:
            for task in governor.runnable():
                governor.finish(task, size=5_000_000)
    assert all(s.world.object(one).located for one in made)
    scheduler.whole = False
    # when
    readers = [
        timed(s.draft, seconds, *made[i : i + 2])[0] for seconds in (0.001, 20.0) for i in range(7)
    ]
    s.submit()
    s.world.turn()
    # then
    assert not s.world.scheduler_failures
    places = [s.world.task(task).scheduled for task in readers]
    assert any(places)
    assert all(place is None or place.number % 2 for place in places)
