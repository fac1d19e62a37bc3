"""What the scheduler plans is carried out."""

from __future__ import annotations

from rain.base.copies import CopyRow
from rain.base.ids import GovernorId
from rain.base.states import TaskRow
from rain.base.wire.orders import Orders
from rain.graph.copy import row_of
from rain.server.core.messages import OrderGovernor
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.scenes import orders_in, scene


def test_a_planned_task_can_be_taken_back_without_telling_anybody() -> None:
    s = scene(1)
    _, (a,) = s.draft.task()
    task, _ = s.draft.task(a)
    s.submit()
    s.assign(task)
    assert s.take_back(task) == []
    assert s.world.task(task).row is TaskRow.WAITING


def test_a_queued_task_can_be_taken_back_without_telling_anybody() -> None:
    # given: a governor that is told of one task at a time
    s = scene(1, settings=ReactorSettings(overbooking=1, debug=True, governor_silence=1e9))
    sent, _ = s.draft.task()
    queued, _ = s.draft.task()
    s.submit()
    s.assign(sent, queued)
    assert s.world.task(queued).row is TaskRow.QUEUED

    # when / then
    assert s.take_back(queued) == []
    assert s.world.task(queued).row is TaskRow.READY
    assert s.node(0).active_cpus == 1


def test_the_place_of_a_task_that_was_given_back_is_filled_in_the_same_turn() -> None:
    s = scene(1, settings=ReactorSettings(overbooking=1, debug=True, governor_silence=1e9))
    first, _ = s.draft.task()
    second, _ = s.draft.task()
    s.submit()
    s.assign(first, second)
    (orders,) = orders_in(s.take_back(first)).values()
    assert orders.tasks.ids == [second]


def test_a_copy_is_ordered_before_any_task_asks() -> None:
    # given
    s = scene(1, 1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.run(task, on=0)

    # when
    (orders,) = orders_in(s.copy(a, to=1)).values()

    # then
    assert orders.objects.ids == [a]
    assert orders.objects.sources == [s.governors[0].source]
    assert [kind.id for kind in orders.object_kinds] == [s.world.object(a).kind.id]
    assert row_of(s.world.object(a), s.node(1)) is CopyRow.COMING
    assert s.copy(a, to=1) == []  # it knows


def test_a_dropped_copy_is_told_and_the_others_stay() -> None:
    s = scene(1, 1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.run(task, on=0)
    s.copied(a, to=1)
    assert s.drop(a, at=0) == [OrderGovernor(GovernorId(1), Orders(drops=[a]))]
    assert s.world.object(a).located == (s.node(1),)


def test_a_copy_that_is_ordered_and_dropped_in_one_run_is_never_told() -> None:
    s = scene(1, 1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.run(task, on=0)
    effects = s.plan(
        lambda plan: plan.copy(s.world.object(a), s.node(1)),
        lambda plan: plan.drop(s.world.object(a), s.node(1)),
    )
    assert effects == []


def test_a_copy_that_is_ordered_again_after_its_maker_was_stopped_is_told_again() -> None:
    # given: b is lost, so that its producer runs again on the third governor; it is told to get a
    # copy of a, too, which it ignores since it is making a itself
    s = scene(1, 1, 1)
    task, (a, b) = s.draft.task(outputs=2, keep=True)
    s.submit()
    s.run(task, on=0)
    s.copied(a, to=1)
    s.governors[0].leave()
    s.assign(task, to=2)
    s.copy(a, to=2)
    assert s.governors[2].fetching() == []

    # when
    (orders,) = orders_in(s.take_back(task)).values()

    # then
    assert orders.drops == [b]
    assert orders.objects.ids == [a]
    assert s.governors[2].fetching() == [a]
