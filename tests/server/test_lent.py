"""Small inputs that one task alone reads come with it, and nobody keeps an account of them."""

from __future__ import annotations

from rain.base.ids import ObjectId, TaskId
from rain.base.states import ObjectState
from tests.support.scenes import Scene, orders_in, scene

SMALL = b"a small"


def made_elsewhere(*cpus: int, keep: bool = False) -> tuple[Scene, ObjectId, TaskId, TaskId]:
    """A small object on the first governor, its maker, and a task that reads it."""
    s = scene(*cpus)
    maker, (a,) = s.draft.task(keep=keep)
    reader, _ = s.draft.task(a, a, keep=True)
    s.submit()
    s.assign(maker, to=0)
    s.governors[0].finish(maker, data=SMALL)
    return s, a, maker, reader


def test_it_comes_with_the_task_once_and_its_kind_is_told() -> None:
    s, a, _, reader = made_elsewhere(1, 1)
    (orders,) = orders_in(s.assign(reader, to=1)).values()
    assert orders.lent.ids == [a]
    assert orders.lent.data == [SMALL]
    assert orders.lent.kinds[0] in [kind.id for kind in orders.object_kinds]
    assert orders.objects.ids == []
    assert orders.tasks.inputs == [a, a]
    assert s.world.object(a).scheduled == (s.node(0),)


def test_its_kind_is_told_though_its_reader_makes_nothing() -> None:
    s = scene(1, 1)
    maker, (a,) = s.draft.task()
    reader, _ = s.draft.task(a, outputs=0)
    s.submit()
    s.assign(maker, to=0)
    s.governors[0].finish(maker, data=SMALL)
    (orders,) = orders_in(s.assign(reader, to=1)).values()
    assert orders.lent.ids == [a]
    assert orders.lent.kinds == [kind.id for kind in orders.object_kinds]


def test_an_object_is_not_sent_to_the_governor_that_has_made_it() -> None:
    s, _, _, reader = made_elsewhere(1)
    (orders,) = orders_in(s.assign(reader, to=0)).values()
    assert orders.lent.ids == orders.objects.ids == []


def test_only_the_governor_that_has_made_an_object_is_told_to_drop_it() -> None:
    s, a, _, reader = made_elsewhere(1, 1)
    s.assign(reader, to=1)
    s.governors[1].finish(reader)
    s.world.turn()
    told = [[o.drops for o in governor.told if o.drops] for governor in s.governors]
    assert told == [[[a]], []]
    assert s.world.object(a).copies == ()


def test_large_ones_constants_and_what_others_read_are_copies_as_ever() -> None:
    # given
    s = scene(1, 1)
    constant = s.draft.constant(SMALL)
    (large, (a,)), (shared, (b,)) = s.draft.task(), s.draft.task()
    reader, _ = s.draft.task(constant, a, b)
    other, _ = s.draft.task(b)
    s.submit()
    s.assign(large, shared, to=0)
    s.governors[0].finish(large)
    s.governors[0].finish(shared, data=SMALL)

    # when
    (orders,) = orders_in(s.assign(reader, to=1)).values()

    # then
    assert orders.lent.ids == []
    assert orders.objects.ids == [constant, a, b]
    (orders,) = orders_in(s.assign(other, to=1)).values()
    assert orders.objects.ids == []


def test_a_task_that_is_taken_back_brings_it_to_its_next_governor() -> None:
    s, a, _, reader = made_elsewhere(1, 1, 1)
    s.assign(reader, to=1)
    (orders,) = orders_in(s.take_back(reader)).values()
    assert a not in orders.drops  # it goes with the run
    assert s.governors[1].lent == {}
    for place in (2, 1):
        (orders,) = orders_in(s.assign(reader, to=place)).values()
        assert orders.lent.ids == [a]
        if place == 2:
            s.take_back(reader)
    s.governors[1].finish(reader, data=SMALL)
    assert s.world.object(a).state is ObjectState.REMOVED


def test_it_comes_again_when_the_governor_of_its_reader_has_died() -> None:
    s, a, _, reader = made_elsewhere(1, 1, 1)
    s.assign(reader, to=1)
    s.governors[1].leave()
    (orders,) = orders_in(s.assign(reader, to=2)).values()
    assert orders.lent.ids == [a]
    s.governors[2].finish(reader)
    assert s.world.task(reader).is_done


def test_it_comes_when_the_governor_that_has_made_it_has_died() -> None:
    s, a, maker, reader = made_elsewhere(1, 1)
    s.governors[0].leave()
    assert s.world.task(maker).is_done  # the server has its bytes
    (orders,) = orders_in(s.assign(reader, to=1)).values()
    assert orders.lent.ids == [a]


def test_a_reader_that_comes_later_gets_a_copy_that_stays() -> None:
    # given: an object that is kept, at work with its only reader
    s, a, _, reader = made_elsewhere(1, 1, keep=True)
    s.assign(reader, to=1)

    # when
    late, _ = s.draft.task(a)
    s.submit()
    (orders,) = orders_in(s.assign(late, to=1)).values()

    # then
    assert orders.lent.ids == []
    assert orders.objects.ids == [a]
    assert s.world.object(a).located == (s.node(0), s.node(1))
    s.governors[1].finish(reader)
    assert a in s.governors[1].held
    s.governors[1].finish(late)


def test_what_a_governor_is_making_again_is_not_lent_to_it() -> None:
    # given: a small object that is needed, and a sibling that was lost; both are made again
    s = scene(1, 1)
    maker, (a, b) = s.draft.task(outputs=2, keep=True)
    reader, _ = s.draft.task(a, keep=True)
    s.submit()
    s.assign(maker, to=0)
    finished = s.governors[0].finished(maker)
    finished.finished.sizes[0], finished.finished.data[0] = len(SMALL), SMALL
    s.governors[0].send(finished)
    s.governors[0].leave()
    s.assign(maker, to=1)
    assert s.world.object(b).state is ObjectState.UNFINISHED

    # when
    (orders,) = orders_in(s.assign(reader, to=1)).values()

    # then
    assert orders.lent.ids == []
    s.governors[1].finish(maker)
    s.governors[1].finish(reader)
    assert s.world.task(reader).is_done
