"""Which tasks get a second run, when, and where."""

from __future__ import annotations

from math import inf

from rain.base.ids import FIRST_OF_SERVER, LAST_SHARED, is_of_server
from rain.base.states import TaskRow, TaskState
from rain.scheduler.throttle import Throttle
from rain.server.core.speculation import LOOK_AGAIN
from tests.support.late_tasks import SETTINGS, late
from tests.support.scenes import SELDOM, scene


def test_a_late_task_gets_a_second_run_on_another_governor() -> None:
    one = late()
    assert one.shadow is None
    one.wait()
    assert one.shadow is not None
    assert one.task in one.first.tasks
    assert one.scene.world.state.graph.shadows


def test_a_task_that_does_not_say_so_never_runs_twice() -> None:
    one = late(idempotent=False)
    one.wait(1000)
    assert one.shadow is None
    assert not one.scene.world.state.graph.watched


def test_what_has_run_for_longest_decides_when_to_look_for_late_tasks() -> None:
    # given: two tasks that started at different times
    s = scene(8, settings=SETTINGS)
    tasks = [s.draft.task(keep=True, idempotent=True)[0] for _ in range(8)]
    s.submit()
    s.assign(*tasks)
    s.governors[0].start(tasks[0])
    first = s.world.task(tasks[0]).started
    s.governors[0].start(tasks[1])
    # when: it becomes known how long others take
    s.governors[0].finish(*tasks[2:], data=b"data")
    # then
    assert s.world.task(tasks[1]).started > first
    assert s.world.state.graph.late_due == first + SETTINGS.lateness.least


def test_a_governor_that_drains_gets_no_second_run_and_gives_back_what_it_has_not_started() -> None:
    one = late()
    one.wait()
    one.second.drain()
    assert one.scene.world.released == [one.second]
    assert one.node.state is TaskState.RUNNING
    assert not one.scene.world.state.graph.shadows


def test_without_idle_cpus_elsewhere_there_is_no_second_run_until_there_are() -> None:
    # given: the second governor has as much to do as it can
    one = late()
    busy = [one.scene.draft.task(keep=True)[0] for _ in range(4)]
    one.scene.submit()
    one.scene.assign(*busy, to=1)
    one.wait()
    assert one.shadow is None

    # when
    one.second.finish(busy[0], data=b"")
    one.wait(LOOK_AGAIN)

    # then
    assert one.shadow is not None


def test_the_server_wakes_when_a_task_becomes_late_and_looks_at_nothing_before() -> None:
    one = late()
    reactor = one.scene.world.reactor
    reactor.state.throttle = Throttle(SELDOM.thresholds)  # else the scheduler is due before
    one.scene.world.turn()
    assert reactor.next_time() == one.node.started + 100.0


def test_a_lone_governor_is_not_looked_at_again_and_again() -> None:
    # given
    one = late(governors=1)
    one.wait()
    assert one.scene.world.state.graph.late_due == inf

    # when
    another = one.scene.world.governor(4)

    # then
    assert list(map(is_of_server, another.tasks)) == [True]


def test_a_session_without_numbers_for_second_runs_has_none() -> None:
    one = late()
    one.node.session.numbers_of_server = LAST_SHARED - FIRST_OF_SERVER - 1  # it needs two
    one.wait()
    assert one.shadow is None
    assert one.node.row is TaskRow.RUNNING


def test_too_few_that_have_finished_tell_nothing() -> None:
    s = scene(4, 4, settings=SETTINGS)
    tasks = [s.draft.task(keep=True, idempotent=True)[0] for _ in range(4)]
    s.submit()
    s.assign(*tasks)
    s.governors[0].start(*tasks[2:])
    s.governors[0].finish(*tasks[:2], data=b"")
    s.world.turn(after=10_000)
    assert not s.governors[1].tasks


def test_a_task_that_waits_for_others_is_not_late() -> None:
    one = late()
    one.first.send(one.first.waiting(one.task))
    one.wait()
    assert one.shadow is None
    one.first.send(one.first.resumed(one.task))
    one.wait()
    assert one.shadow is not None
