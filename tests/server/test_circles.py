"""Futures inside of results that lead back to them: what nobody reaches goes, while the clients of
its sessions are there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, TaskId
from rain.base.states import TaskRow
from rain.graph import DataObject, Graph
from rain.server.core import circles
from rain.server.core.messages import Granted, Refuse
from tests.support.effort import examples
from tests.support.fake_client import FakeClient
from tests.support.scenes import Scene, scene
from tests.support.submissions import Draft

READY = TaskRow.READY
Draw = Callable[[st.SearchStrategy[Any]], Any]


class Owner:
    """A client and its session."""

    def __init__(self, s: Scene) -> None:
        self.s = s
        self.client: FakeClient = s.world.client()
        self.makers: dict[ObjectId, TaskId] = {}
        self.draft: Draft = self.client.session(on_failure=OnFailure.CONTINUE)

    def submit(self, *inputs: ObjectId, inside: Sequence[ObjectId] = ()) -> tuple[TaskId, ObjectId]:
        task, (made,) = self.draft.task(*inputs, cpus=0, keep=True)
        self.makers[made] = task
        if inside:
            self.draft.contain(task, *inside)
        assert isinstance(self.client.submit(self.draft), Granted)
        return task, made

    def begin(self, task: TaskId) -> None:
        self.s.assign(task)
        self.s.governors[0].start(task)

    def start(self) -> tuple[TaskId, ObjectId]:
        task, made = self.submit()
        self.begin(task)
        return task, made

    def lets_go(self, *objects: ObjectId) -> None:
        tasks = [self.makers.pop(one) for one in objects if one in self.makers]
        self.client.drop(*tasks, objects=objects)

    def takes(self, *objects: ObjectId) -> None:
        assert isinstance(self.client.take(*objects, keep=True), Granted)


def a_scene() -> Scene:
    return scene(8, on_failure=OnFailure.CONTINUE)


def finish(s: Scene, task: TaskId, *contents: ObjectId, data: bytes | None = b"futures") -> None:
    s.governors[0].finish(task, data=data, contents=contents)


def pass_time(s: Scene) -> None:
    """So much that there has been another look, and that all has gone that goes in parts."""
    for _ in range(5):
        s.world.turn(after=circles.PAUSE)


def known(s: Scene, *objects: ObjectId) -> list[ObjectId]:
    return [one for one in objects if one in s.world.state.graph.objects]


def circle(s: Scene, data: bytes | None = b"futures") -> tuple[Owner, Owner, ObjectId, ObjectId]:
    """Two results in sessions of two clients, each with the future of the other one inside."""
    one, other = Owner(s), Owner(s)
    first, a = one.start()
    second, b = other.start()
    finish(s, first, b, data=data)
    finish(s, second, a, data=data)
    return one, other, a, b


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


def reachable(graph: Graph) -> set[DataObject]:
    """What anybody can get at, by a plain walk from all that claims something for itself."""
    found: set[DataObject] = set()
    pending = [one for one in graph.objects.values() if one.handles.wants_data]
    for task in graph.tasks.values():
        if not task.is_done:
            pending += [*task.inputs, *task.session.contents.get(task, ())]
    while pending:
        one = pending.pop()
        if one in found:
            continue
        found.add(one)
        pending += one.session.contents.get(one, ())
        if one.producer is not None and one.producer.may_run_again:
            pending += one.producer.inputs
            pending += one.producer.session.contents.get(one.producer, ())
    return found


class Lives:
    """Clients that submit, take, let go and leave in any order, while tasks finish."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.s = a_scene()
        self.owners = [Owner(self.s) for _ in range(draw(st.integers(1, 4)))]
        self.gone: list[Owner] = []
        self.made: list[ObjectId] = []
        self.waiting: dict[TaskId, Owner] = {}

    def some(self, most: int = 2) -> list[ObjectId]:
        made = known(self.s, *self.made)
        return (
            self.draw(st.lists(st.sampled_from(made), max_size=most, unique=True)) if made else []
        )

    def submit(self, owner: Owner) -> None:
        inputs, inside = self.some(), self.some()
        if all(isinstance(owner.client.take(one, keep=True), Granted) for one in inputs + inside):
            task, result = owner.submit(*inputs, inside=inside)
            self.made.append(result)
            self.waiting[task] = owner

    def run(self, _: Owner) -> None:
        graph = self.s.world.state.graph
        ready = [
            one for one in self.waiting if one in graph.tasks and graph.tasks[one].row is READY
        ]
        if ready:
            task = self.draw(st.sampled_from(ready))
            self.waiting.pop(task).begin(task)
            data = None if self.draw(st.booleans()) else b"small"
            finish(self.s, task, *self.some(3), data=data)

    def take(self, owner: Owner) -> None:
        for one in self.some():
            owner.client.take(one, keep=True)

    def let_go(self, owner: Owner) -> None:
        owner.lets_go(*self.some(4))

    def leave(self, owner: Owner) -> None:
        if len(self.owners) > 1:
            self.owners.remove(owner)
            owner.client.leave()

    def look(self, _: Owner) -> None:
        self.s.world.turn(after=circles.PAUSE)


STEPS = [Lives.submit, Lives.run, Lives.run, Lives.take, Lives.let_go, Lives.let_go, Lives.look]


@given(data=st.data())
@settings(max_examples=examples(250), deadline=None)
def test_what_stays_is_what_a_plain_walk_reaches(data: st.DataObject) -> None:
    lives = Lives(data.draw)
    for step in data.draw(st.lists(st.sampled_from([*STEPS, Lives.leave]), max_size=50)):
        step(lives, data.draw(st.sampled_from(lives.owners)))

    pass_time(lives.s)

    graph = lives.s.world.state.graph
    finished = {one for one in graph.objects.values() if one.is_finished}
    assert finished == {one for one in reachable(graph) if one.is_finished}
