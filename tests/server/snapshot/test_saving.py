"""What is special about some states, and what is wrong with some files."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import msgpack
import pytest

from rain.base.errors import InvariantError
from rain.base.ids import RequestId
from rain.base.wire.requests import Submit
from rain.graph import DataObject, Task
from rain.graph.handles import NOBODY
from rain.scheduler.rain import RainScheduler
from rain.server.core.messages import Asked, Effect, Granted, Refuse, TurnInput
from rain.server.core.reactor import Reactor
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from rain.server.framing import frame
from rain.server.snapshot import layouts
from rain.server.snapshot.layouts import layout_of
from rain.server.snapshot.leaving_out import LEFT_OUT
from rain.server.snapshot.reading import SnapshotError
from rain.server.snapshot.saving import MAGIC, load, save
from tests.graph.subject import Subject
from tests.server.test_by_name import begin
from tests.support.scenes import Scene, scene
from tests.support.twins import assert_same

SETTINGS = ReactorSettings(debug=True, governor_silence=1e9)


def saved(state: State) -> bytes:
    return b"".join(save(state))


def again(state: State) -> State:
    return load(saved(state)).state


def test_an_empty_state_comes_back() -> None:
    state = again(State(SETTINGS))
    assert_same(state, State(SETTINGS))
    assert state.settings == SETTINGS
    assert not state.graph.tasks


def test_a_state_with_a_task_in_each_row_comes_back() -> None:
    # given
    state = State(SETTINGS)
    state.graph = Subject().graph
    # when
    loaded = again(state)
    # then
    assert_same(loaded, state)
    for former, task in zip(state.graph.tasks.values(), loaded.graph.tasks.values(), strict=True):
        assert task.row is former.row
        assert (task.handles is NOBODY) == (former.handles is NOBODY)
        assert [one.id for one in task.inputs] == [one.id for one in former.inputs]
        assert task.kind is task.session.task_kinds[task.kind.id]
        assert task.sched is None


def test_what_is_known_by_the_name_of_a_durable_session_comes_back() -> None:
    # given: a program that has gone
    friday = begin(scene(4, settings=SETTINGS))
    first, a = friday.call(b"first")
    friday.call(b"second", a)
    friday.submit()
    friday.finish(first, b"1")
    friday.leave()
    # when
    state = friday.s.world.state
    loaded = again(state)
    # then
    assert_same(loaded, state)
    (former,), (durable,) = state.durable.by_name.values(), loaded.durable.by_name.values()
    assert durable.tasks.keys() == former.tasks.keys()
    assert [task.row for task in durable.tasks.values()] == [
        task.row for task in former.tasks.values()
    ]


def chain(length: int) -> Scene:
    s = scene(1, settings=ReactorSettings(grown_at_once=10**9, governor_silence=1e9))
    made = [s.draft.constant()]
    for _ in range(length):
        _, made = s.draft.task(*made, config=b"the same for all")
    s.draft.submission.kept += made
    s.submit()
    return s


@contextmanager
def little_stack() -> Generator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(250)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.no_cover
@pytest.mark.usefixtures("no_collections")
def test_a_chain_of_very_many_tasks_needs_no_deep_stack_and_few_bytes() -> None:
    # given
    length = 100_000
    state = chain(length).world.state
    # when
    with little_stack():
        data = saved(state)
        loaded = load(data).state
    # then
    assert len(data) < 20 * length
    *_, last = loaded.graph.tasks.values()
    assert len(loaded.graph.tasks) == length
    assert last.inputs[0].producer is not None
    assert last.inputs[0].producer.order == length - 1


def test_what_has_left_the_graph_and_is_referred_to_comes_back_too() -> None:
    # given: the last one of a long chain, of which nothing is taken apart yet
    s = scene(1)
    state = s.world.state
    task_id, (made,) = s.draft.task(keep=True)
    s.submit()
    task, one = s.world.task(task_id), s.world.object(made)
    for number in range(2_000):
        one = DataObject(one.id, one.session, one.kind, task)
        task = Task(task.id, number, task.session, task.kind, b"", (one,))
    state.graph.remains.append(task)
    # when / then
    assert_same(again(state), state)


def test_a_submission_that_was_read_in_part_is_read_to_its_end() -> None:
    # given
    settings = ReactorSettings(grown_at_once=4, debug=True, governor_silence=1e9)
    s = scene(1, settings=settings)
    kept = s.draft.constant(keep=True)
    s.submit()
    for _ in range(10):
        s.draft.task(kept)
    request = s.world.request()
    s.world.turn(Asked(s.client.id, request, Submit(s.draft.fill(s.draft.take()))))
    state = s.world.state
    assert state.growing
    # when
    reactor = Reactor(RainScheduler, again(state))
    turns = 0
    while reactor.state.growing:
        turns += 1
        mine, other = s.world.turn(), reactor.turn(TurnInput(s.world.now)).effects
        # then: with the same turn
        assert (Granted(request) in mine) == (Granted(request) in other)
    assert turns > 2
    assert len(reactor.state.graph.tasks) == 10


def test_what_a_submission_reads_and_has_gone_is_told_as_if_nothing_were_read_again() -> None:
    # given: its first part reads an object that another client lets go before the last one
    settings = ReactorSettings(grown_at_once=4, debug=True, governor_silence=1e9)
    s = scene(1, settings=settings)
    kept = s.draft.constant(keep=True)
    s.submit()
    for _ in range(10):
        s.draft.task(kept)
    submission = s.draft.fill(s.draft.take())
    guest = s.world.client()
    guest.join(s.draft.session)
    request = s.world.request()
    s.world.turn(Asked(guest.id, request, Submit(submission)))
    while not any(growing.read >= 4 for growing in s.world.state.growing.values()):
        s.world.turn()
    s.client.unkeep(kept)
    # when
    reactor = Reactor(RainScheduler, again(s.world.state))
    refused: list[Effect] = []
    while reactor.state.growing:
        mine, other = s.world.turn(), reactor.turn(TurnInput(s.world.now)).effects
        refused = [one for one in other if isinstance(one, Refuse)]
        # then
        assert refused == [one for one in mine if isinstance(one, Refuse)]
    assert [s.world.answers[request]] == refused


def test_a_turn_that_is_running_cannot_be_saved() -> None:
    state = State(SETTINGS)
    state.refuse(RequestId(1), "no")
    with pytest.raises(InvariantError, match="between two turns"):
        next(save(state))


def test_what_is_of_another_class_than_it_says_cannot_be_saved() -> None:
    s = scene(1)
    wrong: Any = "governor"
    s.world.state.touched[wrong] = None
    with pytest.raises(InvariantError, match="'governor' is where a snapshot expects a Governor"):
        saved(s.world.state)


# Files.


def subject() -> bytes:
    state = State(SETTINGS)
    state.graph = Subject().graph
    return saved(state)


def test_a_file_that_was_cut_anywhere_is_refused() -> None:
    whole = subject()
    for end in range(0, len(whole), 7):
        with pytest.raises(SnapshotError):
            load(whole[:end])


def test_a_flipped_bit_is_noticed_anywhere() -> None:
    whole = subject()
    for place in range(0, len(whole), 11):
        damaged = bytearray(whole)
        damaged[place] ^= 4
        with pytest.raises(SnapshotError):
            load(bytes(damaged))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not a snapshot of Rain"),
        (b"#!/bin/sh\n" * 5, "not a snapshot of Rain"),
        (MAGIC, "cannot be read"),
        (MAGIC + frame(b"\xc1"), "cannot be read"),
        (MAGIC + frame(msgpack.packb({})) + frame(msgpack.packb(1)), "has no Saved"),
        (
            MAGIC
            + frame(msgpack.packb({"version": 99, "rain": "9.9", "tables": {}}))
            + frame(msgpack.packb(1)),
            "written by Rain 9.9 in version 99 of the format",
        ),
        (MAGIC + frame(msgpack.packb({"Saved": [1, []]})), "not whole"),
        (
            MAGIC + frame(msgpack.packb({"Star": [1, []]})) + frame(msgpack.packb(1)),
            "knows no Star",
        ),
    ],
)
def test_what_is_no_snapshot_is_refused_by_name(content: bytes, complaint: str) -> None:
    with pytest.raises(SnapshotError, match=complaint):
        load(content)


@contextmanager
def without(monkeypatch: pytest.MonkeyPatch, kind: type, name: str) -> Generator[None]:
    """Another version of Rain, in which a class does not have this field."""
    left_out = {**LEFT_OUT, kind: {**LEFT_OUT.get(kind, {}), name: "not there yet"}}
    with monkeypatch.context() as patch:
        patch.setattr(layouts, "LEFT_OUT", left_out)
        patch.delitem(layouts.LAYOUTS, kind)
        layout_of(kind)
        yield


def test_a_field_that_an_earlier_version_did_not_have_takes_its_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # given
    s = scene(1)
    task, _ = s.draft.task(keep=True)
    s.submit()
    s.world.task(task).user = "{}"
    # when
    with without(monkeypatch, Task, "user"):
        data = saved(s.world.state)
    # then
    assert load(data).state.graph.tasks[task].user == ""


def test_a_field_without_a_default_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    s = scene(1)
    s.draft.task(keep=True)
    s.submit()
    with without(monkeypatch, Task, "config"):
        data = saved(s.world.state)
    with pytest.raises(SnapshotError, match=r"says nothing of Task\.config"):
        load(data)


def test_a_field_of_a_later_version_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    s = scene(1)
    s.draft.task(keep=True)
    s.submit()
    data = saved(s.world.state)
    with (
        without(monkeypatch, Task, "user"),
        pytest.raises(SnapshotError, match=r"this version of Rain knows no Task\.user"),
    ):
        load(data)
