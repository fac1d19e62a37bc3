"""A submission whose client waits for what comes of it: one request, one answer."""

from __future__ import annotations

from copy import deepcopy

import pytest

from rain.base.ids import ObjectId, pack
from rain.base.wire.answers import WaitAnswer
from rain.server.core.messages import Answered, Granted, Refuse
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.fake_client import answer_of
from tests.support.scenes import scene
from tests.support.snapshot import snapshot


def test_it_is_answered_when_all_that_is_wanted_is_made() -> None:
    s = scene(2)
    first, (a,) = s.draft.task(keep=True)
    second, (b,) = s.draft.task(keep=True)
    request = s.client.compute(s.draft, a, b)
    s.assign(first, second)

    s.governors[0].finish(first, size=3)
    assert request not in s.world.answers
    s.governors[0].finish(second, size=3)

    answered = s.world.answers[request]
    assert answer_of(answered, WaitAnswer).objects == [a, b]


def test_a_refused_one_is_refused_once_and_waits_for_nothing() -> None:
    s = scene(1)
    s.draft.task(ObjectId(pack(s.draft.session, 999)))
    _, (made,) = s.draft.task()

    request = s.client.compute(s.draft, made)

    assert isinstance(s.world.answers[request], Refuse)
    assert not s.world.state.waits
    assert not s.world.state.graph.tasks


@pytest.mark.parametrize("large", [False, True])
def test_one_that_wants_what_nobody_knows_is_refused_whole(large: bool) -> None:
    limit = 2 if large else 100
    s = scene(1, settings=ReactorSettings(grown_at_once=limit, debug=True, governor_silence=1e9))
    _, (known,) = s.draft.task(keep=True)
    s.client.submit(s.draft)
    before = snapshot(s.world.state.graph)
    const = s.draft.constant(b"x", keep=True)
    made = [s.draft.task(const)[1][0] for _ in range(5)]
    draft, unknown = deepcopy(s.draft), ObjectId(pack(s.draft.session, 999))

    request = s.client.compute(s.draft, known, const, *made, unknown)

    refused = s.world.answers[request]
    assert isinstance(refused, Refuse)
    assert "was never submitted" in str(refused)
    assert snapshot(s.world.state.graph) == before
    assert not s.world.state.growing
    again = s.client.compute(draft, known, const, *made)
    while s.world.state.growing:
        s.world.turn()
    assert not isinstance(s.world.answers.get(again), Refuse)


def test_a_large_one_begins_to_wait_when_it_was_read() -> None:
    s = scene(1, settings=ReactorSettings(grown_at_once=2, debug=True, governor_silence=1e9))
    made = [s.draft.task() for _ in range(5)]
    tasks, wanted = [task for task, _ in made], made[-1][1][0]

    request = s.client.compute(s.draft, wanted)
    while s.world.state.growing:
        assert request not in s.world.answers
        s.world.turn()
    s.assign(*tasks)
    for task in tasks:
        s.governors[0].finish(task)

    assert isinstance(s.world.answers[request], Answered)


@pytest.mark.parametrize("large", [False, True])
def test_one_that_is_given_up_is_computed_all_the_same(large: bool) -> None:
    limit = 2 if large else 100
    s = scene(1, settings=ReactorSettings(grown_at_once=limit, debug=True, governor_silence=1e9))
    tasks = [s.draft.task()[0] for _ in range(3)]
    last, (wanted,) = s.draft.task()

    request = s.client.compute(s.draft, wanted)
    s.client.abandon(request)
    while s.world.state.growing:
        s.world.turn()
    s.assign(*tasks, last)
    for task in (*tasks, last):
        s.governors[0].finish(task)

    assert request not in s.world.answers
    assert not s.world.state.waits


def test_one_that_wants_nothing_is_answered_when_it_is_granted() -> None:
    s = scene(1)
    s.draft.task()
    assert isinstance(s.client.submit(s.draft), Granted)


def test_what_fails_of_it_fails_alone_also_in_a_session_that_stops() -> None:
    # given
    s = scene(1)
    first, (a,) = s.draft.task()
    request = s.client.compute(s.draft, a)
    s.assign(first)

    # when
    s.governors[0].fail(first, "why")

    # then: who waits for it is told, and nobody else
    refused = s.world.answers[request]
    assert isinstance(refused, Refuse)
    second, (b,) = s.draft.task(keep=True)
    request = s.client.compute(s.draft, b)
    s.run(second)
    assert isinstance(s.world.answers[request], Answered)
    waits = s.client.wait(s.draft.session, mode="session")
    assert isinstance(s.world.answers[waits], Answered)


def test_what_was_submitted_apart_ends_a_session_that_stops() -> None:
    s = scene(1)
    first, (a,) = s.draft.task()
    s.client.compute(s.draft, a)
    s.run(first)
    second, _ = s.draft.task()
    s.submit()
    s.assign(second)
    s.governors[0].fail(second)
    assert s.world.state.graph.sessions[s.draft.session].failure is not None
