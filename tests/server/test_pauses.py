"""A task with a backoff pauses between its tries: it takes nothing, and nothing of it is lost."""

from __future__ import annotations

import pytest

from rain.base.attempts import Attempts
from rain.base.errors import PlanError
from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, TaskId
from rain.base.states import TaskRow, TaskState
from rain.graph import check
from rain.graph.pausing import pauses_until
from rain.scheduler.api import Plan
from rain.scheduler.renewal import first_news
from rain.scheduler.throttle import Thresholds, Throttle
from rain.server.dashboard.present import task_now
from tests.support.scenes import Scene, scene

BACKOFF = 100.0  # a turn of the tests takes a second


def paused(s: Scene, *inputs: ObjectId, tries: int = 3) -> tuple[TaskId, ObjectId]:
    """A task that has failed once on the first governor."""
    task, (made,) = s.draft.task(*inputs, tries=Attempts(tries, backoff=BACKOFF), keep=True)
    s.submit()
    s.assign(task)
    s.governors[0].fail(task)
    assert s.world.task(task).row is TaskRow.PAUSED
    return task, made


def row(s: Scene, task: TaskId) -> TaskRow:
    return s.world.task(task).row


def heard(s: Scene) -> list[TaskId]:
    """What the scheduler has last heard to be without a plan."""
    return [task.id for task in s.scripted.heard[-1].unplanned]


def test_a_task_that_pauses_takes_no_cpus_and_the_scheduler_hears_of_it_at_the_end() -> None:
    # given
    s = scene(1)
    task, _ = paused(s)
    failed_at = s.world.now
    assert s.node(0).active_cpus == 0
    assert s.world.task(task).state is TaskState.READY
    times_heard = len(s.scripted.heard)

    # when / then: a moment before the end nothing happens
    assert s.world.state.graph.pauses[0][0] == failed_at + BACKOFF
    s.world.turn(after=BACKOFF - 1)
    assert row(s, task) is TaskRow.PAUSED
    assert all(not news.unplanned for news in s.scripted.heard[times_heard:])

    # and then it is tried again
    s.world.turn(after=1)
    assert row(s, task) is TaskRow.READY
    assert heard(s) == [task]
    assert not s.world.state.graph.pauses
    s.run(task)
    assert row(s, task) is TaskRow.FINISHED


def test_the_second_pause_is_twice_as_long() -> None:
    s = scene(1)
    task, _ = paused(s)
    s.world.turn(after=BACKOFF)
    s.assign(task)
    s.governors[0].fail(task)
    assert s.world.state.graph.pauses[0][0] == s.world.now + 2 * BACKOFF


def test_the_server_wakes_up_when_a_pause_ends() -> None:
    s = scene(1)
    paused(s)
    s.world.state.throttle = Throttle(Thresholds(nothing=1e6))
    s.world.turn()
    assert s.world.reactor.next_time() == s.world.state.graph.pauses[0][0]


def test_pauses_end_in_the_order_of_their_times() -> None:
    s = scene(1)
    long, _ = s.draft.task(tries=Attempts(2, backoff=50.0))
    short, _ = s.draft.task(tries=Attempts(2, backoff=10.0))
    s.submit()
    for task in (long, short):
        s.assign(task)
        s.governors[0].fail(task)
    s.world.turn(after=20)
    assert (row(s, long), row(s, short)) == (TaskRow.PAUSED, TaskRow.READY)
    s.world.turn(after=50)
    assert row(s, long) is TaskRow.READY


def test_the_page_of_the_task_says_that_it_pauses_and_for_how_long() -> None:
    s = scene(1)
    task, _ = paused(s)
    now = task_now(s.world.state, s.draft.session, task & 0xFFFFFFFF)
    assert now is not None
    assert now["row"] == "paused"
    assert now["why"] == "Its run 1 has failed. It pauses, and is tried again in 100.0 seconds."


def test_of_several_that_pause_each_says_how_long_it_pauses() -> None:
    s = scene(1)
    tasks = [s.draft.task(tries=Attempts(2, backoff=seconds))[0] for seconds in (50.0, 10.0)]
    s.submit()
    s.assign(*tasks)
    for task in tasks:
        s.governors[0].fail(task)
    left = [pauses_until(s.world.state.graph, s.world.task(task)) for task in tasks]
    assert left[0] - left[1] == 50.0 - 10.0 - 1.0  # the second one has failed a second later


def test_a_task_that_pauses_cannot_be_planned_and_a_new_scheduler_does_not_hear_of_it() -> None:
    s = scene(1)
    task, _ = paused(s)
    node, graph = s.world.task(task), s.world.state.graph
    with pytest.raises(PlanError) as refused:
        Plan(graph).assign(node, s.node(0))
    assert refused.value.rule == "paused task"
    assert first_news(graph).submitted == []


def test_a_task_that_is_cancelled_while_it_pauses_never_runs_again() -> None:
    s = scene(1, on_failure=OnFailure.CONTINUE)
    task, _ = paused(s)
    s.client.cancel(s.draft.session, task)
    assert row(s, task) is TaskRow.CANCELLED
    s.world.turn(after=BACKOFF)
    assert row(s, task) is TaskRow.CANCELLED
    assert not s.world.state.graph.pauses


def test_a_session_that_ends_takes_its_pauses_along_and_leaves_those_of_others() -> None:
    s = scene(1)
    paused(s)
    other = s.client.session()
    task, _ = other.task(tries=Attempts(2, backoff=BACKOFF))
    s.client.submit(other)
    s.assign(task)
    s.governors[0].fail(task)
    s.client.close(s.draft.session)
    assert [pause[1] for pause in s.world.state.graph.pauses] == [task]
    s.world.turn(after=BACKOFF)
    assert row(s, task) is TaskRow.READY


def test_an_input_that_is_lost_ends_the_pause_and_the_task_runs_when_it_was_made_again() -> None:
    # given: the only copy of what it reads is on the first governor
    s = scene(1, 1)
    source, (given,) = s.draft.task(keep=True)
    s.submit()
    s.run(source)
    task, _ = paused(s, given)

    # when
    s.governors[0].leave()

    # then
    assert row(s, task) is TaskRow.WAITING
    assert set(heard(s)) == {source, task}
    s.run(source, on=1)
    assert row(s, task) is TaskRow.READY
    s.world.turn(after=BACKOFF)  # the end of its pause means nothing any more
    s.run(task, on=1)
    assert row(s, task) is TaskRow.FINISHED
    check(s.world.state.graph)


def test_a_lost_governor_is_no_reason_to_pause() -> None:
    s = scene(1, 1)
    task, _ = s.draft.task(tries=Attempts(2, backoff=BACKOFF))
    s.submit()
    s.assign(task)
    s.governors[0].start(task)
    s.governors[0].leave()
    assert row(s, task) is TaskRow.READY
    assert heard(s) == [task]


def test_the_last_try_does_not_pause() -> None:
    s = scene(1, on_failure=OnFailure.CONTINUE)
    task, _ = paused(s, tries=2)
    s.world.turn(after=BACKOFF)
    s.assign(task)
    s.governors[0].fail(task)
    assert row(s, task) is TaskRow.FAILED
    assert not s.world.state.graph.pauses
