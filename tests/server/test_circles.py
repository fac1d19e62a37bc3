"""Futures inside of results that lead back to them: what nobody reaches goes, while the clients of
its sessions are there."""

from __future__ import annotations

from math import inf

import pytest
from attrs import evolve

from rain.server.core import circles
from rain.server.core.messages import Granted, Refuse
from tests.server.owners import Owner, a_scene, circle, finish, known, pass_time


@pytest.mark.parametrize("data", [b"at the server", None])
def test_a_circle_over_two_sessions_goes_with_the_last_handle_while_both_clients_stay(
    data: bytes | None,
) -> None:
    # given
    s = a_scene()
    one, other, a, b = circle(s, data)

    # when
    one.lets_go(a)
    pass_time(s)
    assert known(s, a, b) == [a, b]
    other.lets_go(b)
    pass_time(s)

    # then
    assert not known(s, a, b)
    assert len(s.world.state.graph.sessions) == 3
    assert not s.governors[0].held


def test_a_circle_in_one_session_goes_while_its_client_stays() -> None:
    # given
    s = a_scene()
    one = Owner(s)
    (first, a), (second, b) = one.start(), one.start()
    finish(s, first, b)
    finish(s, second, a)

    # when
    one.lets_go(a, b)
    pass_time(s)

    # then
    assert not known(s, a, b)
    assert len(s.world.state.graph.sessions) == 2


def test_the_next_look_comes_a_while_after_the_last_one() -> None:
    s = a_scene()
    one, _, a, _ = circle(s)
    one.lets_go(a)
    s.world.turn(after=circles.PAUSE)
    state = s.world.state
    assert state.circles_due == state.now + circles.PAUSE
    s.world.turn(after=circles.PAUSE)
    assert state.circles_due == inf  # there has been no suspect since


def test_a_circle_whose_clients_leave_goes_with_its_sessions() -> None:
    # given
    s = a_scene()
    one, other, a, b = circle(s)

    # when
    one.client.leave()
    pass_time(s)
    assert known(s, a, b) == [a, b]
    other.client.leave()
    pass_time(s)

    # then
    assert not known(s, a, b)
    assert not s.world.state.left
    assert len(s.world.state.graph.sessions) == 1


def test_a_circle_that_a_client_was_given_stays_until_it_lets_go() -> None:
    # given
    s = a_scene()
    one, other, a, b = circle(s)
    assert isinstance(s.client.take(a, keep=True), Granted)
    one.lets_go(a)
    other.lets_go(b)
    pass_time(s)
    assert known(s, a, b) == [a, b]

    # when
    s.client.drop(objects=(a,))
    pass_time(s)

    # then
    assert not known(s, a, b)
    assert isinstance(s.client.take(b, keep=True), Refuse)


def test_what_only_a_circle_has_inside_goes_with_it() -> None:
    # given: a chain of two that hangs on the circle
    s = a_scene()
    one, other, third = Owner(s), Owner(s), Owner(s)
    last, z = third.start()
    finish(s, last)
    before, y = third.start()
    finish(s, before, z)
    first, a = one.start()
    second, b = other.start()
    finish(s, first, b)
    finish(s, second, a, y)
    third.lets_go(z, y)
    pass_time(s)
    assert known(s, z, y) == [z, y]

    # when
    one.lets_go(a)
    other.lets_go(b)
    pass_time(s)

    # then
    assert not known(s, a, b, y, z)


def test_a_result_whose_own_task_has_read_its_future_goes() -> None:
    # given: the task can run again for its result, and would read what has the result inside
    s = a_scene()
    one, other = Owner(s), Owner(s)
    boxing, box = one.start()
    other.takes(box)
    reading, result = other.submit(box)
    finish(s, boxing, result, data=None)
    other.begin(reading)
    finish(s, reading, data=None)
    assert s.world.task(reading).may_run_again

    # when
    other.lets_go(box, result)
    pass_time(s)
    assert known(s, box, result) == [box, result]
    one.lets_go(box)
    pass_time(s)

    # then
    assert not known(s, box, result)


def test_a_circle_through_lineage_stays_as_long_as_that_of_another_task_claims_it() -> None:
    # given: two tasks have read what has the result of one of them inside
    s = a_scene()
    one, other = Owner(s), Owner(s)
    boxing, box = one.start()
    other.takes(box)
    reading, result = other.submit(box)
    third, last = other.submit(box)
    finish(s, boxing, result)
    for task in (reading, third):
        other.begin(task)
        finish(s, task, data=None)
    one.lets_go(box)
    other.lets_go(box, result)
    pass_time(s)
    assert known(s, box, result) == [box, result]

    # when
    other.lets_go(last)
    pass_time(s)

    # then
    assert not known(s, box, result)


