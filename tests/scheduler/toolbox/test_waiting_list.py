"""The most urgent task first, each once, and none that needs no plan."""

from __future__ import annotations

from rain.graph import Task
from rain.scheduler.api import News
from rain.scheduler.toolbox.levels import Mark
from rain.scheduler.toolbox.waiting_list import WaitingList, strangers
from tests.support.scenes import scene


def test_tasks_come_out_by_urgency_then_by_age_and_only_once() -> None:
    # given
    s = scene(1)
    ids = [s.draft.task()[0] for _ in range(4)]
    s.submit()
    tasks = [s.world.task(task) for task in ids]
    urgencies = dict(zip(tasks, [1.0, 5.0, 1.0, 3.0], strict=True))
    waiting = WaitingList(lambda task: urgencies[task])
    # when
    waiting.add(reversed(tasks))
    waiting.add(tasks)
    # then
    assert len(waiting) == 4
    assert list(waiting.take()) == [tasks[1], tasks[3], tasks[0], tasks[2]]
    assert list(waiting.take()) == []


def test_those_that_were_planned_or_have_gone_meanwhile_are_passed_over() -> None:
    s = scene(1)
    planned, left = s.draft.task()[0], s.draft.task()[0]
    s.submit()
    other = s.client.session()
    gone, _ = other.task()
    s.client.submit(other)
    tasks = [s.world.task(task) for task in (planned, gone, left)]
    waiting = WaitingList(lambda task: 0.0)
    waiting.add(tasks)
    # when
    s.assign(planned)
    s.client.close(other.session)
    # then
    assert list(waiting.take()) == [tasks[2]]


def test_a_planner_that_stops_taking_leaves_the_rest_where_it_is() -> None:
    s = scene(1)
    for _ in range(3):
        s.draft.task()
    s.submit()
    graph = s.world.state.graph
    tasks = list(graph.tasks.values())
    waiting = WaitingList(lambda task: 0.0)
    waiting.add(tasks)
    assert next(waiting.take()) is tasks[0]
    assert list(waiting.take()) == tasks[1:]


def test_strangers_are_those_without_a_mark_that_need_a_plan() -> None:
    # given
    s = scene(1)
    ids = [s.draft.task()[0] for _ in range(4)]
    s.submit()
    tasks: list[Task] = [s.world.task(task) for task in ids]
    known, new, again, planned = tasks
    known.sched = Mark(1.0, 1.0, 0.0)
    s.assign(ids[3])
    # when
    news = News(unplanned={again: None, known: None, planned: None}, ready=[again, new])
    # then
    assert strangers(news, Mark) == [new, again]
