"""Nodes of which nobody has a handle go while their session goes on; what is needed stays."""

from __future__ import annotations

import gc

import pytest

from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, TaskId, pack
from rain.base.wire.answers import WaitAnswer
from rain.graph import DataObject, Task
from rain.scheduler import DEFAULT
from rain.scheduler.shipped import SCHEDULERS
from rain.server.core.messages import Answered, Refuse
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.fake_client import answer_of
from tests.support.world import World, new_world


def settle(world: World) -> None:
    """Governors do all that they are told, and the server takes all its turns."""
    for _ in range(1000):
        for governor in world.governors:
            governor.locate(*governor.fetching())
            runnable = governor.runnable()
            if runnable:
                governor.finish(*runnable)
        world.turn()
        if not any(session.unfinished for session in world.state.graph.sessions.values()):
            return
    raise AssertionError("the governors are never done")


def nodes_alive() -> int:
    gc.collect()
    return sum(isinstance(one, Task | DataObject) for one in gc.get_objects())


@pytest.mark.no_cover
@pytest.mark.parametrize("name", list(SCHEDULERS))
def test_thousands_of_tasks_in_rounds_leave_nothing_behind(name: str) -> None:
    settings = ReactorSettings(governor_silence=1e9, much_wait=0.0, little_wait=0.0)
    world = new_world(SCHEDULERS[name], settings)
    for _ in range(2):
        world.governor(cpus=4)
    client = world.client()
    draft = client.session()
    function = draft.constant(keep=True)
    before = nodes_alive()
    most, rounds = 0, 20 if name == DEFAULT else 4
    for _ in range(rounds):
        tasks: list[TaskId] = []
        objects: list[ObjectId] = []
        for _ in range(250):
            first, made = draft.task(function)
            second, results = draft.task(function, *made, keep=True)
            tasks += [first, second]
            objects += [*made, *results]
        client.submit(draft)
        settle(world)
        client.drop(*tasks, objects=tuple(objects))
        world.turns.clear()
        world.effects.clear()
        world.answers.clear()
        world.turn()
        world.turn()
        most = max(most, len(world.state.graph.tasks) + len(world.state.graph.objects))
    session = world.state.graph.sessions[draft.session]
    assert (session.gone_tasks, session.gone_objects) == (500 * rounds, 500 * rounds)
    assert most == 1, "only the function is left after each round"
    assert nodes_alive() <= before + 10
    assert len(world.object(function).consumers) <= 1


def test_what_somebody_has_a_handle_of_stays_and_what_it_needs_does() -> None:
    world = new_world()
    holder, other = world.governor(), world.governor()
    client = world.client()
    draft = client.session(on_failure=OnFailure.CONTINUE)
    constant = draft.constant(keep=True)
    first, (between,) = draft.task(constant)
    second, (result,) = draft.task(between, keep=True)
    client.submit(draft)
    client.drop(first, second, objects=(constant, between))
    settle(world)

    assert {first, second} <= set(world.state.graph.tasks), "the result may have to be made again"
    (lost,) = world.object(result).located
    (holder if lost.id == holder.id else other).leave()
    settle(world)
    request = client.fetch(result)
    assert isinstance(world.answers[request], Answered)

    client.drop(objects=(result,))
    world.turn()
    assert not world.state.graph.tasks
    assert not world.state.graph.objects


def test_failed_tasks_go_with_their_handles() -> None:
    world = new_world()
    governor = world.governor()
    client = world.client()
    draft = client.session(on_failure=OnFailure.CONTINUE)
    first, (between,) = draft.task()
    second, (result,) = draft.task(between, keep=True)
    client.submit(draft)
    client.drop(first, second, objects=(between,))
    governor.fail(first)

    assert set(world.state.graph.objects) == {result}, "its failure may be asked for"
    client.drop(objects=(result,))
    assert not world.state.graph.tasks
    assert not world.state.graph.objects


def test_a_client_that_follows_a_session_hears_of_each_other_task_once() -> None:
    world = new_world()
    governor = world.governor(cpus=8)
    client = world.client()
    draft = client.session()
    made = [draft.task(keep=True) for _ in range(4)]
    client.submit(draft)
    tasks = [task for task, _ in made]
    first = client.wait(draft.session, mode="glance")
    governor.finish(*tasks[:3])
    client.drop(*tasks[:2], objects=tuple(one for _, (one,) in made[:2]))

    answer = world.answers[client.wait(draft.session, mode="glance")]
    assert isinstance(world.answers[first], Answered)
    told = answer_of(answer, WaitAnswer).tasks
    assert told == [0, 0, tasks[2]], "two that have gone are only counted"


def test_late_and_wrong_news_of_handles_change_nothing() -> None:
    world = new_world()
    governor = world.governor()
    client, stranger = world.client(), world.client()
    draft = client.session()
    task, (made,) = draft.task(keep=True)
    client.submit(draft)
    governor.finish(task)

    stranger.drop(task, objects=(made,))
    client.drop(TaskId(pack(draft.session, 77)), objects=(ObjectId(pack(99, 1)),))
    assert task in world.state.graph.tasks

    client.drop(task, objects=(made,))
    client.drop(task, objects=(made,))
    refusal = world.answers[client.fetch(made)]
    assert isinstance(refusal, Refuse)
    assert "nobody had a handle of it any more" in str(refusal.reason)
