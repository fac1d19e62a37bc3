"""A scheduler that fails is told about and replaced for that turn; the server lives."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

import pytest
from attrs import Factory, define

from rain.base.errors import InvariantError
from rain.base.ids import ObjectId, TaskId
from rain.base.states import TaskRow
from rain.graph import Graph, Task
from rain.scheduler.api import News, Plan
from rain.scheduler.rain import RainScheduler
from rain.server.core.collector import Happenings
from rain.server.core.happenings import SchedulerFailed
from rain.server.core.messages import TasksOverlooked
from rain.server.core.scheduling import QUIET
from tests.support.scenes import Scene, scene_with

Script = Callable[[Graph, News, Plan], None]


@define(eq=False)
class Naughty:
    """Does what the test says once, and afterwards nothing."""

    script: Script | None = None
    heard: list[News] = Factory(list)

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        self.heard.append(news)
        script, self.script = self.script, None
        if script is not None:
            script(graph, news, plan)


def naughty(script: Script, *cpus: int) -> tuple[Scene, Naughty]:
    scheduler = Naughty()
    s = scene_with(scheduler, *(cpus or (1,)))
    s.world.state.status.name = "mine"
    s.world.state.happenings = Happenings()
    scheduler.script = script
    return s, scheduler


def assign_all_twice(graph: Graph, news: News, plan: Plan) -> None:
    governor = next(iter(graph.governors.values()))
    for task in news.submitted:
        plan.assign(task, governor)
        plan.assign(task, governor)


def crash(graph: Graph, news: News, plan: Plan) -> None:
    raise ZeroDivisionError("by accident")


def test_a_plan_that_breaks_a_rule_is_refused_by_name_and_rain_goes_on() -> None:
    # given
    s, _ = naughty(assign_all_twice)
    tasks = [s.draft.task()[0] for _ in range(3)]
    # when
    s.submit()
    # then: what was right of it stays, rain did the rest
    assert list(s.governors[0].tasks) == tasks
    (failure,) = s.world.scheduler_failures
    assert failure.scheduler == "mine"
    assert "its plan breaks the rule 'planned task'" in failure.cause
    assert re.search(rf" \({__file__}, line \d+\)$", failure.cause)
    assert s.world.state.status.faults == 1


def test_a_scheduler_that_raises_is_told_about_with_its_trace() -> None:
    s, _ = naughty(crash)
    task, _ = s.draft.task()
    s.submit()
    assert task in s.governors[0].tasks
    (failure,) = s.world.scheduler_failures
    line = crash.__code__.co_firstlineno + 1
    assert failure.cause == f"it raised ZeroDivisionError: by accident ({__file__}, line {line})"
    assert "in crash" in failure.trace
    happenings = s.world.state.happenings
    assert happenings is not None
    told = [h for h in happenings.take().happenings if isinstance(h, SchedulerFailed)]
    assert [h.error_msg for h in told] == [failure.cause]


class Returning:
    """Returns what others would write into the plan, as long as there is anything new."""

    def schedule(self, graph: Graph, news: News, plan: Plan) -> object:
        return dict.fromkeys(news.submitted, next(iter(graph.governors.values()), None))


class Chaining:
    """Plans nothing, and returns the plan that it was given."""

    def schedule(self, graph: Graph, news: News, plan: Plan) -> Plan:
        return plan


def test_a_scheduler_that_returns_its_plan_is_told_to_write_it_and_rain_plans() -> None:
    s = scene_with(cast("Any", Returning()), 1)
    task, _ = s.draft.task()
    s.submit()
    assert task in s.governors[0].tasks
    (failure,) = s.world.scheduler_failures
    assert failure.cause == (
        "it has planned nothing and returned a value of the type 'dict': call"
        " plan.assign(task, governor) for each task, and return nothing"
    )


def test_a_scheduler_that_has_nothing_to_plan_may_return_anything() -> None:
    s = scene_with(cast("Any", Returning()), 1)
    s.world.turn()
    assert not s.world.scheduler_failures


class Forgetful:
    """Plans each task once, on one governor after the other."""

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        for task, governor in zip(news.submitted, graph.governors.values(), strict=False):
            plan.assign(task, governor)


def test_a_scheduler_that_overlooks_tasks_without_a_plan_is_told_of_in_the_log() -> None:
    # given
    s = scene_with(Forgetful(), 1, 1)
    task, _ = s.draft.task()
    s.submit()
    assert task in s.governors[0].tasks
    # when
    s.world.state.status.name = "mine"
    s.governors[0].leave()
    # then
    assert s.world.overlooked == [TasksOverlooked("mine", s.draft.session)]
    assert s.world.task(task).row is TaskRow.READY


def test_a_scheduler_may_leave_what_has_lost_its_plan_while_something_runs() -> None:
    # given
    s = scene_with(Forgetful(), 1, 1)
    lost, _ = s.draft.task()
    s.draft.task()
    s.submit()
    # when
    s.governors[0].leave()
    # then
    assert not s.world.overlooked
    assert s.world.task(lost).row is TaskRow.READY


def test_a_scheduler_that_plans_nothing_and_returns_the_plan_is_left_alone() -> None:
    s = scene_with(cast("Any", Chaining()), 1)
    s.draft.task()
    s.submit()
    assert not s.world.scheduler_failures


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("error", "told"),
    [(Unprintable(), "<exception str() failed>"), (ValueError("\udc80"), r"ValueError: \udc80")],
)
def test_a_scheduler_whose_exception_cannot_be_printed_is_reported(
    error: Exception, told: str
) -> None:
    def fail(graph: Graph, news: News, plan: Plan) -> None:
        raise error

    s, _ = naughty(fail)
    task, _ = s.draft.task()
    s.submit()
    assert task in s.governors[0].tasks
    (failure,) = s.world.scheduler_failures
    assert told in failure.cause
    failure.trace.encode()  # as the log's file wants it


def test_a_scheduler_that_spoils_its_news_before_it_fails_loses_no_task() -> None:
    def spoil(graph: Graph, news: News, plan: Plan) -> None:
        news.submitted = news.unplanned = cast("Any", None)
        raise ValueError

    s, scheduler = naughty(spoil)
    tall, _ = s.draft.task(cpus=4)
    small, _ = s.draft.task()
    s.submit()
    s.world.turn()
    assert small in s.governors[0].tasks
    assert list(scheduler.heard[-1].unplanned) == [s.world.task(tall)]


def test_a_scheduler_that_calls_itself_too_deeply_leaves_no_step_half_made() -> None:
    # given: a chain that is longer than Python lets functions call each other
    def descend(graph: Graph, news: News, plan: Plan) -> None:
        governor = next(iter(graph.governors.values()))

        def visit(task: Task) -> None:
            plan.assign(task, governor)
            for output in task.outputs:
                for consumer in output.consumers:
                    visit(consumer)

        visit(news.submitted[0])

    s, _ = naughty(descend)
    inputs: list[ObjectId] = []
    tasks: list[TaskId] = []
    for _ in range(1500):
        task, inputs = s.draft.task(*inputs)
        tasks.append(task)
    # when: the consistency checker looks at the graph after the turn
    s.submit()
    # then
    (failure,) = s.world.scheduler_failures
    assert failure.cause.startswith("it raised RecursionError")
    assert all(s.world.task(task).scheduled is s.node(0) for task in tasks)


def test_the_same_complaint_is_told_once_a_minute_and_counted_always() -> None:
    # given
    s, scheduler = naughty(crash)
    for _ in range(3):
        s.draft.task()
        s.submit()
        scheduler.script = crash
    assert len(s.world.scheduler_failures) == 1
    assert s.world.state.status.faults == 3
    # when
    s.world.turn(after=QUIET)
    # then
    assert len(s.world.scheduler_failures) == 2


def test_what_rain_could_not_plan_either_the_scheduler_hears_of_again() -> None:
    # given: a task for which there is no governor yet
    s, scheduler = naughty(crash)
    tall, _ = s.draft.task(cpus=4)
    small, _ = s.draft.task()
    s.submit()
    # when
    s.world.turn()
    # then: the one that was planned meanwhile is not mentioned
    assert list(scheduler.heard[-1].unplanned) == [s.world.task(tall)]
    assert small in s.governors[0].tasks


def test_an_error_of_ours_stops_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_ours(scheduler: RainScheduler, graph: Graph, news: News, plan: Plan) -> None:
        raise InvariantError("the graph contradicts itself")

    s = scene_with(RainScheduler(), 1)
    s.draft.task()
    monkeypatch.setattr(RainScheduler, "schedule", find_ours)
    with pytest.raises(InvariantError):
        s.submit()
