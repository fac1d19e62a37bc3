"""Lost data: the smallest part of the lineage is made again, and nothing else."""

from __future__ import annotations

import pytest

from rain.base.ids import GovernorId, ObjectId, TaskId
from rain.base.states import ObjectState, TaskRow, TaskState
from rain.base.wire.orders import SERVER, Orders, PlacedObjects
from rain.graph import check
from rain.scheduler.rain import RainScheduler
from rain.server.core.messages import OrderGovernor
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.scenes import orders_in, scene, scene_with

LONG = 3000

LARGE_CONSTANT = bytes(100_000)


def test_a_lost_object_that_is_needed_is_made_again() -> None:
    # given: a kept object whose only copy is on the first governor
    s = scene(1, 1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.run(task, on=0)

    # when
    effects = s.governors[0].leave()

    # then
    assert effects == []
    assert s.world.object(a).state is ObjectState.UNFINISHED
    assert s.world.task(task).row is TaskRow.READY
    assert list(s.scripted.heard[-1].unplanned) == [s.world.task(task)]
    s.run(task, on=1)
    assert s.world.object(a).state is ObjectState.FINISHED
    assert len(s.world.task(task).runs) == 2


def test_a_lost_object_that_another_governor_holds_too_is_not_made_again() -> None:
    # given
    s = scene(1, 1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.run(task, on=0)
    s.copied(a, to=1)

    # when
    s.governors[0].leave()

    # then
    assert s.world.object(a).state is ObjectState.FINISHED
    assert s.world.object(a).located == (s.node(1),)
    assert s.world.task(task).state is TaskState.FINISHED


def test_a_lost_object_that_the_server_has_itself_is_not_made_again() -> None:
    s = scene(1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.assign(task)
    s.governors[0].finish(task, data=b"small")
    s.governors[0].leave()
    assert s.world.object(a).state is ObjectState.FINISHED
    assert s.world.task(task).state is TaskState.FINISHED


def test_a_lost_object_that_nobody_needs_is_not_made_again() -> None:
    # given: a -> b, where a was dropped after b was made
    s = scene(1)
    first, (a,) = s.draft.task()
    second, (b,) = s.draft.task(a, keep=True)
    s.submit()
    s.run(first)
    s.assign(second)
    s.governors[0].finish(second, data=b"small")
    s.governors[0].leave()
    assert s.world.object(a).state is ObjectState.REMOVED
    assert s.world.object(b).state is ObjectState.FINISHED
    assert s.world.task(first).state is TaskState.FINISHED


def test_only_the_smallest_part_of_the_lineage_is_made_again() -> None:
    # given: a is made of x, and b of a and y; x and a are gone long ago, y is kept elsewhere
    s = scene(1, 1)
    make_x, (x,) = s.draft.task()
    make_a, (a,) = s.draft.task(x)
    make_y, (y,) = s.draft.task(keep=True)
    make_b, (b,) = s.draft.task(a, y, keep=True)
    s.submit()
    s.run(make_y, on=1)
    s.run(make_x, on=0)
    s.run(make_a, on=0)
    s.run(make_b, on=0)
    assert s.world.object(a).state is ObjectState.REMOVED

    # when: the last one of them is lost
    s.governors[0].leave()

    # then: b, a and x are made again, y is not
    graph = s.world.state.graph
    unfinished = {task.id for task in graph.tasks.values() if not task.is_done}
    assert unfinished == {make_x, make_a, make_b}
    assert s.world.task(make_x).row is TaskRow.READY
    assert s.world.task(make_a).row is TaskRow.WAITING
    assert s.world.object(y).state is ObjectState.FINISHED
    for task in (make_x, make_a, make_b):
        s.run(task, on=1)
    assert s.world.object(b).state is ObjectState.FINISHED
    assert s.world.object(a).state is ObjectState.REMOVED
    assert s.world.object(x).state is ObjectState.REMOVED


def test_a_task_that_was_to_read_a_lost_object_is_stopped_and_waits_again() -> None:
    # given: the second governor was told to fetch a, which only the first one has
    s = scene(1, 1)
    first, (a,) = s.draft.task()
    second, (b,) = s.draft.task(a, keep=True)
    s.submit()
    s.run(first, on=0)
    s.assign(second, to=1)

    # when
    effects = s.governors[0].leave()

    # then: it is told to stop, and not to go on asking for a
    stop = Orders(stop_ids=[second], stop_runs=[1], drops=[b, a])
    assert effects == [OrderGovernor(GovernorId(2), stop)]
    assert s.world.task(second).row is TaskRow.WAITING
    s.run(first, on=1)
    s.run(second, on=1)
    assert len(s.world.task(second).runs) == 2
    assert s.world.task(second).state is TaskState.FINISHED


def test_a_task_whose_inputs_are_with_it_goes_on_when_their_source_leaves() -> None:
    # given: a reader whose input has arrived
    s = scene(1, 1)
    first, (a,) = s.draft.task()
    second, _ = s.draft.task(a, keep=True)
    s.submit()
    s.run(first, on=0)
    s.assign(second, to=1)
    s.governors[1].locate(a)
    s.governors[1].start(second)

    # when / then
    assert s.governors[0].leave() == []
    assert s.world.task(second).row is TaskRow.RUNNING


def test_planned_and_queued_readers_of_a_lost_object_keep_their_plan() -> None:
    # given: a queued and a planned reader on the second governor, which is full
    s = scene(1, 4)
    first, (a,) = s.draft.task(keep=True)
    late, (c,) = s.draft.task()
    queued, _ = s.draft.task(a)
    planned, _ = s.draft.task(a, c)
    s.submit()
    s.run(first, on=0)
    s.assign(planned, to=1)
    s.plan(lambda plan: None)
    s.world.state.throttle.run(s.world.now)  # what follows happens between two runs

    # when
    s.governors[0].leave()

    # then
    assert s.world.task(planned).row is TaskRow.PLANNED
    assert s.world.task(planned).missing == 2
    assert s.world.task(queued).row is TaskRow.WAITING
    assert s.world.task(late).row is TaskRow.READY


def test_a_constant_is_read_again_for_the_sake_of_what_was_made_of_it() -> None:
    # given: a kept object that was made in two steps of a large and a small constant, none of them
    # kept, which nobody needs any more
    s = scene(1, 1)
    large, small = s.draft.constant(LARGE_CONSTANT), s.draft.constant(b"small")
    first, (a,) = s.draft.task(large)
    second, (b,) = s.draft.task(a, small, keep=True)
    s.submit()
    s.assign(first)
    s.governors[0].locate(large)
    s.governors[0].finish(first)
    effects = s.run(second)

    # then: the governor lets them go, and the server does not
    assert small in orders_in(effects)[GovernorId(1)].drops
    assert s.world.object(large).state is s.world.object(small).state is ObjectState.FINISHED
    assert s.world.discarded == []

    # when
    s.governors[0].leave()

    # then: they are sent to the governor that makes it again
    assert s.world.task(first).row is TaskRow.READY
    assert orders_in(s.assign(first, to=1))[GovernorId(2)].objects.sources == [SERVER]
    s.governors[1].locate(large)
    s.governors[1].finish(first)
    s.run(second, on=1)
    assert s.world.object(b).located == (s.node(1),)

    # when: nobody wants it any more
    s.client.unkeep(b)

    # then
    assert s.world.discarded == [large]
    assert s.world.object(large).state is s.world.object(small).state is ObjectState.REMOVED
    assert s.world.object(small).data is None


def test_the_constants_of_what_cannot_be_lost_go_at_once() -> None:
    # given: the server gets the small result itself
    s = scene(1)
    constant = s.draft.constant(LARGE_CONSTANT)
    task, _ = s.draft.task(constant, keep=True)
    s.submit()
    s.assign(task)
    s.governors[0].locate(constant)

    # when
    s.governors[0].finish(task, data=b"small")

    # then
    assert s.world.discarded == [constant]


def test_a_small_result_is_read_again_and_not_made_again() -> None:
    # given: the server has a small result, of which something large was made
    s = scene(1, 1)
    first, (a,) = s.draft.task()
    second, (b,) = s.draft.task(a, keep=True)
    s.submit()
    s.assign(first)
    s.governors[0].finish(first, data=b"small")
    s.run(second)

    # when
    s.governors[0].leave()

    # then
    assert s.world.task(first).state is TaskState.FINISHED
    s.run(second, on=1)
    assert s.world.object(b).state is ObjectState.FINISHED
    s.client.unkeep(b)
    assert s.world.object(a).state is ObjectState.REMOVED


def test_the_constants_of_a_long_lineage_go_in_parts() -> None:
    # given: each of many steps reads a constant; the last one is kept
    settings = ReactorSettings(debug=True, governor_silence=1e9, let_go_at_once=10)
    s = scene(1, settings=settings)
    constants = [s.draft.constant(b"small") for _ in range(50)]
    tasks: list[TaskId] = []
    last: list[ObjectId] = []
    for constant in constants:
        task, last = s.draft.task(constant, *last, keep=constant is constants[-1])
        tasks.append(task)
    s.submit()
    for task in tasks:
        s.run(task)
    assert all(s.world.object(one).state is ObjectState.FINISHED for one in constants)

    # when
    s.client.unkeep(*last)

    # then
    assert s.world.object(constants[0]).state is ObjectState.FINISHED
    for _ in range(20):
        s.world.turn()
    assert all(s.world.object(one).state is ObjectState.REMOVED for one in constants)


def test_uploaded_data_that_is_kept_is_sent_again_by_the_server() -> None:
    # given
    s = scene(1, 1)
    constant = s.draft.constant(bytes(100_000), keep=True)
    task, _ = s.draft.task(constant, keep=True)
    s.submit()
    s.assign(task)
    s.governors[0].locate(constant)
    s.governors[0].finish(task)
    s.governors[0].leave()
    (orders,) = orders_in(s.assign(task, to=1)).values()
    blob = s.world.object(constant).kind.id
    assert orders.objects == PlacedObjects([constant], [blob], [""], [100_000], ["server"], [b""])


@pytest.mark.no_cover
def test_a_long_chain_is_made_again_without_recursion() -> None:
    # given: a chain of which only the last object is left, on one governor
    # (the checker looks at everything after every turn, which here would be millions of looks)
    s = scene_with(RainScheduler(), 1, settings=ReactorSettings(governor_silence=1e9))
    made = s.draft.task()[1][0]
    for _ in range(LONG - 1):
        _, (made,) = s.draft.task(made)
    s.draft.submission.kept.append(made)
    s.submit()
    for _ in range(LONG):
        s.governors[0].finish(*s.governors[0].runnable())
    assert s.world.object(made).state is ObjectState.FINISHED

    # when
    s.governors[0].leave()

    # then: all of it, once
    graph = s.world.state.graph
    assert sum(not task.is_done for task in graph.tasks.values()) == LONG
    again = s.world.governor(1)
    for _ in range(LONG):
        again.finish(*again.runnable())
    check(graph)
    assert s.world.object(made).state is ObjectState.FINISHED
    assert {len(task.runs) for task in graph.tasks.values()} == {2}
