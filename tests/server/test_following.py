"""A client that follows a session hears of each task once, in the order of their ends."""

from __future__ import annotations

from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import SessionId, TaskId
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.requests import WaitFor
from rain.server.core.messages import Answered, Asked, Refuse
from tests.support.fake_client import FakeClient, answer_of
from tests.support.world import World, new_world


def ask(
    client: FakeClient, session: SessionId, since: int, mode: str = "news"
) -> WaitAnswer | None:
    """The answer, if there is one at once."""
    request = client.world.request()
    client.world.turn(Asked(client.id, request, WaitFor(session, (), (), mode, since)))
    return told(client.world, client.world.last_request)


def told(world: World, request: int) -> WaitAnswer | None:
    answer = {int(number): answer for number, answer in world.answers.items()}.get(request)
    return answer_of(answer, WaitAnswer) if isinstance(answer, Answered) else None


def tasks_of(answer: WaitAnswer | None) -> list[TaskId]:
    assert answer is not None
    return list(answer.tasks)


def test_news_are_the_tasks_that_are_done_and_what_they_have_made() -> None:
    # given
    world = new_world()
    governor = world.governor(3)
    client = world.client()
    draft = client.session()
    first, made = draft.task(keep=True)
    second, _ = draft.task(keep=True)
    client.submit(draft)
    governor.finish(second, data=b"x")
    # when
    before = ask(client, draft.session, 0)
    # then
    assert tasks_of(before) == [second]
    # when
    assert ask(client, draft.session, 1) is None
    waiting = world.last_request
    governor.finish(first, data=b"y")
    # then
    after = told(world, waiting)
    assert tasks_of(after) == [first]
    assert after is not None
    assert list(after.objects) == made
    assert list(after.delivery.data) == [b"y"]


def test_a_glance_is_answered_at_once_and_an_old_question_again() -> None:
    # given
    world = new_world()
    governor = world.governor(1)
    client = world.client()
    draft = client.session()
    task, _ = draft.task(keep=True)
    client.submit(draft)
    # when, then
    assert tasks_of(ask(client, draft.session, 0, "glance")) == []
    governor.finish(task, data=b"x")
    assert tasks_of(ask(client, draft.session, 0, "glance")) == [task]
    assert tasks_of(ask(client, draft.session, 0)) == [task]
    assert tasks_of(ask(client, draft.session, 1, "glance")) == []
    assert tasks_of(ask(client, draft.session, 99, "glance")) == []


def test_what_has_failed_is_news_in_a_session_that_goes_on() -> None:
    # given
    world = new_world()
    governor = world.governor(1)
    client = world.client()
    draft = client.session(on_failure=OnFailure.CONTINUE)
    task, made = draft.task(keep=True)
    follower, never = draft.task(*made, keep=True)
    client.submit(draft)
    assert ask(client, draft.session, 0) is None
    # when
    governor.fail(task, "broken")
    # then
    answer = told(world, world.last_request)
    assert tasks_of(answer) == [task, follower]
    assert answer is not None
    assert set(answer.failed) == {task, *made, follower, *never}


def test_a_client_that_follows_a_session_is_told_that_it_fails_or_ends() -> None:
    world = new_world()
    governor = world.governor(1)
    client = world.client()
    failing, ending = client.session(), client.session()
    task, _ = failing.task()
    client.submit(failing)
    # when
    request = client.wait(failing.session, mode="news")
    governor.fail(task, "broken")
    # then
    refusal = world.answers[request]
    assert isinstance(refusal, Refuse)
    assert isinstance(refusal.reason, SessionFailure)
    # when
    request = client.wait(ending.session, mode="news")
    client.close(ending.session)
    # then
    assert isinstance(world.answers[request], Refuse)
    assert not world.state.waits


def test_an_abandoned_wait_is_not_answered() -> None:
    world = new_world()
    governor = world.governor(1)
    client = world.client()
    draft = client.session()
    task, _ = draft.task(keep=True)
    client.submit(draft)
    request = client.wait(draft.session, mode="news")
    # when
    client.abandon(request)
    governor.finish(task, data=b"x")
    # then
    assert request not in world.answers
    assert not world.state.graph.sessions[draft.session].followers
