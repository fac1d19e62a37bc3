"""Tasks that are sent before their inputs exist, because the same governor makes these."""

from __future__ import annotations

from rain.base.ids import GovernorId, TaskId
from rain.base.states import TaskRow
from rain.scheduler.rain import RainScheduler
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.scenes import Scene, orders_in, scene, scene_with


def chain(s: Scene, length: int) -> list[TaskId]:
    task, (made,) = s.draft.task()
    tasks = [task]
    for _ in range(length - 1):
        task, (made,) = s.draft.task(made)
        tasks.append(task)
    s.draft.submission.kept.append(made)
    return tasks


def test_a_chain_is_sent_in_one_batch_and_needs_no_order_any_more() -> None:
    # given
    s = scene_with(RainScheduler(), 1)
    tasks = chain(s, 10)
    s.submit()
    (governor,) = s.governors
    assert list(governor.tasks) == tasks
    batches = len(governor.told)

    # when
    for task in tasks:
        assert governor.runnable() == [task]
        governor.finish(task, data=b"small")

    # then: all that it is told is what it need not hold any more
    assert s.world.task(tasks[-1]).row is TaskRow.FINISHED
    assert all(not orders.tasks.ids for orders in governor.told[batches:])


def test_one_update_finishes_a_chain_whose_tasks_have_followed_each_other() -> None:
    s = scene_with(RainScheduler(), 1)
    tasks = chain(s, 10)
    s.submit()
    s.governors[0].finish(*tasks, data=b"small")
    assert {s.world.task(task).row for task in tasks} == {TaskRow.FINISHED}


def test_a_task_that_reads_outputs_of_many_tasks_is_looked_at_once_when_all_were_told() -> None:
    # given: a governor that is told of nobody ahead, so that those who might follow stay listed
    settings = ReactorSettings(debug=True, governor_silence=1e9, overbooking_ahead=0)
    s = scene(1, settings=settings)
    made = [s.draft.task() for _ in range(5)]
    merge, _ = s.draft.task(*[output for _, (output,) in made])
    s.submit()

    # when
    s.assign(merge, *[task for task, _ in made])

    # then
    assert list(s.node(0).followers) == [s.world.task(merge)]


def test_the_start_of_a_follower_is_noted_though_it_is_told_with_the_end_before_it() -> None:
    s = scene_with(RainScheduler(), 1)
    first, second = chain(s, 2)
    s.submit()
    governor = s.governors[0]
    started = governor.started(second)
    update = governor.finished(first)
    update.started_ids, update.started_runs = started.started_ids, started.started_runs
    governor.send(update)
    assert s.world.task(second).row is TaskRow.RUNNING


def test_a_governor_that_finishes_a_task_before_its_inputs_is_dismissed() -> None:
    s = scene_with(RainScheduler(), 1)
    _, second = chain(s, 2)
    s.submit()
    s.governors[0].finish(second)
    assert "before its inputs" in s.world.dismissed[GovernorId(1)]


def test_no_more_than_a_limit_goes_ahead_and_the_rest_follows() -> None:
    # given
    s = scene_with(RainScheduler(), 1, settings=ReactorSettings(debug=True, overbooking_ahead=3))
    tasks = chain(s, 10)
    s.submit()
    governor = s.governors[0]
    assert list(governor.tasks) == tasks[:4]

    # when
    governor.finish(tasks[0])

    # then
    assert list(governor.tasks) == tasks[1:5]
    for task in tasks[1:]:
        governor.finish(task)
    assert s.world.task(tasks[-1]).row is TaskRow.FINISHED


def test_what_is_planned_after_its_input_was_sent_goes_ahead_too() -> None:
    # given
    s = scene(1, 1)
    first, second = chain(s, 2)
    s.submit()
    s.assign(first)

    # when
    orders = orders_in(s.assign(second))

    # then
    assert orders[GovernorId(1)].tasks.ids == [second]


def test_what_reads_from_two_governors_waits_for_the_server() -> None:
    # given
    s = scene(1, 1)
    a, (made_here,) = s.draft.task()
    b, (made_there,) = s.draft.task()
    both, _ = s.draft.task(made_here, made_there)
    s.submit()
    s.assign(a, to=0)
    s.assign(b, to=1)
    s.assign(both, to=0)
    assert s.world.task(both).row is TaskRow.PLANNED

    # when: only what the other governor made is finished
    s.governors[1].finish(b)

    # then: the rest comes from the same governor
    assert s.world.task(both).row is TaskRow.PLANNED
    s.governors[0].finish(a)
    assert s.world.task(both).row is TaskRow.ASSIGNED


def test_followers_of_a_task_that_is_taken_back_are_stopped_and_stay_planned() -> None:
    # given
    s = scene(1, 1)
    tasks = chain(s, 4)
    s.submit()
    s.assign(*tasks)

    # when: the first one moves
    s.plan(s.taking_back(tasks[0]), s.assigning(tasks[0], to=1))
    effects = s.governors[0].return_asked(tasks[0])

    # then
    orders = orders_in(effects)[GovernorId(1)]
    assert sorted(orders.stop_ids) == tasks[1:]
    assert [s.world.task(task).row for task in tasks] == [
        TaskRow.ASSIGNED,
        TaskRow.PLANNED,
        TaskRow.PLANNED,
        TaskRow.PLANNED,
    ]
    assert s.world.task(tasks[2]).scheduled is s.node(0)

    # and then: the move is carried out, and the others follow there as they were planned
    here, there = s.governors
    there.finish(tasks[0])
    here.locate(*here.fetching())
    here.finish(*tasks[1:])
    assert s.world.task(tasks[3]).row is TaskRow.FINISHED


def test_a_lost_governor_gives_its_followers_back_as_they_were() -> None:
    s = scene(1, 1)
    tasks = chain(s, 3)
    s.submit()
    s.assign(*tasks)
    s.governors[0].leave()
    assert [s.world.task(task).row for task in tasks] == [
        TaskRow.READY,
        TaskRow.WAITING,
        TaskRow.WAITING,
    ]


def test_a_closed_session_takes_its_followers_along() -> None:
    s = scene_with(RainScheduler(), 1)
    chain(s, 3)
    s.submit()
    s.client.close(s.draft.session)
    assert s.node(0).ahead == 0
    assert not s.governors[0].tasks
