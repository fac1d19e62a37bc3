"""Unkeeping releases what nobody needs, and tells its holders to drop it."""

from __future__ import annotations

from rain.base.ids import GovernorId, ObjectId, pack
from rain.base.states import ObjectState
from rain.base.wire.orders import Orders
from rain.base.wire.requests import Unkeep
from rain.server.core.messages import Asked, Granted, OrderGovernor, Refuse
from tests.support.scenes import orders_in, scene
from tests.support.snapshot import snapshot


def test_unkeeping_a_finished_object_removes_it_and_its_holders_drop_it() -> None:
    # given: a kept object on two governors
    s = scene(1, 1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.run(task)
    s.copied(a, to=1)

    # when
    request = s.world.request()
    effects = s.world.turn(Asked(s.client.id, request, Unkeep((a,))))

    # then: nothing else was sent
    assert effects == [
        OrderGovernor(GovernorId(1), Orders(drops=[a])),
        OrderGovernor(GovernorId(2), Orders(drops=[a])),
        Granted(request),
    ]
    assert s.world.object(a).state is ObjectState.REMOVED
    assert not s.node(0).objects
    assert not s.governors[0].held


def test_a_governor_that_is_still_fetching_drops_it_too() -> None:
    s = scene(1, 1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.run(task)
    s.copy(a, to=1)
    s.client.unkeep(a)
    assert orders_in(s.world.effects[-1])[GovernorId(2)].drops == [a]


def test_an_object_that_a_task_still_needs_stays() -> None:
    # given
    s = scene(1)
    task, (a,) = s.draft.task(keep=True)
    consumer, _ = s.draft.task(a)
    s.submit()
    s.run(task)

    # when / then
    s.client.unkeep(a)
    assert s.world.object(a).state is ObjectState.FINISHED

    # when: the consumer has read it, then: it goes
    effects = s.run(consumer)
    assert s.world.object(a).state is ObjectState.REMOVED
    assert a in orders_in(effects)[GovernorId(1)].drops


def test_an_unfinished_object_that_is_unkept_goes_as_soon_as_it_is_made() -> None:
    s = scene(1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.assign(task)
    s.client.unkeep(a)
    assert s.world.object(a).state is ObjectState.UNFINISHED
    effects = s.governors[0].finish(task)
    assert effects == [OrderGovernor(GovernorId(1), Orders(drops=[a]))]
    assert s.world.object(a).state is ObjectState.REMOVED


def test_small_data_at_the_server_goes_with_the_object() -> None:
    s = scene(1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.assign(task)
    s.governors[0].finish(task, data=b"small")
    assert s.world.object(a).data == b"small"
    s.client.unkeep(a)
    assert s.world.object(a).data is None


def test_unkeeping_what_is_not_kept_is_refused_whole() -> None:
    # given
    s = scene(1)
    _, (kept,) = s.draft.task(keep=True)
    _, (other,) = s.draft.task()
    s.submit()
    before = snapshot(s.world.state.graph)

    # when / then
    refusal = s.client.unkeep(kept, other)
    assert isinstance(refusal, Refuse)
    assert refusal.reason == "the data object 1/15 is not kept"
    assert snapshot(s.world.state.graph) == before

    # and: what was unkept once cannot be unkept again
    assert isinstance(s.client.unkeep(kept), Granted)
    assert isinstance(s.client.unkeep(kept), Refuse)


def test_unkeeping_what_is_unknown_is_refused_by_name() -> None:
    s = scene(1)
    refusal = s.client.unkeep(ObjectId(pack(s.draft.session, 77)))
    assert isinstance(refusal, Refuse)
    assert refusal.reason == "the data object 1/77 is unknown: it was never submitted"


def test_an_object_that_is_named_twice_is_unkept_once() -> None:
    s = scene(1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.run(task)
    assert isinstance(s.client.unkeep(a, a), Granted)
    assert orders_in(s.world.effects[-1])[GovernorId(1)].drops == [a]


def test_an_output_that_nobody_wants_is_dropped_at_once() -> None:
    s = scene(1)
    task, (a, b) = s.draft.task(outputs=2)
    s.draft.submission.kept.append(b)
    s.submit()
    s.assign(task)
    effects = s.governors[0].finish(task)
    assert effects == [OrderGovernor(GovernorId(1), Orders(drops=[a]))]
    assert s.world.object(a).state is ObjectState.REMOVED
    assert s.world.object(b).state is ObjectState.FINISHED