def test_a_circle_with_a_task_that_has_not_finished_stays_until_it_has() -> None:
    # given: the task that the circle leads through has the future of one of its results inside
    s = a_scene()
    one, other = Owner(s), Owner(s)
    first, a = one.start()
    other.takes(a)
    second, b = other.submit(inside=[a])
    finish(s, first, b)
    one.lets_go(a)
    other.lets_go(a, b)
    pass_time(s)
    assert known(s, a, b) == [a, b]

    # when
    other.begin(second)
    finish(s, second)
    pass_time(s)

    # then
    assert not known(s, a, b)


@pytest.mark.parametrize("inside", [False, True])
def test_a_circle_stays_as_long_as_a_task_may_read_it_again(inside: bool) -> None:
    # given: a task has read one of them, or has the future of one in its arguments
    s = a_scene()
    one, other, a, b = circle(s)
    reader = Owner(s)
    reader.takes(a)
    task, result = reader.submit(*[] if inside else [a], inside=[a] if inside else [])
    reader.lets_go(a)
    one.lets_go(a)
    other.lets_go(b)
    pass_time(s)
    assert known(s, a, b) == [a, b]

    # when: it has finished, and somebody has what it made, which may be lost
    reader.begin(task)
    finish(s, task, data=None)
    pass_time(s)
    if s.world.task(task).may_run_again:
        assert known(s, a, b) == [a, b]
        reader.lets_go(result)
        pass_time(s)

    # then
    assert not known(s, a, b)


def test_a_circle_goes_when_the_last_task_has_read_it() -> None:
    # given
    s = a_scene()
    one, other, a, b = circle(s)
    reader = Owner(s)
    reader.takes(a)
    task, _ = reader.submit(a)
    reader.lets_go(a)
    one.lets_go(a)
    other.lets_go(b)

    # when: the server has what it made
    reader.begin(task)
    finish(s, task)
    pass_time(s)

    # then
    assert not known(s, a, b)


def test_a_circle_that_is_too_large_for_a_look_does_not_hold_others_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # given: twelve results in a ring, and two
    s = a_scene()
    owner = Owner(s)
    ring = [owner.start() for _ in range(12)]
    for (task, _), (_, following) in zip(ring, [*ring[1:], ring[0]], strict=True):
        finish(s, task, following)
    objects = [made for _, made in ring]
    one, other, a, b = circle(s)

    # when
    with monkeypatch.context() as patched:
        patched.setattr(circles, "MOST", 10)
        owner.lets_go(*objects)
        one.lets_go(a)
        other.lets_go(b)
        pass_time(s)

        # then
        assert known(s, a, b, *objects) == objects
    pass_time(s)
    assert not known(s, *objects)


def test_a_look_ends_at_its_limit_and_the_next_one_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    # given
    monkeypatch.setattr(circles, "MOST", 4)
    monkeypatch.setattr(circles, "PAUSE", 1_000)
    s = a_scene()
    pairs = [circle(s) for _ in range(5)]
    for one, other, a, b in pairs:
        one.lets_go(a)
        other.lets_go(b)
    left: list[int] = []

    # when
    for _ in range(7):
        s.world.turn(after=circles.PAUSE)
        left.append(sum(len(known(s, a, b)) for _, _, a, b in pairs) // 2)

    # then: each look finds some of them
    assert len(set(left)) > 2
    assert left[-1] == 0


def test_lineage_that_is_let_go_of_in_parts_is_not_taken_for_a_circle() -> None:
    # given: a circle that somebody has, and a chain that can be made again
    s = a_scene()
    circle(s)
    owner = Owner(s)
    task, made = owner.start()
    finish(s, task)
    chain = [made]
    for _ in range(4):
        after, made = owner.submit(chain[-1])
        owner.begin(after)
        finish(s, after, data=None)
        chain.append(made)
    owner.lets_go(*chain[:-1])
    s.world.state.settings = evolve(s.world.state.settings, let_go_at_once=1)

    # when: the checker looks at the graph after each turn
    owner.lets_go(chain[-1])
    assert s.world.state.graph.unneeded
    for _ in range(20):
        s.world.turn()

    # then
    assert not known(s, *chain)


def test_what_has_no_futures_inside_of_results_is_never_looked_at() -> None:
    # given: a chain, whose lineage claims all of it, and a task with a future in its arguments
    s = a_scene()
    owner = Owner(s)
    task, made = owner.start()
    finish(s, task, data=None)
    for _ in range(3):
        after, result = owner.submit(made)
        owner.begin(after)
        finish(s, after, data=None)
        owner.lets_go(made)
        made = result
        assert not s.world.state.graph.suspects

    # when
    asking, _ = owner.submit(inside=[made])
    owner.begin(asking)
    finish(s, asking, data=None)
    owner.lets_go(made)

    # then
    assert not s.world.state.graph.suspects
    assert s.world.state.circles_due == inf
