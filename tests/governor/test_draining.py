"""A governor that is about to leave starts nothing any more, and tells of all that runs."""

from __future__ import annotations

from rain.base.wire.update import Update
from rain.governor.core.effects import StartExecutor
from rain.governor.core.events import Drain
from rain.governor.core.progress import TELL_AFTER
from tests.governor.busy import a_busy_world, a_world, assign_calls, in_hand
from tests.governor.words import task_id
from tests.governor.world import World


def told_of_drain(world: World) -> list[Update]:
    return [update for update in world.updates if update.drains]


def started(world: World) -> set[int]:
    return {task for update in world.updates for task in update.started_ids}


def test_an_idle_one_says_at_once_that_it_drains_and_says_it_once() -> None:
    world = a_world(cpus=1)
    world.turn(Drain())
    world.turn(Drain())
    world.tick(dt=10.0)
    assert len(told_of_drain(world)) == 1


def test_calls_that_an_executor_has_not_started_are_taken_back_first() -> None:
    # given: an executor that works on the first of many calls
    world = a_busy_world(calls=100)
    world.start_next(1)
    assert in_hand(world, 1) > 1

    # when
    world.turn(Drain())

    # then: the start of that one is told with the word, though it has run for no time
    (update,) = told_of_drain(world)
    assert in_hand(world, 1) == 1
    assert update.started_ids == [world.running_on(1)]
    assert len(started(world)) == 1


def test_nothing_is_started_any_more() -> None:
    # given: one call runs, and others wait for the only cpu
    world = a_world(cpus=1)
    assign_calls(world, range(100, 110))
    world.ready(1)
    world.start_next(1)
    world.turn(Drain())

    # when: it has ended, and orders come that the server sent before it knew
    world.answer(1)
    world.collect(1)
    assign_calls(world, range(200, 203))

    # then
    assert started(world) == {task_id(100)}
    assert in_hand(world, 1) == 0
    assert sum(world.starts.values()) == 1
    world.stop(200)  # as the server does when it knows


def test_no_executor_is_started_for_what_waits() -> None:
    world = a_world(cpus=1)
    world.turn(Drain())
    assign_calls(world, range(100, 103))
    assert not any(isinstance(effect, StartExecutor) for effect in world.effects)


def test_the_word_comes_with_the_end_of_what_has_ended() -> None:
    # given: the executor has answered its first call, unheard, and works on the second one
    world = a_busy_world(calls=100)
    world.start_next(1)
    answered = world.running_on(1)
    world.answer(1)
    world.start_next(1)

    # when
    world.turn(Drain())

    # then
    (update,) = told_of_drain(world)
    assert update.finished.ids == [answered]
    assert update.started_ids == [world.running_on(1)]


def test_what_the_server_has_stopped_is_not_told_any_more() -> None:
    # given: a call that runs, of which the server was not told, and does not want it any more
    world = a_world(cpus=1)
    assign_calls(world, range(100, 101))
    world.ready(1)
    world.start_next(1)
    world.stop(100)

    # when
    world.turn(Drain())

    # then: the checker does not ask for it, and the word is not held up
    assert len(told_of_drain(world)) == 1
    assert not started(world)
    assert in_hand(world, 1) == 1


def test_a_start_of_which_the_server_knows_is_not_told_again() -> None:
    world = a_world(cpus=1)
    assign_calls(world, range(100, 101))
    world.ready(1)
    world.start_next(1)
    world.tick(TELL_AFTER * 1.1)
    world.turn(Drain())
    assert len(told_of_drain(world)) == 1
    assert [task for update in world.updates for task in update.started_ids] == [task_id(100)]
