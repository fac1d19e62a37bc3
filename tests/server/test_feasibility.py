"""Tasks that no governor could ever run never wait silently."""

from __future__ import annotations

from attrs import evolve

from rain.base.constraints import Constraints
from rain.base.failures import OnFailure, SessionFailure
from rain.base.resources import Resources
from rain.base.states import TaskRow
from rain.server.core.messages import Answered, Refuse
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.world import World, new_world


def give_grace(world: World, seconds: float) -> None:
    """Lets time pass, in one turn."""
    world.turn(after=seconds)


def test_a_task_that_fits_no_governor_is_told_about_and_fails_after_the_grace_time() -> None:
    # given
    world = new_world()
    world.governor(2)
    client = world.client()
    draft = client.session()
    task, _ = draft.task(cpus=4)
    other = client.session()
    # when
    client.submit(draft)
    wait = client.wait(draft.session, task)
    # then
    (notice,) = world.notices
    assert notice.session == draft.session
    assert "needs cpus=4, which the only governor does not have (cpus=2)" in notice.text
    # when
    give_grace(world, world.state.settings.infeasible_grace)
    # then
    refusal = world.answers[wait]
    assert isinstance(refusal, Refuse)
    assert isinstance(refusal.reason, SessionFailure)
    assert refusal.reason.task == task
    assert "cannot run" in refusal.reason.message
    assert not world.state.infeasible.deadlines
    assert world.state.graph.sessions[other.session].failure is None


def test_without_a_grace_time_a_task_that_fits_no_governor_fails_at_once() -> None:
    # given
    world = new_world(settings=ReactorSettings(debug=True, infeasible_grace=0.0))
    world.governor(2)
    client = world.client()
    draft = client.session()
    task, _ = draft.task(cpus=4)
    # when
    client.submit(draft)
    wait = client.wait(draft.session, task)
    # then: the failure says it, and nothing else
    assert world.notices == []
    refusal = world.answers[wait]
    assert isinstance(refusal, Refuse)
    assert isinstance(refusal.reason, SessionFailure)
    assert refusal.reason.message.endswith("which the only governor does not have (cpus=2)")


def test_a_governor_that_fits_and_joins_within_the_grace_time_gets_the_task() -> None:
    # given
    world = new_world()
    world.governor(2)
    client = world.client()
    draft = client.session()
    task, _ = draft.task(cpus=1, gpus=1)
    client.submit(draft)
    assert world.task(task).row is TaskRow.READY
    # when
    fitting = world.governor(1, gpus=2)
    give_grace(world, world.state.settings.infeasible_grace)
    # then
    assert task in fitting.tasks
    assert not world.state.infeasible.deadlines


def test_a_governor_that_does_not_fit_gives_no_new_grace_time() -> None:
    # given
    world = new_world()
    world.governor(1)
    client = world.client()
    draft = client.session()
    task, _ = draft.task(cpus=9)
    client.submit(draft)
    give_grace(world, world.state.settings.infeasible_grace - 3)
    # when
    world.governor(2)
    give_grace(world, 5)
    # then
    assert len(world.notices) == 1
    failure = world.state.graph.sessions[draft.session].failure
    assert failure is not None
    assert failure.task == task


def test_without_any_governor_tasks_wait_for_the_first_one() -> None:
    # given
    world = new_world()
    client = world.client()
    draft = client.session()
    task, _ = draft.task(cpus=2)
    client.submit(draft)
    give_grace(world, 1000)
    assert not world.notices
    # when
    only = world.governor(2)
    # then
    assert task in only.tasks


def test_the_clock_stops_when_the_last_governor_leaves() -> None:
    # given
    world = new_world()
    small = world.governor(1)
    client = world.client()
    draft = client.session()
    task, _ = draft.task(cpus=2)
    client.submit(draft)
    # when
    small.leave()
    give_grace(world, 1000)
    # then
    assert world.task(task).row is TaskRow.READY
    assert not world.state.infeasible.deadlines


def test_a_session_that_ends_is_not_given_up_any_more() -> None:
    # given
    world = new_world()
    world.governor(1)
    client = world.client()
    draft = client.session()
    draft.task(cpus=2)
    client.submit(draft)
    # when
    client.close(draft.session)
    # then
    assert not world.state.infeasible.deadlines
    give_grace(world, 1000)


