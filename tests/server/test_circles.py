"""Futures inside of results that lead back to them: nobody reaches these once their clients have
gone, and they go."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, TaskId
from rain.graph import DataObject, Graph
from rain.server.core import circles
from rain.server.core.messages import Granted, Refuse
from tests.support.effort import examples
from tests.support.fake_client import FakeClient
from tests.support.scenes import Scene, scene
from tests.support.submissions import Draft


class Owner:
    """A client and its session."""

    def __init__(self, s: Scene) -> None:
        self.s = s
        self.client: FakeClient = s.world.client()
        self.draft: Draft = self.client.session(on_failure=OnFailure.CONTINUE)

    def submit(self, *inputs: ObjectId, inside: Sequence[ObjectId] = ()) -> tuple[TaskId, ObjectId]:
        task, (made,) = self.draft.task(*inputs, cpus=0, keep=True)
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
def test_results_that_have_each_others_future_inside_go_with_the_last_client(
    data: bytes | None,
) -> None:
    # given
    s = a_scene()
    one, other, a, b = circle(s, data)

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
    assert not s.governors[0].held


def test_a_circle_that_a_client_was_given_stays_until_it_lets_go() -> None:
    # given
    s = a_scene()
    one, other, a, b = circle(s)
    assert isinstance(s.client.take(a, keep=True), Granted)
    one.client.leave()
    other.client.leave()
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
    third.client.leave()
    pass_time(s)
    assert known(s, z, y) == [z, y]

    # when
    one.client.leave()
    other.client.leave()
    pass_time(s)

    # then
    assert not known(s, a, b, y, z)
    assert not s.world.state.left


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
    other.client.drop(objects=(box,))
    assert s.world.task(reading).may_run_again

    # when
    one.client.leave()
    other.client.leave()
    pass_time(s)

    # then
    assert not known(s, box, result)
    assert not s.world.state.left


def test_a_circle_with_a_task_that_has_not_finished_stays_until_it_has() -> None:
    # given: the task that the circle leads through has the future of one of its results inside
    s = a_scene()
    one, other = Owner(s), Owner(s)
    first, a = one.start()
    other.takes(a)
    second, b = other.submit(inside=[a])
    finish(s, first, b)
    one.client.leave()
    other.client.leave()
    pass_time(s)
    assert known(s, a, b) == [a, b]

    # when
    other.begin(second)
    finish(s, second)
    pass_time(s)

    # then
    assert not known(s, a, b)


def test_more_than_one_look_may_go_through_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    s = a_scene()
    one, other, a, b = circle(s)
    with monkeypatch.context() as patched:
        patched.setattr(circles, "MOST", 3)
        one.client.leave()
        other.client.leave()
        pass_time(s)
    assert known(s, a, b) == [a, b]
    pass_time(s)
    assert not known(s, a, b)


def reachable(graph: Graph) -> set[DataObject]:
    """What anybody can get at, by a plain walk from all that claims something for itself."""
    found: set[DataObject] = set()
    pending = [
        one
        for one in graph.objects.values()
        if one.handles.wants_data or (one.is_needed and not one.session.is_left)
    ]
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


@given(data=st.data())
@settings(max_examples=examples(150), deadline=None)
def test_what_stays_is_what_a_plain_walk_reaches(data: st.DataObject) -> None:
    draw = data.draw
    s = a_scene()
    owners = [Owner(s) for _ in range(draw(st.integers(2, 4)))]
    made: list[ObjectId] = []
    running: list[tuple[Owner, TaskId]] = []
    for _ in range(draw(st.integers(2, 8))):
        owner = draw(st.sampled_from(owners))
        some = st.lists(st.sampled_from(made or [ObjectId(0)]), max_size=2, unique=True)
        inputs, inside = (draw(some), draw(some)) if made else ([], [])
        owner.takes(*{*inputs, *inside})
        task, result = owner.submit(*inputs, inside=inside)
        made.append(result)
        running.append((owner, task))
    several = st.lists(st.sampled_from(made), max_size=3, unique=True)
    for owner, task in running:  # inputs are there before
        owner.begin(task)
        large = draw(st.booleans())
        finish(s, task, *draw(several), data=None if large else b"small")
    s.client.take(*draw(several), keep=True)
    for owner in owners:
        if draw(st.booleans()):
            owner.client.leave()
        else:
            owner.client.drop(objects=tuple(draw(several)))

    pass_time(s)

    graph = s.world.state.graph
    finished = {one for one in graph.objects.values() if one.is_finished}
    assert finished == {one for one in reachable(graph) if one.is_finished}
