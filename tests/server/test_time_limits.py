"""A governor that must be gone at some time gets no task that is expected to end later."""

from __future__ import annotations

from math import inf

import pytest

from rain.base.attempts import Attempts
from rain.base.errors import PlanError
from rain.base.failures import OnFailure
from rain.base.ids import TaskId
from rain.base.runs import RunCause
from rain.base.states import TaskRow
from rain.base.wire.answers import HoldUp
from rain.graph.times import expected
from rain.scheduler.horizon import HorizonScheduler
from rain.server.core import hold_ups, time_limits
from rain.server.http.status import gather_status
from tests.support.fake_governor import FakeGovernor
from tests.support.scenes import Scene, orders_in, scene, scene_with

MINUTE = Attempts(timeout=60.0)


def ending(s: Scene, seconds: float, cpus: int = 1) -> int:
    """A governor joins that must be gone after this time; its place in the scene."""
    s.governors.append(s.world.governor(cpus, time_left=seconds))
    return len(s.governors) - 1


def waiting_at(time_left: float) -> tuple[Scene, list[TaskId]]:
    """Two tasks of a minute were sent to a governor with one cpu; another governor has no end."""
    s = scene(1, on_failure=OnFailure.CONTINUE)
    place = ending(s, time_left)
    tasks = [s.draft.task(tries=MINUTE)[0] for _ in range(2)]
    s.submit()
    s.assign(*tasks, to=place)
    s.governors[place].start(tasks[0])
    return s, tasks


def told(s: Scene) -> HoldUp | None:
    """What is said of the session."""
    state = s.world.state
    return hold_ups.of_session(state, state.graph.sessions[s.draft.session], s.world.now)


def test_a_task_goes_where_it_can_end_although_others_wait_there() -> None:
    s = scene_with(HorizonScheduler(), 1)
    ending(s, 30.0, cpus=4)
    tasks = [s.draft.task(tries=MINUTE)[0] for _ in range(3)]
    s.submit()
    for _ in tasks:
        s.world.turn()
        s.governors[0].finish(next(iter(s.governors[0].tasks)))
    assert not s.governors[1].told
    assert all(s.world.task(task).row is TaskRow.FINISHED for task in tasks)


def test_no_scheduler_may_plan_it_there() -> None:
    s = scene()
    ending(s, 30.0)
    task, _ = s.draft.task(tries=MINUTE)
    s.submit()
    with pytest.raises(PlanError, match=r"expected to take 60 seconds, but .* ends in \d\d") as no:
        s.assign(task)
    assert no.value.rule == "time"


def test_what_was_learned_of_a_name_counts_more_than_its_time_limit() -> None:
    s = scene(1)
    first, second = (s.draft.task(tries=MINUTE)[0] for _ in range(2))
    s.submit()
    s.assign(first)
    assert expected(s.world.task(second)) == 60.0
    s.governors[0].finish(first)
    s.world.turn()
    assert expected(s.world.task(second)) == 0.5
    s.assign(second, to=ending(s, 10.0))
    assert second in s.governors[1].tasks


def test_a_task_is_expected_to_take_as_long_as_it_ran_where_it_was_lost() -> None:
    s = scene(1)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)
    s.governors[0].start(task)
    s.world.turn(after=100.0)
    s.governors[0].leave()
    assert s.world.task(task).last_run().cause is RunCause.GOVERNOR
    assert expected(s.world.task(task)) >= 100.0


def test_a_task_that_waits_there_goes_elsewhere_when_it_cannot_end_any_more() -> None:
    s, (running, waiting) = waiting_at(70.0)
    s.world.turn(after=5.0)
    assert s.world.task(waiting).row is TaskRow.ASSIGNED
    effects = s.world.turn(after=10.0)
    ((_, orders),) = orders_in(effects).items()
    assert orders.asked.ids == [waiting]
    s.governors[1].return_asked(waiting)
    assert waiting in {one.id for heard in s.scripted.heard for one in heard.unplanned}
    s.assign(waiting, to=0)
    assert s.governors[0].tasks == {waiting: 2}
    assert s.world.task(running).row is TaskRow.RUNNING


def test_the_next_turn_comes_when_a_task_that_waits_is_to_be_looked_at() -> None:
    s, tasks = waiting_at(70.0)
    assert s.world.reactor.next_time() <= s.world.now + 1.0
    for task in tasks:
        s.governors[1].finish(task)
    assert time_limits.next_look(s.world.state) == inf


def test_what_takes_no_time_is_sent_ahead_there_and_nothing_else() -> None:
    s = scene()
    place = ending(s, 600.0)
    first, (made,) = s.draft.task(tries=MINUTE)
    short, _ = s.draft.task(made)
    long, _ = s.draft.task(made, tries=Attempts(timeout=50.0))
    s.submit()
    s.assign(first, short, long, to=place)
    assert s.governors[place].tasks.keys() == {first, short}
    s.governors[place].finish(first)
    assert long in s.governors[place].tasks


def test_who_waits_for_a_task_that_no_governor_has_the_time_for_is_told_with_the_numbers() -> None:
    s = scene_with(HorizonScheduler())
    ending(s, 1000.0)
    ending(s, 2000.0)
    s.draft.task(tries=Attempts(timeout=7200.0))
    s.submit()
    hold_up = told(s)
    assert hold_up is not None
    assert str(hold_up) == (
        "py/ 'work' is expected to take 2 h, and no governor that has what it needs stays that"
        f" long; the last one, {s.governors[1].address}, ends in 33 min 19 s; it waits for one"
        " with more time"
    )
    s.world.turn()
    later = told(s)
    assert later is not None
    assert later.why == hold_up.why  # a program that waits is warned of it once
    s.governors.append(s.world.governor())
    assert told(s) is None
    assert s.governors[2].tasks


def test_tasks_that_wait_for_time_hold_up_no_others() -> None:
    s = scene_with(HorizonScheduler())
    place = ending(s, 30.0)
    for _ in range(100):
        s.draft.task(tries=MINUTE, priority=5)
    s.submit()
    s.world.turn()
    short, _ = s.draft.task(cpus=1)
    s.submit()
    s.world.turn()
    assert s.governors[place].tasks.keys() == {short}


def test_the_status_names_the_time_that_is_left() -> None:
    s = scene(1)
    ending(s, 30.0)
    s.world.turn(after=10.0)
    shown = gather_status(s.world.state, s.world.now)["governors"]
    assert [one["time_left"] for one in shown] == [None, 20.0]


def test_a_governor_that_has_gone_is_forgotten() -> None:
    s = scene(1)
    governor: FakeGovernor = s.governors[ending(s, 30.0)]
    assert [one.ends_at < inf for one in s.world.state.graph.ending] == [True]
    governor.leave()
    assert not s.world.state.graph.ending
