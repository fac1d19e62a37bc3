"""What is too much to let go in one turn goes in several, and nothing of it is left over."""

from __future__ import annotations

import gc
from collections import Counter

import pytest

from rain.base.ids import ObjectId, TaskId
from rain.base.states import ObjectState, TaskState
from rain.base.wire.requests import CloseSession
from rain.base.wire.update import Update
from rain.graph import DataObject, Session, Task
from rain.graph.release import clear, take_apart
from rain.scheduler.rain import RainScheduler
from rain.server.core.messages import Asked, GovernorUpdated, OrderGovernor, TurnInput
from rain.server.core.reactor import Reactor
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from tests.support.scenes import Scene, scene, scene_with
from tests.support.submissions import Draft

PART = 10
PARTS = 5
SETTINGS = ReactorSettings(
    let_go_at_once=PART, debug=True, governor_silence=1e9, much_wait=0.5, overbooking=1000
)


def merged(
    *, size: int = 100_000, keep: bool = False
) -> tuple[Scene, list[ObjectId], TaskId, ObjectId]:
    """A merge that has just ended, its inputs on the first governor."""
    s = scene(1, 1, settings=SETTINGS)
    made = [s.draft.task() for _ in range(PART * PARTS)]
    inputs = [a for _, (a,) in made]
    merge, (result,) = s.draft.task(*inputs, keep=keep)
    s.submit()
    s.assign(*[task for task, _ in made])
    s.governors[0].finish(*[task for task, _ in made], size=size)
    s.assign(merge)
    s.governors[0].finish(merge, size=size)
    return s, inputs, merge, result


def removed(s: Scene, objects: list[ObjectId]) -> int:
    return sum(s.world.object(one).state is ObjectState.REMOVED for one in objects)


def drops_of(s: Scene) -> Counter[ObjectId]:
    """What governors were told to drop so far, and how often."""
    return Counter(
        dropped
        for effects in s.world.effects
        for effect in effects
        if isinstance(effect, OrderGovernor)
        for dropped in effect.orders.drops
    )


def nodes_alive() -> int:
    return sum(isinstance(one, Task | DataObject | Session) for one in gc.get_objects())


def test_the_inputs_of_a_large_merge_go_in_several_turns_that_follow_at_once() -> None:
    # given
    s, inputs, merge, result = merged(keep=True)
    assert removed(s, inputs) == PART

    # when / then: each turn takes as many more
    for parts in range(2, PARTS + 1):
        assert s.world.reactor.next_time() == s.world.now
        s.world.turn(after=0.0)
        assert removed(s, inputs) == parts * PART
    assert s.world.reactor.next_time() > s.world.now

    # and then: its governor has heard of each once, and has nothing else
    s.world.turn()
    assert drops_of(s) == Counter(inputs)
    assert s.governors[0].held == {result: None}
    assert s.world.task(merge).state is TaskState.FINISHED


def test_a_replay_makes_the_same_turns() -> None:
    # given
    s = scene_with(RainScheduler(), 2, settings=SETTINGS)
    made = [s.draft.task() for _ in range(PART * PARTS)]
    merge, _ = s.draft.task(*[a for _, (a,) in made], keep=True)
    s.submit()
    (governor,) = s.governors
    while s.world.task(merge).state is not TaskState.FINISHED:
        governor.finish(*governor.runnable(), size=100_000)
    for _ in range(PARTS):
        s.world.turn()
    s.client.close(s.draft.session)
    for _ in range(2 * PARTS):
        s.world.turn()

    # when
    again = Reactor(RainScheduler, State(SETTINGS))

    # then
    for given, expected in zip(s.world.turns, s.world.effects, strict=True):
        assert again.turn(given).effects == expected
    assert not again.state.graph.remains


def test_others_are_heard_between_the_parts() -> None:
    # given
    s, inputs, *_ = merged()
    other = s.world.client()

    # when
    session = other.session("other")

    # then
    assert session.session in s.world.state.graph.sessions
    assert removed(s, inputs) < len(inputs)


def test_what_is_about_to_go_when_its_session_is_closed_goes_with_it() -> None:
    # given
    s, *_ = merged()

    # when
    s.client.close(s.draft.session)

    # then: at once there is nothing that anybody could find
    graph = s.world.state.graph
    assert not graph.unneeded
    assert not graph.objects
    assert not graph.tasks
    assert not s.node(0).objects
    # and in a while nothing at all
    for _ in range(2 * PARTS + 2):
        s.world.turn()
    assert not graph.remains
    assert not any(governor.held or governor.kinds for governor in s.governors)