def test_a_kind_whose_tasks_are_all_done_is_not_given_up() -> None:
    # given
    world = new_world()
    able = world.governor(2)
    client = world.client()
    draft = client.session()
    task, _ = draft.task(cpus=2, keep=True)
    client.submit(draft)
    able.finish(task, data=b"x")
    wait = client.wait(draft.session, task)
    assert isinstance(world.answers[wait], Answered)
    # when
    able.leave()
    world.governor(1)
    give_grace(world, 1000)
    # then
    assert world.state.graph.sessions[draft.session].failure is None


def test_many_tasks_that_fit_nowhere_are_given_up_some_in_each_turn() -> None:
    # given
    world = new_world(settings=evolve(new_world().state.settings, given_up_at_once=2))
    world.governor(2)
    client = world.client()
    draft = client.session(on_failure=OnFailure.CONTINUE)
    tasks = [draft.task(cpus=4)[0] for _ in range(5)]
    client.submit(draft)
    wait = client.wait(draft.session, mode="session")
    give_grace(world, world.state.settings.infeasible_grace)
    # when, then
    assert [world.task(task).is_done for task in tasks] == [True, True, False, False, False]
    assert world.reactor.next_time() == world.now
    world.turn()
    assert [world.task(task).is_done for task in tasks] == [True, True, True, True, False]
    assert wait not in world.answers
    world.turn()
    assert isinstance(world.answers[wait], Refuse)
    assert world.reactor.next_time() > world.now


def test_a_session_that_ends_while_its_tasks_are_given_up_is_left_alone() -> None:
    # given
    world = new_world(settings=evolve(new_world().state.settings, given_up_at_once=1))
    world.governor(2)
    client = world.client()
    draft = client.session(on_failure=OnFailure.CONTINUE)
    for _ in range(3):
        draft.task(cpus=4)
    client.submit(draft)
    give_grace(world, world.state.settings.infeasible_grace)
    # when
    client.close(draft.session)
    for _ in range(3):
        world.turn()
    # then
    assert not world.state.infeasible.hopeless
    assert not world.state.infeasible.deadlines


def test_a_task_of_a_kind_that_was_given_up_before_gets_a_grace_time_too() -> None:
    # given
    world = new_world()
    world.governor(2)
    client = world.client()
    draft = client.session(on_failure=OnFailure.CONTINUE)
    draft.task(cpus=4)
    client.submit(draft)
    give_grace(world, world.state.settings.infeasible_grace)
    # when: a governor that does not fit changes nothing
    world.governor(1)
    assert len(world.notices) == 1
    again, _ = draft.task(cpus=4)
    client.submit(draft)
    # then
    assert len(world.notices) == 2
    give_grace(world, world.state.settings.infeasible_grace)
    assert world.task(again).is_done


def test_a_task_whose_governor_is_promised_waits_until_the_promise_is_gone() -> None:
    # given
    world = new_world()
    world.governor(2)
    starter, client = world.client(), world.client()
    draft = client.session()
    draft.task(cpus=1, gpus=1)
    client.submit(draft)
    # when
    starter.promise(Resources.of({"cpus": 4, "gpus": 2}))
    give_grace(world, 10 * world.state.settings.infeasible_grace)
    # then
    assert not world.state.infeasible.deadlines
    assert world.state.graph.sessions[draft.session].failure is None
    # when
    starter.promise(Resources(4))
    give_grace(world, world.state.settings.infeasible_grace)
    # then
    assert world.state.graph.sessions[draft.session].failure is not None


def test_a_promise_ends_with_its_client() -> None:
    # given
    world = new_world()
    world.governor(2)
    starter, client = world.client(), world.client()
    starter.promise(Resources(8))
    draft = client.session()
    draft.task(cpus=4)
    client.submit(draft)
    assert not world.state.infeasible.deadlines
    # when
    starter.leave()
    # then
    assert world.state.infeasible.deadlines


def test_nobody_can_promise_a_governor_with_the_address_that_a_task_is_pinned_to() -> None:
    world = new_world()
    world.governor(2)
    starter, client = world.client(), world.client()
    starter.promise(Resources(8))
    draft = client.session()
    draft.task(constraints=Constraints(pin=("elsewhere",)))
    client.submit(draft)

    assert world.state.infeasible.deadlines
