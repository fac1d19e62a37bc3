"""Several clients share a session; only the one that has opened it ends it."""

from __future__ import annotations

from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import (
    FIRST_SHARED,
    LAST_SHARED,
    SHARED_RANGE,
    ObjectId,
    SessionId,
    TaskId,
    pack,
    spell,
)
from rain.base.states import ObjectState
from rain.base.wire.answers import Fetched, JoinedSession, ObjectReport, WaitAnswer
from rain.base.wire.requests import JoinSession
from rain.server.core.messages import (
    Answered,
    AnyAnswer,
    Asked,
    Granted,
    Refuse,
)
from tests.support.fake_client import FakeClient, answer_of
from tests.support.scenes import Scene, scene
from tests.support.snapshot import snapshot
from tests.support.submissions import Draft


def join(
    client: FakeClient, session: int = 0, name: str = "", *, numbers: bool = True
) -> AnyAnswer:
    request = client.world.request()
    client.world.turn(Asked(client.id, request, JoinSession(SessionId(session), name, numbers)))
    return client.world.answers[request]


def joined(s: Scene) -> tuple[FakeClient, Draft]:
    """Another client in the session of the scene, and what it submits next."""
    other = s.world.client()
    answer = join(other, s.draft.session)
    joined = answer_of(answer, JoinedSession)
    return other, Draft(joined.session, joined.first)


def refusal(answer: AnyAnswer) -> str | SessionFailure:
    assert isinstance(answer, Refuse)
    return answer.reason


def test_each_who_joins_gets_numbers_that_nobody_else_has() -> None:
    s = scene(1)
    first, second = join(s.world.client(), name="test"), join(s.world.client(), s.draft.session)
    assert isinstance(first, Granted)
    assert first.answer == JoinedSession(s.draft.session, "test", OnFailure.STOP, FIRST_SHARED)
    assert answer_of(second, JoinedSession).first == FIRST_SHARED + SHARED_RANGE


def test_a_session_can_be_joined_without_end_by_those_who_want_no_numbers() -> None:
    s = scene(1)
    other = s.world.client()
    # when
    answers = [join(other, s.draft.session, numbers=False) for _ in range(3)]
    # then
    expected = JoinedSession(s.draft.session, "test", OnFailure.STOP, 0)
    assert [one.answer for one in answers if isinstance(one, Granted)] == [expected] * 3
    assert s.world.state.graph.sessions[s.draft.session].ranges == 0


def test_a_session_without_numbers_left_says_so_to_those_who_want_some() -> None:
    s = scene(1)
    s.world.state.graph.sessions[s.draft.session].ranges = (
        LAST_SHARED - FIRST_SHARED
    ) // SHARED_RANGE
    # then
    other = s.world.client()
    assert "has no numbers left" in str(refusal(join(other, s.draft.session)))
    assert isinstance(join(other, s.draft.session, numbers=False), Granted)


def test_what_is_not_one_open_session_cannot_be_joined() -> None:
    s = scene(1)
    s.client.session("twice")
    s.client.session("twice")
    other = s.world.client()
    assert refusal(join(other, 99)) == "there is no open session 99"
    assert refusal(join(other, name="nobody")) == "there is no open session 'nobody'"
    assert refusal(join(other, name="twice")) == "2 open sessions are called 'twice'"


def test_a_client_that_has_joined_extends_the_graph_and_waits_and_fetches() -> None:
    # given: a kept object of the owner
    s = scene(1)
    first, (a,) = s.draft.task(keep=True)
    s.submit()
    other, draft = joined(s)

    # when
    task, (b,) = draft.task(a, keep=True)
    assert isinstance(other.submit(draft), Granted)
    assert task == pack(s.draft.session, FIRST_SHARED + 2)
    wait, fetch = other.wait(s.draft.session, task), other.fetch(b)
    s.assign(first)
    s.governors[0].finish(first, data=b"one")
    s.assign(task)
    s.governors[0].finish(task, data=b"two")

    # then: results are not delivered to those who did not open the session
    answer = s.world.answers[wait]
    assert answer_of(answer, WaitAnswer).delivery.ids == []
    fetched = s.world.answers[fetch]
    assert answer_of(fetched, Fetched).data == b"two"

    # and to the owner only what is its own
    mine = s.world.answers[s.client.wait(s.draft.session, mode="session")]
    assert answer_of(mine, WaitAnswer).delivery.ids == [a]


def test_only_the_owner_closes_a_session() -> None:
    s = scene(1)
    other, _ = joined(s)
    assert "closed by the client that has opened it" in str(refusal(other.close(s.draft.session)))
    assert isinstance(s.client.close(s.draft.session), Granted)


def test_a_session_goes_on_when_one_who_had_joined_it_leaves() -> None:
    s = scene(1)
    other, draft = joined(s)
    task, _ = draft.task()
    other.submit(draft)
    other.leave()
    assert list(s.world.state.graph.tasks) == [task]
    assert list(s.world.state.graph.sessions[s.draft.session].members) == [s.client.id]


def test_a_session_ends_with_its_owner_and_who_had_joined_is_told() -> None:
    s = scene(1)
    other, draft = joined(s)
    task, _ = draft.task()
    other.submit(draft)
    wait = other.wait(s.draft.session, task)
    s.client.leave()
    assert isinstance(s.world.answers[wait], Refuse)
    assert not s.world.state.graph.tasks


