"""Tasks that no governor could ever run never wait silently."""

from __future__ import annotations

from rain.base.failures import SessionFailure
from rain.base.states import TaskRow
from rain.server import feasibility
from rain.server.messages import AnswerWait, Refuse
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
    assert "needs cpus=4, which none of the 1 governors has (cpus=2)" in notice.text
    # when
    give_grace(world, world.state.settings.infeasible_grace)
    # then
    refusal = world.answers[wait]
    assert isinstance(refusal, Refuse)
    assert isinstance(refusal.reason, SessionFailure)
    assert refusal.reason.task == task
    assert "cannot run" in refusal.reason.message
    assert not world.state.infeasible
    assert world.state.graph.sessions[other.session].failure is None


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
    assert not world.state.infeasible


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
    assert not world.state.infeasible


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
    assert not world.state.infeasible
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
    assert isinstance(world.answers[wait], AnswerWait)
    # when
    able.leave()
    world.governor(1)
    give_grace(world, 1000)
    # then
    assert world.state.graph.sessions[draft.session].failure is None


def test_whoever_looks_is_told_why_a_session_is_held_up_and_for_how_long_yet() -> None:
    # given
    world = new_world()
    world.governor(2)
    client = world.client()
    draft = client.session()
    draft.task(cpus=4)
    other = client.session()
    client.submit(draft)
    state = world.state
    sessions = state.graph.sessions
    # when
    told = feasibility.why_held_up(state, sessions[draft.session], world.now + 10)
    # then
    assert told == (
        "py/ 'work' needs cpus=4, which none of the 1 governors has (cpus=2);"
        " given up in 20 seconds unless such a governor joins"
    )
    assert not feasibility.why_held_up(state, sessions[other.session], world.now)
    # when
    world.governor(4)
    # then
    assert not feasibility.why_held_up(state, sessions[draft.session], world.now)
