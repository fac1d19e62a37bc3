"""The horizon scheduler: soon, near, fair, and with few objects alive."""

from __future__ import annotations

import pytest

from rain.base.exchange import EXCHANGE
from rain.base.failures import OnFailure
from rain.base.ids import ObjectId
from rain.base.states import ObjectState, TaskRow
from rain.base.wire.requests import CloseSession
from rain.scheduler.api import Scheduler
from rain.scheduler.blevel import BlevelScheduler
from rain.scheduler.horizon import HorizonScheduler
from rain.scheduler.toolbox.express import AT_ONCE
from rain.server.core.messages import Asked, GovernorUpdated
from tests.support.scenes import Scene, scene_with
from tests.support.submissions import timed

LARGE = 1_000_000


def planned(s: Scene) -> int:
    return sum(len(governor.node.scheduled) for governor in s.world.governors)


def step(s: Scene, seconds: float = 1.0) -> None:
    """Every governor runs the best of the tasks that it could run, all at the same time."""
    updates: list[GovernorUpdated] = []
    for governor in s.world.governors:
        if governor.fetching():
            governor.locate(*governor.fetching())
        ready = [s.world.task(task) for task in governor.runnable()]
        best = min(ready, key=lambda task: (-task.priority, task.order))
        updates.append(GovernorUpdated(governor.id, governor.finished(best.id)))
    s.world.turn(*updates, after=seconds)


def fail_one_each(s: Scene, seconds: float) -> None:
    """One task of every governor fails, all at the same time."""
    updates = [
        GovernorUpdated(governor.id, governor.failed(governor.runnable()[0]))
        for governor in s.world.governors
    ]
    s.world.turn(*updates, after=seconds)


@pytest.mark.parametrize(("scheduler", "alive"), [(HorizonScheduler, 2), (BlevelScheduler, 6)])
def test_a_tree_that_grows_together_keeps_few_of_its_parts_alive(
    scheduler: type[Scheduler], alive: int
) -> None:
    # given: eight leaves, and two governors that run one task each at a time
    s = scene_with(scheduler(), 1, 1)
    level = [timed(s.draft, 0.1)[1] for _ in range(8)]
    while len(level) > 2:
        level = [timed(s.draft, 0.1, *level[i : i + 2])[1] for i in range(0, len(level), 2)]
    s.draft.submission.kept.append(timed(s.draft, 0.1, *level)[1])
    s.submit()
    # when
    for _ in range(5):
        step(s)
    # then: by level all leaves would come first
    objects = s.world.state.graph.objects.values()
    assert sum(found.state is ObjectState.FINISHED for found in objects) == alive


@pytest.mark.parametrize("seconds", [1.0, 0.0], ids=["known", "unknown"])
def test_of_a_join_no_side_is_merged_before_the_other_is_split(seconds: float) -> None:
    # given: two shuffles, in the order in which Dask would like to run their tasks
    s = scene_with(HorizonScheduler(), 1)
    count = 8
    _, left = s.draft.task(
        *[timed(s.draft, seconds)[1] for _ in range(count)], cpus=0, task_type=EXCHANGE
    )
    first = timed(s.draft, seconds, *left)
    _, right = s.draft.task(
        *[timed(s.draft, seconds)[1] for _ in range(count)], cpus=0, task_type=EXCHANGE
    )
    merged: list[ObjectId] = []
    for part in range(count):
        one = timed(s.draft, seconds, *left) if part else first
        other = timed(s.draft, seconds, *right)
        s.draft.submission.kept.append(timed(s.draft, seconds, one[1], other[1])[1])
        merged += [one[1], other[1]]
    s.submit()
    # when
    most = 0
    for _ in range(2 + 5 * count):
        step(s)
        alive = [one for one in merged if s.world.object(one).state is ObjectState.FINISHED]
        most = max(most, len(alive))
    # then: parts were joined soon, and only the first are merged ahead
    assert all(s.world.object(one).state is ObjectState.FINISHED for one in s.draft.submission.kept)
    assert most <= 3


def test_what_cannot_start_soon_is_not_planned() -> None:
    s = scene_with(HorizonScheduler(), 2, 2)
    for _ in range(50):
        timed(s.draft, 20.0)
    s.submit()
    assert planned(s) == 4


