"""Fetches, and results that are delivered before anybody fetches them."""

from __future__ import annotations

from attrs import evolve

from rain.base.ids import ObjectId, RequestId, pack
from rain.base.states import ObjectState
from rain.base.wire.answers import Delivery, Fetched, ObjectReport, WaitAnswer
from rain.base.wire.update import ObjectNote
from rain.server.core.messages import Refuse
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.fake_client import answer_of
from tests.support.scenes import Scene, scene


def fetched(s: Scene, request: RequestId) -> Fetched:
    found = s.world.answers[request]
    answer: Fetched = answer_of(found, Fetched)
    return answer


def refusal(s: Scene, request: RequestId) -> str:
    found = s.world.answers[request]
    assert isinstance(found, Refuse)
    assert isinstance(found.reason, str)
    return found.reason


def test_a_fetch_of_unfinished_data_waits() -> None:
    # given
    s = scene(1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    request = s.client.fetch(a)
    assert request not in s.world.answers

    # when
    s.assign(task)
    s.governors[0].finish(task, data=b"result")

    # then
    report = ObjectReport(a, ObjectState.FINISHED, 6)
    assert fetched(s, request) == Fetched(report, data=b"result")


def test_a_fetch_of_large_data_names_its_holder() -> None:
    s = scene(1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.run(task, size=10**9)
    report = ObjectReport(a, ObjectState.FINISHED, 10**9)
    assert fetched(s, s.client.fetch(a)) == Fetched(report, holder=s.governors[0].source)


def test_a_fetch_of_a_large_constant_is_served_by_the_server_itself() -> None:
    s = scene(1)
    constant = s.draft.constant(bytes(100_000), keep=True)
    s.submit()
    report = ObjectReport(constant, ObjectState.FINISHED, 100_000)
    assert fetched(s, s.client.fetch(constant)) == Fetched(report)


def test_what_was_found_out_about_an_object_comes_with_it() -> None:
    # given
    s = scene(1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.assign(task)

    # when
    update = s.governors[0].finished(task, data=b"{}")
    update.object_notes.append(ObjectNote(a, "json", '{"rows": 3}'))
    s.governors[0].send(update)

    # then
    report = ObjectReport(a, ObjectState.FINISHED, 2, "json", '{"rows": 3}')
    assert fetched(s, s.client.fetch(a)) == Fetched(report, data=b"{}")


def test_a_fetch_of_removed_data_is_refused_by_name() -> None:
    s = scene(1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.run(task)
    s.client.unkeep(a)
    assert "the data object 1/13 was removed" in refusal(s, s.client.fetch(a))


def test_a_fetch_of_data_that_is_unkept_while_it_waits_is_refused_when_it_is_made() -> None:
    s = scene(1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    request = s.client.fetch(a)
    s.client.unkeep(a)
    assert request not in s.world.answers
    s.run(task)
    assert "the data object 1/13 was removed" in refusal(s, request)


def test_a_fetch_of_what_is_not_kept_or_unknown_is_refused_by_name() -> None:
    s = scene(1)
    _, (a,) = s.draft.task()
    s.submit()
    assert refusal(s, s.client.fetch(a)) == "the data object 1/13 is not kept"
    unknown = ObjectId(pack(s.draft.session, 99))
    assert "the data object 1/99 is unknown" in refusal(s, s.client.fetch(unknown))


def test_a_fetch_can_be_abandoned() -> None:
    s = scene(1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    request = s.client.fetch(a)
    s.client.abandon(request)
    s.run(task)
    assert request not in s.world.answers


def delivery(s: Scene, request: RequestId) -> Delivery:
    found = s.world.answers[request]
    delivery: Delivery = answer_of(found, WaitAnswer).delivery
    return delivery


def test_small_kept_results_come_with_the_answer_of_a_wait_once() -> None:
    # given: a kept small result, a kept large one, and one that nobody keeps
    s = scene(1)
    small, (a,) = s.draft.task(keep=True)
    large, _ = s.draft.task(keep=True)
    other, _ = s.draft.task()
    s.submit()
    s.assign(small, large, other)
    governor = s.governors[0]
    governor.finish(small, data=b"one")
    governor.finish(large, size=100_000)
    governor.finish(other, data=b"two")

    # when / then
    first = s.client.wait(s.draft.session, mode="session")
    assert delivery(s, first) == Delivery([a], [3], [""], [b"one"])
    assert delivery(s, s.client.wait(s.draft.session, mode="session")) == Delivery()


def test_deliveries_stay_within_the_limit_and_the_rest_comes_with_the_next_answer() -> None:
    # given: three results of 10 bytes, and an answer that may bring 25
    s = scene(4, settings=ReactorSettings(debug=True, governor_silence=1e9, delivery_limit=25))
    made = [s.draft.task(keep=True) for _ in range(3)]
    s.submit()
    tasks = [task for task, _ in made]
    s.assign(*tasks)
    s.governors[0].finish(*tasks, data=bytes(10))
    objects = [a for _, (a,) in made]

    # when / then
    first = s.client.wait(s.draft.session, mode="session")
    assert delivery(s, first).ids == objects[:2]
    second = s.client.wait(s.draft.session, mode="session")
    assert delivery(s, second).ids == objects[2:]


def test_a_result_that_is_unkept_is_not_delivered() -> None:
    s = scene(1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.assign(task)
    s.governors[0].finish(task, data=b"x")
    s.client.unkeep(a)
    assert delivery(s, s.client.wait(s.draft.session, mode="session")) == Delivery()


def test_results_of_other_sessions_are_not_delivered() -> None:
    # given: two sessions with a result each
    s = scene(2)
    other = s.client.session()
    mine, (a,) = s.draft.task(keep=True)
    theirs, _ = other.task(keep=True)
    s.submit()
    s.client.submit(other)
    s.assign(mine, theirs)
    s.governors[0].finish(mine, theirs, data=b"x")
    request = s.client.wait(s.draft.session, mode="session")
    assert delivery(s, request).ids == [a]


def test_the_default_limit_leaves_room_in_a_message() -> None:
    assert evolve(ReactorSettings()).delivery_limit < 64 * 1024 * 1024
