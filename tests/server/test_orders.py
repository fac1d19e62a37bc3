"""What governors are told: one batch per turn, with all that they do not know yet."""

from __future__ import annotations

from rain.base.ids import GovernorId
from rain.base.wire.orders import AssignedTasks, Orders, PlacedObjects
from rain.server.core.distribution import ENOUGH, PACES
from rain.server.core.messages import OrderGovernor
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.scenes import orders_in, scene

LARGE = 100_000


def test_a_copy_that_has_arrived_is_located() -> None:
    # given: an object on the first governor, needed on the second one
    s = scene(1, 1)
    first, (a,) = s.draft.task()
    second, _ = s.draft.task(a)
    s.submit()
    s.run(first, on=0)
    effects = s.assign(second, to=1)

    # then: the second one was told to fetch it from the first one
    (orders,) = orders_in(effects).values()
    placed = orders.objects
    assert placed.ids == [a]
    assert placed.sources == [s.governors[0].source]
    assert placed.sizes == [LARGE]
    assert s.world.object(a).located == (s.node(0),)

    # when
    effects = s.governors[1].locate(a)

    # then
    assert s.world.object(a).located == (s.node(0), s.node(1))
    assert effects == []


def test_small_inputs_travel_with_the_task() -> None:
    # given
    s = scene(1)
    constant = s.draft.constant(b"abc")
    task, (a,) = s.draft.task(constant, keep=True)
    s.submit()

    # when
    effects = s.assign(task)

    # then: the batch says everything that the governor must know, in one message
    session = s.world.state.graph.sessions[s.draft.session]
    task_kind = s.world.task(task).kind
    blob = session.object_kinds[task_kind.outputs[0]]
    assert effects == [
        OrderGovernor(
            GovernorId(1),
            Orders(
                task_kinds=[task_kind],
                object_kinds=[blob],
                objects=PlacedObjects([constant], [blob.id], [""], [3], [""], [b"abc"]),
                tasks=AssignedTasks([task], [1], [task_kind.id], [0], [b""], [1], [constant], [a]),
            ),
        )
    ]
    assert s.world.object(constant).located == (s.node(0),)


def test_kinds_go_to_every_governor_that_has_a_task_of_them() -> None:
    s = scene(1, 1)
    tasks = [s.draft.task()[0] for _ in range(2)]
    task_kinds, object_kinds = s.draft.submission.task_kinds, s.draft.submission.object_kinds
    s.submit()

    # when
    effects = [*s.assign(tasks[0], to=0), *s.assign(tasks[1], to=1)]

    # then
    told = [effect.orders for effect in effects if isinstance(effect, OrderGovernor)]
    assert [orders.task_kinds for orders in told] == [task_kinds] * 2
    assert [orders.object_kinds for orders in told] == [object_kinds] * 2


def test_large_constants_are_fetched_from_the_server() -> None:
    s = scene(1)
    constant = s.draft.constant(bytes(LARGE))
    task, _ = s.draft.task(constant)
    s.submit()
    (orders,) = orders_in(s.assign(task)).values()
    assert orders.objects.sources == ["server"]
    assert orders.objects.data == [b""]
    assert s.world.object(constant).located == ()


def test_what_a_governor_knows_it_is_not_told_again() -> None:
    # given: a task with an input was sent
    s = scene(4)
    constant = s.draft.constant(b"abc")
    first, _ = s.draft.task(constant)
    second, _ = s.draft.task(constant)
    s.submit()
    s.assign(first)

    # when: another of the same kind, with the same input
    (orders,) = orders_in(s.assign(second)).values()

    # then
    assert orders.task_kinds == []
    assert orders.object_kinds == []
    assert orders.objects.ids == []
    assert orders.tasks.ids == [second]


