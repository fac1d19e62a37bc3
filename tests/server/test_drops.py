"""What governors need not hold any more they are told with something else, or a little later."""

from __future__ import annotations

from rain.base.ids import GovernorId, ObjectId, TaskId
from rain.base.wire.orders import Orders
from rain.base.wire.requests import ServerInfo, Unkeep
from rain.server.core.messages import Asked, GatherReports, OrderGovernor, TurnInput
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.scenes import SELDOM, Scene, orders_in, scene

WAIT = 10.0
PATIENT = ReactorSettings(debug=True, governor_silence=1e9, much_wait=WAIT, little_wait=WAIT)
LITTLE = 1000
SPARING = ReactorSettings(
    debug=True, governor_silence=1e9, little=LITTLE, little_wait=WAIT, much_wait=WAIT / 10
)


def unneeded(*cpus: int) -> tuple[Scene, ObjectId, list[TaskId]]:
    """An object on the first governor that nobody needs since this turn, and two more tasks."""
    s = scene(*cpus, settings=PATIENT)
    task, (a,) = s.draft.task()
    others = [s.draft.task()[0] for _ in range(2)]
    s.submit()
    assert not orders_in(s.run(task))
    assert s.governors[0].held == {a: None}
    return s, a, others


def test_drops_go_with_the_next_orders_for_their_governor() -> None:
    # given
    s, a, (first, second) = unneeded(1, 1)

    # when: another governor is told something
    effects = s.assign(first, to=1)
    # then
    assert orders_in(effects).keys() == {GovernorId(2)}

    # when: it is told something itself
    effects = s.assign(second, to=0)
    # then
    orders = orders_in(effects)[GovernorId(1)]
    assert orders.drops == [a]
    assert orders.tasks.ids == [second]
    assert not s.world.state.later.waiting


def test_drops_go_alone_in_a_turn_that_is_due_when_they_have_waited_long_enough() -> None:
    # given: nobody else wants a turn
    s, a, _ = unneeded(1)
    since = s.world.now
    s.world.state.throttle.thresholds = SELDOM.thresholds

    # when / then
    output = s.world.reactor.turn(TurnInput(since + WAIT - 1))
    assert output.effects == []
    assert s.world.reactor.next_time() == since + WAIT
    output = s.world.reactor.turn(TurnInput(since + WAIT))
    assert output.effects == [OrderGovernor(GovernorId(1), Orders(drops=[a]))]
    assert s.world.reactor.next_time() > since + WAIT


def test_the_more_a_governor_holds_in_vain_the_sooner_it_hears_of_it() -> None:
    # given: two objects that nobody needs, which together are more than little
    s = scene(2, settings=SPARING)
    (governor,) = s.governors
    tasks = [s.draft.task()[0] for _ in range(2)]
    s.submit()
    s.assign(*tasks)

    # when / then
    governor.finish(tasks[0], size=LITTLE)
    assert s.world.state.later.due == s.world.now + WAIT
    governor.finish(tasks[1], size=1)
    assert s.world.state.later.due == s.world.now + WAIT / 10

    # when: it has heard of both
    s.world.turn(after=WAIT / 10)
    # then: nothing is left of what it held
    assert not s.world.state.later.waiting
    assert not governor.held


def test_a_session_that_ends_leaves_no_turn_that_has_nothing_to_tell() -> None:
    # given: what was to be dropped soon goes with its session, which holds next to nothing
    s = scene(1, settings=SPARING)
    task, _ = s.draft.task()
    s.submit()
    s.run(task, size=10)
    s.world.state.throttle.thresholds = SELDOM.thresholds
    since = s.world.now

    # when
    s.client.close(s.draft.session)

    # then
    due = s.world.reactor.next_time()
    assert due == since + WAIT
    forget = Orders(forget_sessions=[s.draft.session])
    output = s.world.reactor.turn(TurnInput(due))
    assert output.effects == [OrderGovernor(GovernorId(1), forget)]


def test_what_a_client_has_let_go_is_dropped_at_once() -> None:
    s = scene(1, settings=PATIENT)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.run(task)
    effects = s.world.turn(Asked(s.client.id, s.world.request(), Unkeep((a,))))
    assert orders_in(effects) == {GovernorId(1): Orders(drops=[a])}


def test_a_client_that_asks_for_reports_sees_nothing_that_is_about_to_go() -> None:
    # given
    s, a, _ = unneeded(1, 1)
    request = s.world.request()
    # when
    effects = s.world.turn(Asked(s.client.id, request, ServerInfo()))
    # then: governors hear of it before they are asked
    assert effects == [
        OrderGovernor(GovernorId(1), Orders(drops=[a])),
        GatherReports(request),
    ]
    assert not s.world.state.later.waiting


def test_the_end_of_a_session_that_is_done_waits_and_what_goes_with_it_need_not_be_dropped() -> (
    None
):
    s, _, _ = unneeded(1)
    s.client.close(s.draft.session)
    assert orders_in(s.world.effects[-1]) == {}
    forget = Orders(forget_sessions=[s.draft.session])
    assert orders_in(s.world.turn(after=2 * WAIT)) == {GovernorId(1): forget}
    assert not s.world.state.later.waiting


def test_a_governor_that_works_for_a_session_hears_of_its_end_at_once() -> None:
    # given: the second governor runs a task of the session, the first one has run one
    s, _, (first, _) = unneeded(1, 1)
    s.assign(first, to=1)

    # when
    s.client.close(s.draft.session)

    # then
    forget = Orders(forget_sessions=[s.draft.session])
    assert orders_in(s.world.effects[-1]) == {GovernorId(2): forget}
    assert orders_in(s.world.turn(after=2 * WAIT)) == {GovernorId(1): forget}


def test_the_end_of_a_session_goes_with_the_first_orders_of_the_next_one() -> None:
    # given
    s, _, _ = unneeded(1)
    s.client.close(s.draft.session)

    # when
    again = s.client.session("again")
    task, _ = again.task()
    s.client.submit(again)
    effects = s.assign(task)

    # then
    orders = orders_in(effects)[GovernorId(1)]
    assert orders.forget_sessions == [s.draft.session]
    assert orders.tasks.ids == [task]


def test_a_governor_that_has_left_is_told_nothing() -> None:
    s, _, _ = unneeded(1, 1)
    s.governors[0].leave()
    assert not any(isinstance(effect, OrderGovernor) for effect in s.world.turn(after=2 * WAIT))
    assert not s.world.state.later.waiting


def test_the_copy_of_a_sibling_that_is_being_made_again_counts_as_held_in_vain() -> None:
    # given: one output is kept and lost, a copy of the other one is read on the second governor
    s = scene(1, 1, 1, settings=SPARING)
    maker, (a, b) = s.draft.task(outputs=2)
    s.draft.submission.kept.append(b)
    reader, _ = s.draft.task(a)
    s.submit()
    s.run(maker, size=2 * LITTLE)
    s.assign(reader, to=1)
    s.governors[1].locate(a)
    s.governors[0].leave()
    s.assign(maker, to=2)

    # when: nobody needs the copy any more
    s.governors[1].finish(reader, size=1)

    # then
    assert s.world.state.later.waiting[GovernorId(2)].held > LITTLE
    assert s.world.state.later.due == s.world.now + WAIT / 10