def test_what_is_about_to_go_is_not_made_again_when_its_last_copy_is_lost() -> None:
    # given
    s, inputs, merge, _ = merged()
    for place in range(PARTS * PART // 2):
        assert s.world.object(inputs[place]).state is not ObjectState.UNFINISHED

    # when
    s.governors[0].leave()

    # then
    assert removed(s, inputs) == len(inputs)
    assert s.world.task(merge).state is TaskState.FINISHED
    for _ in range(PARTS):
        s.world.turn()
    assert not s.world.state.graph.unneeded


def test_what_is_about_to_go_stays_if_it_is_needed_once_more() -> None:
    # given: the result is nowhere else than on a governor that leaves, the inputs are on both
    s = scene(1, 1, settings=SETTINGS)
    made = [s.draft.task() for _ in range(PART * PARTS)]
    inputs = [a for _, (a,) in made]
    merge, _ = s.draft.task(*inputs, keep=True)
    s.submit()
    s.assign(*[task for task, _ in made])
    s.governors[0].finish(*[task for task, _ in made], size=100_000)
    s.assign(merge, to=1)
    s.governors[1].locate(*s.governors[1].fetching())
    s.governors[1].finish(merge, size=100_000)

    # when
    s.governors[1].leave()

    # then: those that were still there are there for the merge, the others are made again
    gone = [task for task, (a,) in made if not s.world.object(a).is_finished]
    assert 0 < len(gone) < len(made)
    while s.world.state.graph.unneeded:
        s.world.turn()
    assert [task for task, (a,) in made if not s.world.object(a).is_finished] == gone
    assert s.world.task(merge).missing == len(gone)


@pytest.mark.parametrize("finished", [True, False])
def test_a_large_session_is_taken_apart_after_its_end(finished: bool) -> None:
    # given
    gc.collect()
    before = nodes_alive()
    s = scene(1, settings=SETTINGS)
    made = [s.draft.task(keep=True) for _ in range(PART * PARTS)]
    s.draft.task(*[a for _, (a,) in made])
    s.submit()
    s.assign(*[task for task, _ in made])
    if finished:
        s.governors[0].finish(*[task for task, _ in made], size=100_000)
    s.scripted.heard.clear()
    gc.disable()
    try:
        # when
        request = s.world.request()
        s.world.turn(Asked(s.client.id, request, CloseSession(s.draft.session)))

        # then: it is closed, and whatever comes late is not about it
        graph = s.world.state.graph
        assert request in s.world.answers
        assert not graph.tasks
        assert not graph.objects
        assert not s.node(0).scheduled
        assert not s.node(0).active_cpus
        s.world.turn(GovernorUpdated(s.governors[0].id, Update()))
        # and then: the nodes go in parts, without the help of the garbage collector
        turns = 0
        while s.world.reactor.next_time() == s.world.now:
            s.scripted.heard.clear()
            s.world.turn(after=0.0)
            turns += 1
        assert turns == 2 * PARTS - 1
        s.world.turn()
        s.world.turns.clear()
        s.scripted.heard.clear()
        assert nodes_alive() == before
    finally:
        gc.enable()


def test_what_a_client_leaves_behind_by_the_thousand_goes_in_parts() -> None:
    # given: a client that has joined keeps very much
    s = scene(1, settings=SETTINGS)
    other = s.world.client()
    joined = other.join(s.draft.session)
    draft = Draft(joined.session, joined.first)
    made = [draft.task(keep=True)[0] for _ in range(PART * PARTS)]
    other.submit(draft)
    s.assign(*made)
    s.governors[0].finish(*made, size=100_000)

    # when
    other.leave()

    # then: a part of the handles goes in each turn, and what they have held with them
    graph, turns = s.world.state.graph, 1
    assert len(s.governors[0].held) == PART * (PARTS - 1)
    while graph.departed:
        assert s.world.reactor.next_time() == s.world.now
        s.world.turn(after=0.0)
        turns += 1
    assert turns == 2 * PARTS
    while s.world.reactor.next_time() == s.world.now:
        s.world.turn(after=0.0)
    assert not graph.tasks
    assert not graph.objects
    s.world.turn()
    assert not s.governors[0].held


def test_a_session_may_end_while_the_handles_of_one_who_left_go() -> None:
    s = scene(1, settings=SETTINGS)
    other = s.world.client()
    joined = other.join(s.draft.session)
    draft = Draft(joined.session, joined.first)
    for _ in range(PART * PARTS):
        draft.task(keep=True)
    other.submit(draft)
    other.leave()
    assert s.world.state.graph.departed
    s.client.close(s.draft.session)
    assert not s.world.state.graph.departed


def test_what_a_client_lets_go_by_the_thousand_goes_in_parts_too() -> None:
    # given
    s = scene(1, settings=SETTINGS)
    made = [s.draft.task(keep=True) for _ in range(PART * PARTS)]
    inputs = [a for _, (a,) in made]
    s.submit()
    s.assign(*[task for task, _ in made])
    s.governors[0].finish(*[task for task, _ in made], size=100_000)

    # when
    s.client.unkeep(*inputs)

    # then
    assert removed(s, inputs) == PART
    for _ in range(PARTS):
        s.world.turn()
    assert drops_of(s) == Counter(inputs)
    assert not s.governors[0].held
    assert not s.world.reactor.turn(TurnInput(s.world.now)).effects


def test_what_is_left_of_a_session_counts_until_it_is_taken_apart() -> None:
    s = scene(1)
    for _ in range(3):
        s.draft.task(keep=True)
    s.submit()
    graph = s.world.state.graph
    assert graph.nodes == 6
    clear(graph, graph.sessions[s.draft.session])
    assert not graph.tasks
    assert graph.nodes == 6
    take_apart(graph, 4)
    assert graph.nodes == 2