def test_a_merge_brings_each_of_its_inputs_once_and_lets_go_of_all_copies() -> None:
    # given: small results and large ones on three governors, read by one task, one of them twice
    s = scene(1, 1, 1)
    made = [s.draft.task() for _ in range(6)]
    inputs = [output for _, (output,) in made]
    merge, _ = s.draft.task(*inputs, inputs[2], keep=True)
    s.submit()
    for place, (task, _) in enumerate(made):
        s.assign(task, to=place % 3)
        s.governors[place % 3].finish(task, data=b"a small" if place % 2 else None)

    # when
    (orders,) = orders_in(s.assign(merge, to=0)).values()

    # then: it is told of what others have made, with the bytes or with who has them
    placed, lent = orders.objects, orders.lent
    assert orders.tasks.inputs == [*inputs, inputs[2]]
    assert placed.ids == [inputs[2], inputs[4]]
    first, second, third = s.governors
    assert placed.sources == [third.source, second.source]
    assert lent.ids == [inputs[1], inputs[5]]
    assert lent.data == [b"a small", b"a small"]
    # and: nobody has more than he has made, and of what came along no account is kept
    nodes = [s.node(index) for index in range(3)]
    places = [s.world.object(found).located for found in (*placed.ids, *lent.ids)]
    assert places == [(nodes[2],), (nodes[1],), (nodes[1],), (nodes[2],)]
    assert [len(s.world.object(found).copies) for found in lent.ids] == [1, 1]

    # when: the rest has come, and it has ended
    first.locate(inputs[2], inputs[4])
    assert set(inputs) <= {*first.held, *first.lent}
    first.finish(merge)
    s.world.turn()

    # then: everybody was told to drop what he had of it
    assert [set(inputs) & set(governor.held) for governor in s.governors] == [set(), set(), set()]


def test_a_governor_is_overbooked_up_to_the_limit_best_tasks_first() -> None:
    # given: room for three tasks at once
    s = scene(1, settings=ReactorSettings(overbooking=3, debug=True, governor_silence=1e9))
    tasks = [s.draft.task()[0] for _ in range(5)]
    s.submit()
    s.scripted.script += [
        s.assigning(task, priority=priority)
        for task, priority in zip(tasks, [0, 5, 0, 7, 0], strict=True)
    ]

    # when
    (orders,) = orders_in(s.world.turn()).values()

    # then: by priority, then in the order of the submission
    assert orders.tasks.ids == [tasks[3], tasks[1], tasks[0]]
    assert orders.tasks.priorities == [7, 5, 0]
    assert [task.id for task in s.node(0).queue] == [tasks[2], tasks[4]]

    # and when: one finishes
    (orders,) = orders_in(s.governors[0].finish(tasks[3])).values()

    # then: one more is sent
    assert orders.tasks.ids == [tasks[2]]


def test_a_governor_that_finishes_many_tasks_at_a_time_is_told_of_more_of_them() -> None:
    # given: far more tasks than a governor is told of when nothing is known of its pace
    s = scene(1)
    tasks = [s.draft.task()[0] for _ in range(1000)]
    s.submit()
    s.scripted.script += [s.assigning(task) for task in tasks]
    s.world.turn()
    assert len(s.node(0).assigned) == ENOUGH

    # when: it has finished a hundred of them by its next message
    s.governors[0].finish(*tasks[:100])

    # then: it is told of several times as many
    assert len(s.node(0).assigned) == PACES * 100

    # and when: it has finished only two
    s.governors[0].finish(*tasks[100:102])

    # then: nothing is taken away from it, but it is told of no more until it has fewer than enough
    assert len(s.node(0).assigned) == PACES * 100 - 2


def test_a_turn_sends_one_batch_to_each_governor_that_has_something_to_hear() -> None:
    # given: three governors, work for two of them, from two clients
    s = scene(1, 1, 1)
    tasks = [s.draft.task()[0] for _ in range(4)]
    s.submit()

    # when
    effects = s.plan(*[s.assigning(task, to=index % 2) for index, task in enumerate(tasks)])

    # then
    orders = orders_in(effects)
    assert len(effects) == 2
    assert orders[GovernorId(1)].tasks.ids == [tasks[0], tasks[2]]
    assert orders[GovernorId(2)].tasks.ids == [tasks[1], tasks[3]]
