"""A scheduler that changes nodes itself is told by name and replaced, and the server lives."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from attrs import Factory, define

from rain.base.errors import InvariantError
from rain.base.states import ObjectState, TaskRow, TaskState
from rain.graph import Governor, Graph, Task, check
from rain.graph.repair import plan_anew
from rain.scheduler.api import News, Plan
from rain.scheduler.rain import RainScheduler
from rain.server.core.scheduling import is_ours
from rain.server.core.tampering import LOOKED_AT
from tests.graph.subject import Subject
from tests.support.remaking import remake
from tests.support.scenes import Scene, scene_with
from tests.support.snapshot import snapshot

Cheat = Callable[[Graph, list[Task], Plan], object]


@define(eq=False)
class Cheater:
    """Plans as a simple scheduler would, and once does what the test says before or after."""

    cheat: Cheat | None = None
    first: bool = False
    told: list[Task] = Factory(list)

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        self.told += news.submitted
        cheat, self.cheat = (self.cheat, None) if news.submitted else (None, self.cheat)
        if cheat is not None and self.first:
            cheat(graph, self.told, plan)
        governors = list(graph.governors.values())
        for place, task in enumerate([*news.submitted, *news.unplanned]):
            if governors and task.row in {TaskRow.READY, TaskRow.WAITING}:
                plan.assign(task, governors[place % len(governors)])
        if cheat is not None and not self.first:
            cheat(graph, self.told, plan)


def one(graph: Graph) -> Governor:
    return next(iter(graph.governors.values()))


def other(graph: Graph) -> Governor:
    return list(graph.governors.values())[1]


def forget_the_queue(graph: Graph, told: list[Task], plan: Plan) -> None:
    one(graph).queue.take(9)
    plan.take_back(told[-2])


def change_a_priority(graph: Graph, told: list[Task], plan: Plan) -> None:
    told[-2].priority = 9
    plan.take_back(told[-2])


def plan_what_was_sent(graph: Graph, told: list[Task], plan: Plan) -> None:
    task = next(iter(one(graph).assigned))
    task.row = TaskRow.READY
    plan.assign(task, other(graph))


CHEATS: dict[str, tuple[bool, Cheat]] = {
    "a place without a plan": (
        True,
        lambda graph, told, plan: setattr(told[-1], "scheduled", one(graph)),
    ),
    "a row without a plan": (
        True,
        lambda graph, told, plan: setattr(told[-1], "row", TaskRow.RUNNING),
    ),
    "another place": (
        False,
        lambda graph, told, plan: setattr(told[-2], "scheduled", other(graph)),
    ),
    "a governor that was not told": (
        False,
        lambda graph, told, plan: setattr(told[-1], "assigned", one(graph)),
    ),
    "inputs that are not there": (
        True,
        lambda graph, told, plan: setattr(told[-1], "missing", 3),
    ),
    "a governor that forgets what it was told of": (
        False,
        lambda graph, told, plan: one(graph).assigned.clear(),
    ),
    "a governor that forgets its plans": (
        False,
        lambda graph, told, plan: one(graph).scheduled.clear(),
    ),
    "a queue that is emptied, and a step that misses it": (False, forget_the_queue),
    "a priority that changes in the queue, and a step that misses it": (False, change_a_priority),
    "a task that was sent, and is planned anew": (True, plan_what_was_sent),
    "a row that is none": (False, lambda graph, told, plan: setattr(told[-1], "row", None)),
    "a row that cannot be looked up": (
        False,
        lambda graph, told, plan: setattr(told[-1], "row", []),
    ),
    "a governor that lists nothing at all": (
        False,
        lambda graph, told, plan: setattr(one(graph), "scheduled", None),
    ),
    "inputs that are no number": (
        False,
        lambda graph, told, plan: setattr(told[-1], "missing", "two"),
    ),
}


def cheated(cheat: Cheat, *, first: bool) -> tuple[Scene, list[Task]]:
    """Two tasks that were sent, and one that runs, before a scheduler cheats beside two more."""
    scheduler = Cheater(first=first)
    s = scene_with(scheduler, 2, 2)
    s.world.state.status.name = "mine.py:Cheater"
    before = [s.draft.task()[0] for _ in range(4)]
    s.submit()
    s.governors[0].start(before[0])
    scheduler.cheat = cheat
    new = [s.draft.task()[0] for _ in range(2)]
    s.submit()
    return s, [s.world.task(task) for task in (*before, *new)]


@pytest.mark.parametrize("name", CHEATS)
def test_a_scheduler_that_changes_nodes_is_named_and_rain_plans_in_its_place(name: str) -> None:
    # given / when: the consistency checker is on, as in all of these worlds
    first, cheat = CHEATS[name]
    s, tasks = cheated(cheat, first=first)
    # then
    (failure,) = s.world.scheduler_failures
    assert failure.scheduler == "mine.py:Cheater"
    assert failure.cause.startswith("it has changed nodes itself, and not by its plan: ")
    assert "rain plans in its place" in failure.cause
    # and: what was sent is still there, and everything is finished
    assert tasks[0].row is TaskRow.RUNNING
    for _ in range(3):
        for fake in s.governors:
            if fake.tasks:
                fake.finish(*fake.tasks)
    assert {task.state for task in tasks} == {TaskState.FINISHED}
    # and: all of it can be made again without the cheater
    remake(s.world)


def test_what_is_changed_in_a_task_of_former_news_is_found_by_one_of_the_next_looks() -> None:
    # given: many tasks that wait for a governor, and a scheduler that touches the last one
    scheduler = Cheater()
    s = scene_with(scheduler)
    waiting = [s.draft.task()[0] for _ in range(3 * LOOKED_AT)]
    s.submit()
    scheduler.cheat = lambda graph, told, plan: setattr(told[-2], "row", TaskRow.QUEUED)
    # when
    for _ in range(4):
        s.draft.task()
        s.submit()
    # then
    (failure,) = s.world.scheduler_failures
    assert "queued> is planned on None" in failure.cause
    assert s.world.task(waiting[-1]).row is TaskRow.READY


def test_damage_that_cannot_be_repaired_ends_the_server_by_name() -> None:
    def lose_a_governor(graph: Graph, told: list[Task], plan: Plan) -> None:
        del graph.governors[one(graph).id]

    with pytest.raises(InvariantError, match=r"the scheduler 'mine\.py:Cheater' has changed nodes"):
        cheated(lose_a_governor, first=False)


def test_only_the_schedulers_of_rain_are_trusted() -> None:
    class Mine(RainScheduler):
        """A plugin that builds on one of Rain's."""

    assert is_ours(RainScheduler())
    assert not is_ours(Mine())
    assert not is_ours(None)


def rows(tasks: Iterable[Task]) -> list[tuple[TaskRow, int]]:
    return [(task.row, task.missing) for task in tasks]


def test_a_sound_graph_loses_only_the_plans_that_nobody_was_told_of() -> None:
    # given: a task in every row
    subject = Subject()
    before = rows(subject.graph.tasks.values())
    assert {row for row, _ in before} == set(TaskRow)
    # when
    plan_anew(subject.graph)
    # then
    unplanned = {
        TaskRow.PLANNED: TaskRow.WAITING,
        TaskRow.QUEUED: TaskRow.READY,
        TaskRow.ASKED: TaskRow.ASSIGNED,  # the answer is still to come
    }
    after = [(unplanned.get(row, row), missing) for row, missing in before]
    assert rows(subject.graph.tasks.values()) == after
    check(subject.graph)
    # and: once more changes nothing
    once = snapshot(subject.graph)
    plan_anew(subject.graph)
    assert snapshot(subject.graph) == once
    assert {one.state for one in subject.graph.objects.values()} == set(ObjectState)
