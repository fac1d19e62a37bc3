"""Clients come back, and make their open calls again: nothing is done twice, no answer is lost."""

from __future__ import annotations

from rain.base.failures import OnFailure
from rain.base.ids import ClientId, ObjectId, RequestId, SessionId
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.requests import (
    AnyRequest,
    HandlesGone,
    OpenSession,
    ServerInfo,
    Settled,
    Statement,
    Submit,
    TakeHandles,
    WaitFor,
)
from rain.server.core.messages import (
    Answered,
    AnyAnswer,
    Asked,
    ClientAway,
    ClientEvent,
    ClientJoined,
    ClientLeft,
    ClientResumed,
    GatherReports,
    Granted,
    Refuse,
    RequestAbandoned,
    Said,
    ServerReturned,
    ServerStoodStill,
)
from rain.server.core.returning_clients import MOST_RETURNS
from tests.support.fake_client import answer_of
from tests.support.submissions import Draft
from tests.support.world import World, new_world

TOKEN = b"a token"
ME = ClientId(7)


class Returning:
    """A world with a governor, and one client whose calls have numbers."""

    def __init__(self) -> None:
        self.world: World = new_world()
        self.governor = self.world.governor()
        self.turn(ClientJoined(ME, TOKEN))

    def turn(self, *events: ClientEvent) -> None:
        self.world.turn(*events)

    def ask(self, what: AnyRequest, number: int) -> RequestId:
        request = self.world.request()
        self.turn(Asked(ME, request, what, number))
        return request

    def say(self, what: Statement | Settled, number: int) -> RequestId:
        request = self.world.request()
        self.turn(Said(ME, what, request, number))
        return request

    def session(self) -> Draft:
        return Draft(self.session_of(self.ask(OpenSession("s", "", OnFailure.CONTINUE), 1)))

    def session_of(self, request: RequestId) -> SessionId:
        answer = self.world.answers[request]
        session: SessionId = SessionId(answer_of(answer, int))
        return session

    def answer(self, request: RequestId) -> AnyAnswer | None:
        return self.world.answers.get(request)

    @property
    def heard(self) -> int:
        return len(self.world.state.asked.clients[ME].heard)

    @property
    def is_there(self) -> bool:
        return ME in self.world.state.graph.clients


def wait_for(draft: Draft, *objects: ObjectId) -> WaitFor:
    return WaitFor(draft.session, (), objects, "all")


def test_a_session_that_is_opened_again_is_the_same() -> None:
    r = Returning()
    first = r.ask(OpenSession("s", ""), 1)
    again = r.ask(OpenSession("s", ""), 1)
    assert r.session_of(again) == r.session_of(first)
    assert len(r.world.state.graph.sessions) == 1


def test_a_submission_that_comes_again_is_done_once() -> None:
    r = Returning()
    draft = r.session()
    draft.task()
    submission = draft.take()
    for _ in range(2):
        assert isinstance(r.answer(r.ask(Submit(submission), 2)), Granted)
    assert len(r.world.state.graph.tasks) == 1


def test_a_submission_that_was_refused_is_refused_again_for_the_same_reason() -> None:
    r = Returning()
    draft = r.session()
    draft.task(ObjectId(12345))
    submission = draft.take()
    first, again = (r.answer(r.ask(Submit(submission), 2)) for _ in range(2))
    assert isinstance(first, Refuse)
    assert isinstance(again, Refuse)
    assert again.reason == first.reason


def test_a_wait_that_comes_again_takes_the_place_of_the_first() -> None:
    # given
    r = Returning()
    draft = r.session()
    task, (made,) = draft.task(keep=True)
    r.ask(Submit(draft.take()), 2)
    first = r.ask(wait_for(draft, made), 3)
    # when
    r.turn(RequestAbandoned(ME, first), ClientAway(ME, "a cut"))
    r.turn(ClientResumed(ME))
    again = r.ask(wait_for(draft, made), 3)
    r.governor.finish(task)
    # then
    assert r.answer(first) is None
    assert isinstance(r.answer(again), Answered)


def test_a_wait_of_a_server_that_has_died_is_replaced_too() -> None:
    r = Returning()
    draft = r.session()
    task, (made,) = draft.task(keep=True)
    first = r.ask(Submit(draft.take(), (made,)), 2)
    r.world.turn(ServerReturned())
    r.turn(ClientResumed(ME))
    again = r.ask(Submit(draft.take(), (made,)), 2)
    r.governor.finish(task)
    assert r.answer(first) is None
    assert isinstance(r.answer(again), Answered)
    assert not r.world.state.waits


def test_a_server_that_dies_again_and_again_waits_for_no_client_for_ever() -> None:
    # given: a server that is never there for as long as its clients may be away
    r = Returning()
    for _ in range(MOST_RETURNS):
        r.world.turn(ServerReturned())
        assert ME in r.world.state.graph.clients
    # when
    r.world.turn(ServerReturned())
    # then
    assert ME not in r.world.state.graph.clients
    assert "the server was away" in r.world.given_up[0].why


def test_a_client_can_come_back_to_a_server_that_stood_still_meanwhile() -> None:
    # given
    r = Returning()
    grace = r.world.state.settings.client_grace
    r.turn(ClientAway(ME, "a cut"))
    # when: its call waits at a server that was stopped for longer than the client may be away
    r.world.turn(ServerStoodStill(2 * grace), after=2 * grace + 1)
    # then
    assert ME in r.world.state.graph.clients
    r.world.turn(after=grace - 2)
    assert ME in r.world.state.graph.clients
    r.world.turn(after=2)
    assert ME not in r.world.state.graph.clients