def test_a_client_that_has_not_joined_has_no_part_in_the_session() -> None:
    s = scene(1)
    stranger = s.world.client()
    answer = s.world.answers[stranger.wait(s.draft.session, mode="session")]
    assert "another client's" in str(refusal(answer))


def kept_by(s: Scene, client: FakeClient, draft: Draft) -> tuple[TaskId, ObjectId]:
    """A finished task whose result a client keeps."""
    task, (made,) = draft.task(keep=True)
    client.submit(draft)
    s.run(task)
    return task, made


def test_what_a_joined_client_keeps_goes_when_it_leaves() -> None:
    # given
    s = scene(1)
    other, draft = joined(s)
    _, made = kept_by(s, other, draft)
    assert s.governors[0].held
    # when
    other.leave()
    s.world.turn()
    # then
    assert not s.governors[0].held
    assert not s.world.state.graph.objects
    assert not s.world.state.graph.tasks
    assert "was never submitted" in str(refusal(s.world.answers[s.client.fetch(made)]))


def test_what_tasks_still_read_stays_when_the_client_that_has_kept_it_leaves() -> None:
    # given: the owner's task reads what another one keeps
    s = scene(1)
    other, draft = joined(s)
    _, made = kept_by(s, other, draft)
    reader, _ = s.draft.task(made)
    s.submit()
    # when
    other.leave()
    # then
    assert s.world.object(made).is_finished
    s.run(reader)
    s.world.turn()
    assert s.world.state.graph.objects.get(made) is None


def test_a_client_lets_go_of_its_own_only() -> None:
    # given
    s = scene(1)
    other, draft = joined(s)
    mine, a = kept_by(s, s.client, s.draft)
    theirs, b = kept_by(s, other, draft)
    # when
    other.drop(mine, objects=(a,))
    s.client.drop(theirs, objects=(b,))
    # then
    assert refusal(other.unkeep(a)) == f"the data object {spell(a)} is not kept by this client"
    assert s.world.object(a).kept
    assert s.world.object(b).kept
    assert {mine, theirs} <= set(s.world.state.graph.tasks)


def test_the_work_of_a_client_that_has_left_is_done_and_nothing_of_it_stays() -> None:
    # given
    s = scene(1)
    other, draft = joined(s)
    task, _ = draft.task(keep=True)
    other.submit(draft)
    # when
    other.leave()
    s.run(task)
    s.world.turn()
    # then
    assert not s.world.state.graph.tasks
    assert not s.world.state.graph.objects


def test_a_handle_holds_the_node_and_not_the_data() -> None:
    # given: another client has a handle of what the owner keeps
    s = scene(1)
    other, _ = joined(s)
    task, made = kept_by(s, s.client, s.draft)
    answer = other.take(made)
    (report,) = answer_of(answer, tuple)
    assert isinstance(report, ObjectReport)
    assert report.state is ObjectState.FINISHED
    # when: the owner has none any more
    s.client.drop(task, objects=(made,))
    # then
    assert not s.governors[0].held
    assert s.world.object(made).state is ObjectState.REMOVED
    # and: it goes with the last handle
    other.drop(objects=(made,))
    assert not s.world.state.graph.objects


def test_a_client_that_keeps_an_object_of_another_one_has_it_when_that_one_leaves() -> None:
    # given
    s = scene(1)
    other, draft = joined(s)
    _, made = kept_by(s, other, draft)
    assert isinstance(s.client.take(made, keep=True), Granted)
    # when
    other.leave()
    # then
    assert isinstance(s.world.answers[s.client.fetch(made)], Answered)
    # and: it goes when it is not kept any more
    assert isinstance(s.client.unkeep(made), Granted)
    assert s.world.object(made).state is ObjectState.REMOVED


def test_handles_of_one_client_are_counted() -> None:
    # given
    s = scene(1)
    _, made = kept_by(s, s.client, s.draft)
    s.client.take(made)
    # when / then
    s.client.drop(objects=(made,))
    assert s.world.object(made).kept
    s.client.drop(objects=(made,))
    assert s.world.object(made).state is ObjectState.REMOVED


def test_what_nobody_keeps_cannot_be_kept_by_another_handle() -> None:
    s = scene(1)
    other, _ = joined(s)
    _, (kept, gone) = s.draft.task(outputs=2)
    s.draft.submission.kept.append(kept)
    s.submit()
    before = snapshot(s.world.state.graph)
    answer = other.take(kept, gone, keep=True)
    assert refusal(answer) == f"the data object {spell(gone)} is not kept"
    assert "it was never submitted" in str(refusal(other.take(ObjectId(pack(1, 77)))))
    assert snapshot(s.world.state.graph) == before


def test_results_that_the_owner_keeps_are_delivered_no_matter_which_client_submitted_them() -> None:
    # given: what another one has submitted is kept by both
    s = scene(1)
    other, draft = joined(s)
    task, (made,) = draft.task(keep=True)
    other.submit(draft)
    s.client.take(made, keep=True)
    # when
    s.assign(task)
    s.governors[0].finish(task, data=b"two")
    # then
    answer = s.world.answers[s.client.wait(s.draft.session, task)]
    assert answer_of(answer, WaitAnswer).delivery.ids == [made]


def test_a_client_that_has_not_joined_takes_no_handle() -> None:
    s = scene(1)
    _, made = kept_by(s, s.client, s.draft)
    assert "another client's" in str(refusal(s.world.client().take(made)))
