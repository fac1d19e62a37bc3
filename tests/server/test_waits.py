"""Waits: who is answered when, and with what."""

from __future__ import annotations

import pytest

from rain.base.ids import ObjectId, RequestId, TaskId, pack
from rain.base.wire.answers import WaitAnswer
from rain.server.core.messages import Refuse
from tests.support.fake_client import answer_of
from tests.support.scenes import Scene, scene


def two_tasks() -> tuple[Scene, TaskId, TaskId, ObjectId, ObjectId]:
    """Two independent tasks that run on one governor."""
    s = scene(2)
    first, (a,) = s.draft.task()
    second, (b,) = s.draft.task()
    s.submit()
    s.assign(first, second)
    return s, first, second, a, b


def answer(s: Scene, request: RequestId) -> WaitAnswer:
    return answer_of(s.world.answers[request], WaitAnswer)


def test_a_wait_for_all_is_over_with_the_last_task() -> None:
    s, first, second, _, _ = two_tasks()
    request = s.client.wait(s.draft.session, first, second)
    s.governors[0].finish(second)
    assert request not in s.world.answers
    s.governors[0].finish(first)
    assert answer(s, request).tasks == [first, second]


def test_a_wait_for_some_is_over_with_the_first_task_and_names_it() -> None:
    s, first, second, _, _ = two_tasks()
    request = s.client.wait(s.draft.session, first, second, mode="some")
    s.governors[0].finish(second)
    assert answer(s, request).tasks == [second]
    s.governors[0].finish(first)  # nobody is answered twice


def test_a_wait_for_some_tasks_is_over_at_once_when_one_of_them_is_done() -> None:
    s, first, second, _, _ = two_tasks()
    s.governors[0].finish(first)
    request = s.client.wait(s.draft.session, first, second, mode="some")
    assert answer(s, request).tasks == [first]


def test_a_wait_for_objects_is_over_when_they_are_made() -> None:
    s, first, second, a, b = two_tasks()
    request = s.client.wait(s.draft.session, objects=(a, b))
    s.governors[0].finish(first)
    assert request not in s.world.answers
    s.governors[0].finish(second)
    assert answer(s, request).objects == [a, b]


def test_tasks_and_objects_can_be_waited_for_together() -> None:
    s, first, second, _, b = two_tasks()
    request = s.client.wait(s.draft.session, first, objects=(b,))
    s.governors[0].finish(first)
    assert request not in s.world.answers
    s.governors[0].finish(second)
    assert answer(s, request) == WaitAnswer([first], [b])


def test_a_wait_for_the_session_is_over_when_no_task_is_unfinished() -> None:
    # given: a session whose second task was submitted after the wait began
    s = scene(2)
    first, _ = s.draft.task()
    s.submit()
    request = s.client.wait(s.draft.session, mode="session")
    second, _ = s.draft.task()
    s.submit()

    # when / then
    s.run(first)
    assert request not in s.world.answers
    s.run(second)
    assert answer(s, request) == WaitAnswer()


def test_a_wait_for_a_session_that_also_names_tasks_hangs_on_the_session_alone() -> None:
    s, first, second, a, _ = two_tasks()
    request = s.client.wait(s.draft.session, first, objects=(a,), mode="session")
    s.governors[0].finish(first)
    assert request not in s.world.answers
    s.governors[0].finish(second)
    assert answer(s, request) == WaitAnswer([first], [a])


@pytest.mark.parametrize("mode", ["all", "some", "session"])
def test_waiting_for_nothing_is_over_at_once(mode: str) -> None:
    s = scene(1)
    assert answer(s, s.client.wait(s.draft.session, mode=mode)) == WaitAnswer()


@pytest.mark.parametrize("mode", ["all", "some", "session"])
def test_waiting_for_what_is_done_is_over_at_once(mode: str) -> None:
    s, first, second, a, _ = two_tasks()
    s.governors[0].finish(first, second)
    request = s.client.wait(s.draft.session, first, objects=(a,), mode=mode)
    assert answer(s, request) == WaitAnswer([first], [a])


def test_a_removed_object_counts_as_done() -> None:
    # given: an output that nobody keeps, so that it goes when it is made
    s, first, _, a, _ = two_tasks()
    waiting = s.client.wait(s.draft.session, objects=(a,))
    s.governors[0].finish(first)

    # then: those who waited for it, and those who wait later, are answered
    assert answer(s, waiting).objects == [a]
    assert answer(s, s.client.wait(s.draft.session, objects=(a,))).objects == [a]


def test_what_is_named_twice_is_waited_for_once() -> None:
    s, first, _, a, _ = two_tasks()
    request = s.client.wait(s.draft.session, first, first, objects=(a, a))
    s.governors[0].finish(first)
    assert answer(s, request) == WaitAnswer([first], [a])


def test_several_waits_for_the_same_are_all_answered() -> None:
    s, first, _, _, _ = two_tasks()
    requests = [s.client.wait(s.draft.session, first) for _ in range(3)]
    s.governors[0].finish(first)
    assert [answer(s, request).tasks for request in requests] == [[first]] * 3


@pytest.mark.parametrize("mode", ["all", "some", "session"])
def test_an_abandoned_wait_is_never_answered(mode: str) -> None:
    # given: one that will be abandoned, and one that will not
    s, first, second, a, _ = two_tasks()
    abandoned = s.client.wait(s.draft.session, first, objects=(a,), mode=mode)
    other = s.client.wait(s.draft.session, first)

    # when
    s.client.abandon(abandoned)
    s.client.abandon(abandoned)
    s.governors[0].finish(first, second)

    # then
    assert abandoned not in s.world.answers
    assert answer(s, other).tasks == [first]
    assert not s.world.state.waits


def test_waiting_for_what_is_unknown_is_refused_by_name() -> None:
    s, *_ = two_tasks()
    task, data = pack(s.draft.session, 77), pack(s.draft.session, 78)
    for request, text in (
        (s.client.wait(s.draft.session, TaskId(task)), "the task 1/77 is unknown"),
        (s.client.wait(s.draft.session, objects=(ObjectId(data),)), "object 1/78 is unknown"),
    ):
        refusal = s.world.answers[request]
        assert isinstance(refusal, Refuse)
        assert isinstance(refusal.reason, str)
        assert text in refusal.reason


def test_a_wait_goes_on_while_a_lost_object_is_made_again() -> None:
    # given: somebody waits for the second of two objects; the first one is made, and lost
    s = scene(1, 1)
    first, (a,) = s.draft.task(keep=True)
    second, (b,) = s.draft.task(keep=True)
    s.submit()
    s.run(first, on=0)
    request = s.client.wait(s.draft.session, objects=(a, b))
    session_wait = s.client.wait(s.draft.session, mode="session")
    s.governors[0].leave()
    assert request not in s.world.answers

    # when: the second one is made, and the first one is made again
    s.governors.pop(0)
    s.run(second, on=0)
    assert session_wait not in s.world.answers
    s.run(first, on=0)

    # then
    assert answer(s, request).objects == [a, b]
    assert answer(s, session_wait) == WaitAnswer()