def test_a_client_that_was_there_in_between_is_waited_for_anew() -> None:
    r = Returning()
    for _ in range(2 * MOST_RETURNS):
        r.world.turn(ServerReturned())
        r.turn(ClientResumed(ME))
    r.world.turn(ServerReturned())
    assert ME in r.world.state.graph.clients


def test_an_answer_is_given_again_with_all_that_it_delivered() -> None:
    # given: the small result that a wait has delivered
    r = Returning()
    draft = r.session()
    task, (made,) = draft.task(keep=True)
    r.ask(Submit(draft.take()), 2)
    first = r.ask(wait_for(draft, made), 3)
    r.governor.finish(task, data=b"result")
    # when
    again = r.ask(wait_for(draft, made), 3)
    # then
    for request in (first, again):
        answer = r.answer(request)
        assert answer_of(answer, WaitAnswer).delivery.data == [b"result"]


def test_what_governors_report_is_gathered_again() -> None:
    r = Returning()
    for _ in range(2):
        assert isinstance(r.answer(r.ask(ServerInfo(), 2)), GatherReports)


def test_handles_that_are_said_to_be_gone_twice_are_gone_once() -> None:
    # given: a result of which the client has two handles
    r = Returning()
    draft = r.session()
    task, (made,) = draft.task(keep=True)
    r.ask(Submit(draft.take()), 2)
    r.governor.finish(task)
    r.ask(TakeHandles((made,)), 3)
    r.say(HandlesGone((task,), ()), 9)
    # when
    answers = [r.answer(r.say(HandlesGone((), (made,)), 4)) for _ in range(2)]
    r.turn()
    # then
    assert [type(answer) for answer in answers] == [Granted, Granted]
    assert made in r.world.state.graph.objects
    # and: the second handle goes with another call
    r.say(HandlesGone((), (made,)), 5)
    r.turn()
    assert made not in r.world.state.graph.objects


def test_answers_are_kept_until_the_client_has_them() -> None:
    r = Returning()
    r.session()
    r.ask(ServerInfo(), 2)
    assert r.heard == 2
    r.say(Settled((1, 2, 99)), 0)
    assert r.heard == 0
    assert not r.world.state.asked.open


def test_nothing_is_kept_for_a_call_whose_answer_the_client_does_not_want() -> None:
    # given: a call that has no answer yet
    r = Returning()
    draft = r.session()
    _, (made,) = draft.task(keep=True)
    r.ask(Submit(draft.take()), 2)
    r.ask(wait_for(draft, made), 3)
    assert r.world.state.asked.open
    # when
    r.say(Settled((3,)), 0)
    # then
    assert not r.world.state.asked.open


def test_a_client_that_comes_back_in_time_has_its_sessions() -> None:
    r = Returning()
    draft = r.session()
    r.turn(ClientAway(ME, "a cut"))
    r.world.now += r.world.state.settings.client_grace - 3
    r.turn(ClientResumed(ME))
    r.world.now += 1000
    r.turn()
    assert draft.session in r.world.state.graph.sessions
    assert r.world.reactor.next_time() > r.world.now


def test_a_client_that_does_not_come_back_has_left() -> None:
    # given
    r = Returning()
    draft = r.session()
    _, (made,) = draft.task(keep=True)
    r.ask(Submit(draft.take(), (made,)), 2)
    # when
    r.turn(ClientAway(ME, "a cut"))
    due = r.world.state.asked.due
    assert r.is_there
    assert r.world.reactor.next_time() <= due
    r.world.now = due
    r.turn()
    # then
    assert not r.is_there
    (told,) = r.world.given_up
    assert told.why == "it has not come back within 10 seconds: a cut"
    assert not r.world.state.graph.sessions
    assert not r.world.state.asked.clients
    assert not r.world.state.asked.open


def test_clients_have_time_to_come_back_to_a_server_that_did() -> None:
    r = Returning()
    r.session()
    r.world.turn(ServerReturned())
    assert r.is_there
    r.world.now += r.world.state.settings.client_grace
    r.turn()
    assert not r.is_there


def test_a_client_that_says_that_it_leaves_is_not_waited_for() -> None:
    r = Returning()
    r.session()
    r.turn(ClientLeft(ME, "it has closed"))
    assert not r.is_there
    assert not r.world.state.asked.clients


def test_only_the_right_token_finds_a_client() -> None:
    r = Returning()
    assert r.world.state.asked.find(TOKEN) == ME
    assert r.world.state.asked.find(b"another") is None


def test_calls_without_a_number_are_all_new() -> None:
    r = Returning()
    for _ in range(2):
        r.ask(OpenSession("s", ""), 0)
    assert len(r.world.state.graph.sessions) == 2
    assert r.heard == 0


def test_a_client_that_cannot_come_back_leaves_no_notes() -> None:
    r = Returning()
    client = r.world.client()
    request = r.world.request()
    r.turn(Asked(client.id, request, OpenSession("s", ""), 5))
    r.turn(Asked(client.id, r.world.request(), OpenSession("s", ""), 5))
    assert client.id not in r.world.state.asked.clients
    assert len(r.world.state.graph.sessions) == 2