def test_no_governor_is_idle_when_tasks_end_much_sooner_than_expected() -> None:
    # given: little is planned ahead
    s = scene_with(HorizonScheduler(), 1, 1)
    tasks = [timed(s.draft, 1.0)[0] for _ in range(40)]
    s.submit()
    assert planned(s) < 10
    # when: each is over in a hundredth of that, and the scheduler has seen the first that were
    step(s, 0.2)
    # then: each governor always has one to run
    for _ in range(len(tasks) // 2 - 1):
        step(s, 0.01)
    assert {s.world.task(task).row for task in tasks} == {TaskRow.FINISHED}


@pytest.mark.parametrize("tries", [1, 3])
def test_no_governor_is_idle_when_tasks_fail_much_sooner_than_they_were_expected_to_end(
    tries: int,
) -> None:
    # given: little is planned ahead, and the scheduler has seen the first failures
    s = scene_with(HorizonScheduler(), 1, 1, on_failure=OnFailure.CONTINUE)
    tasks = [timed(s.draft, 1.0, tries=tries)[0] for _ in range(40)]
    s.submit()
    assert planned(s) < 10
    fail_one_each(s, 0.2)
    # when: each fails at once, as often as it is tried
    for _ in range(tries * len(tasks) // 2 - 1):
        fail_one_each(s, 0.01)
    # then: each governor always had one to run
    assert {s.world.task(task).row for task in tasks} == {TaskRow.FAILED}


def test_no_governor_is_idle_when_what_it_has_is_cancelled() -> None:
    # given: little is planned ahead
    s = scene_with(HorizonScheduler(), 1, 1, on_failure=OnFailure.CONTINUE)
    tasks = [timed(s.draft, 1.0)[0] for _ in range(40)]
    s.submit()
    told = [task for governor in s.world.governors for task in governor.runnable()]
    # when: nobody wants what was planned
    s.client.cancel(s.draft.session, *told)
    for governor in s.world.governors:
        governor.end(*governor.cancelled)
    s.world.turn(after=0.2)
    # then: others are there
    others = [task for governor in s.world.governors for task in governor.runnable()]
    assert others
    assert not set(others) & set(told)
    assert set(others) < set(tasks)


def test_small_tasks_are_planned_by_the_thousand() -> None:
    s = scene_with(HorizonScheduler(), 2, 2)
    for _ in range(AT_ONCE):
        timed(s.draft, 0.004)
    s.submit()
    assert planned(s) == AT_ONCE


def test_nothing_is_kept_of_tasks_whose_session_has_ended_before_the_scheduler_heard_of_them() -> (
    None
):
    # given
    s = scene_with(HorizonScheduler(), 2)
    ids = [timed(s.draft, 0.004)[0] for _ in range(5)]
    s.submit()
    (governor,) = s.governors
    tasks = [s.world.task(task) for task in ids]

    # when: both come in one turn
    end = Asked(s.client.id, s.world.request(), CloseSession(s.draft.session))
    s.world.turn(GovernorUpdated(governor.id, governor.finished(*ids)), end)

    # then
    assert [task.row for task in tasks] == [TaskRow.FINISHED] * 5
    assert [task.sched for task in tasks] == [None] * 5


def test_the_longest_chain_goes_first() -> None:
    s = scene_with(HorizonScheduler(), 1)
    timed(s.draft, 20.0)
    first, made = timed(s.draft, 10.0)
    timed(s.draft, 15.0, made)
    s.submit()
    assert list(s.governors[0].tasks) == [first]


def test_sessions_take_turns_however_much_one_of_them_wants() -> None:
    # given: one session has filled the cluster for a long time
    s = scene_with(HorizonScheduler(), 1)
    tasks = [timed(s.draft, 20.0)[0] for _ in range(30)]
    s.submit()
    other = s.client.session()
    small, _ = timed(other, 5.0)
    s.client.submit(other)
    # when
    s.governors[0].finish(tasks[0])
    # then
    assert list(s.governors[0].tasks) == [small]


def test_old_tasks_do_not_wait_for_ever_for_newer_ones_with_longer_chains() -> None:
    # given
    s = scene_with(HorizonScheduler(), 1)
    running, _ = timed(s.draft, 5.0)
    old, _ = timed(s.draft, 5.0)
    s.submit()
    s.world.turn(after=1000.0)
    timed(s.draft, 100.0)
    s.submit()
    # when
    s.governors[0].finish(running)
    # then
    assert list(s.governors[0].tasks) == [old]


def test_a_task_waits_for_a_near_cpu_when_its_data_would_take_longer() -> None:
    # given: an object of very many bytes on a governor that is busy for a while
    s = scene_with(HorizonScheduler(), 1, 1)
    producer, made = timed(s.draft, 1.0)
    s.draft.submission.kept.append(made)
    s.submit()
    home = next(governor for governor in s.governors if governor.tasks)
    home.finish(producer, size=10_000 * LARGE)
    blocker, _ = timed(s.draft, 5.0)
    other, _ = timed(s.draft, 5.0)
    s.submit()
    # when
    reader, _ = timed(s.draft, 1.0, made)
    s.submit()
    assert s.world.task(reader).row is TaskRow.READY
    home.finish(*home.tasks)
    # then
    assert reader in home.tasks
    assert blocker != other


def test_inputs_are_brought_to_where_a_task_will_run_before_its_last_one_is_made() -> None:
    # given: two large inputs, made on two governors; the first is there
    s = scene_with(HorizonScheduler(), 1, 1)
    first, a = timed(s.draft, 0.1)
    second, b = timed(s.draft, 0.5)
    reader, _ = timed(s.draft, 1.0, a, b)
    s.submit()
    homes = {task: g for g in s.governors for task in (first, second) if task in g.tasks}
    assert homes[first] is not homes[second]
    target = s.world.task(reader).scheduled
    assert target is not None
    far, near = (first, a), (second, b)
    if target is homes[first].node:
        far, near = near, far
    # when
    homes[far[0]].finish(far[0], size=LARGE)
    # then
    assert s.world.object(near[1]).state is ObjectState.UNFINISHED
    assert homes[near[0]].fetching() == [far[1]]


def test_nothing_is_brought_to_where_an_exchange_will_run() -> None:
    # given: two large inputs, made on two governors; an exchange will only list them
    s = scene_with(HorizonScheduler(), 1, 1)
    first, a = timed(s.draft, 0.1)
    second, b = timed(s.draft, 0.5)
    exchange, (listed,) = s.draft.task(a, b, cpus=0, task_type=EXCHANGE)
    s.draft.submission.kept.append(listed)
    s.submit()
    assert s.world.task(exchange).scheduled is not None
    homes = {task: g for g in s.governors for task in (first, second) if task in g.tasks}
    # when: one after the other is made
    for task in (first, second):
        homes[task].finish(task, size=LARGE)
        # then
        assert [governor.fetching() for governor in s.governors] == [[], []]
    assert s.world.task(exchange).assigned is not None


@pytest.mark.parametrize("seconds", [0.1, 10.0])
def test_what_reads_a_mean_of_many_takes_no_cpus_from_those_that_the_mean_waits_for(
    seconds: float,
) -> None:
    # given: each part is read by the mean of all, and then together with the mean
    s = scene_with(HorizonScheduler(), 1)
    made = [timed(s.draft, 1.0)[1] for _ in range(100)]
    _, mean = timed(s.draft, seconds, *made)
    for part in made:
        timed(s.draft, 10.0, part, mean)
    s.submit()
    # then
    (governor,) = s.governors
    for _ in range(len(made)):
        assert governor.runnable()
        step(s)


def test_a_lost_input_is_made_again_where_what_waits_for_it_has_the_only_cpu() -> None:
    # given: a long task that will read what each of two governors makes, and one of them leaves
    s = scene_with(HorizonScheduler(), 1, 1)
    parts = [timed(s.draft, 0.9) for _ in range(2)]
    reader, _ = timed(s.draft, 20.0, *[output for _, output in parts])
    s.submit()
    there = s.world.task(reader).scheduled
    left, stays = sorted(s.governors, key=lambda governor: governor.node is there)
    (lost,) = left.runnable()
    left.leave()
    # when: the other has nothing to run but that
    stays.finish(stays.runnable()[0])
    # then
    assert stays.runnable() == [lost]
