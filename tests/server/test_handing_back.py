"""Tasks that a governor cannot start go elsewhere, and that governor rests."""

from __future__ import annotations

import pytest
from attrs import evolve

from rain.base.failures import SessionFailure
from rain.base.ids import TaskId
from rain.base.resources import NO_ROOM
from rain.base.runs import RunCause, RunState
from rain.base.states import TaskRow, TaskState
from rain.base.wire.update import Update
from rain.scheduler.shipped import SCHEDULERS
from rain.server.core.messages import Effect, GovernorRests, Refuse
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.fake_governor import FakeGovernor
from tests.support.scenes import Scene, scene, scene_with

WHY = "executor 7 cannot be started: Too many open files"


def hand_back(governor: FakeGovernor, *tasks: TaskId) -> list[Effect]:
    """The governor says that it could not start these."""
    update = Update()
    for task in tasks:
        update.failed += governor.failed(task, WHY, RunCause.NOT_STARTED).failed
    return governor.send(update)


def rests(effects: list[Effect]) -> list[GovernorRests]:
    return [effect for effect in effects if isinstance(effect, GovernorRests)]


def some_tasks(s: Scene, count: int) -> list[TaskId]:
    tasks = [s.draft.task()[0] for _ in range(count)]
    s.submit()
    return tasks


@pytest.mark.parametrize("scheduler", list(SCHEDULERS))
def test_all_tasks_finish_on_the_healthy_governor_though_each_has_one_try(scheduler: str) -> None:
    # given: two governors, of which the first can start nothing
    s = scene_with(SCHEDULERS[scheduler](), 1, 1)
    tasks = some_tasks(s, 40)
    sick, healthy = s.governors

    # when
    for _ in range(60):
        if sick.tasks:
            hand_back(sick, *sick.tasks)
        elif healthy.tasks:
            healthy.finish(next(iter(healthy.tasks)), data=b"")
        else:
            s.world.turn()

    # then
    assert {s.world.task(task).state for task in tasks} == {TaskState.FINISHED}
    assert not any(
        run.state is RunState.FAILED for task in tasks for run in s.world.task(task).runs
    )
    assert s.world.scheduler_failures == []


def test_nothing_is_planned_on_a_governor_that_rests_and_people_are_told() -> None:
    # given: of three tasks one is told and two are planned
    s = scene(1, 1)
    tasks = some_tasks(s, 2)
    s.assign(*tasks, to=0)

    # when
    (told,) = rests(hand_back(s.governors[0], tasks[0]))

    # then: what runs there goes on
    assert told.governor == s.governors[0].address
    assert told.why == WHY
    assert s.world.task(tasks[0]).row is TaskRow.READY
    assert s.world.task(tasks[1]).row is TaskRow.ASSIGNED
    assert s.node(0).resources == NO_ROOM
    assert tasks[0] in [task.id for task in s.scripted.heard[-1].unplanned]


def test_rests_grow_until_the_governor_has_worked_for_long() -> None:
    # given
    s = scene(1)
    (task,) = some_tasks(s, 1)
    lengths: list[float] = []

    # when: each rest ends by itself, and the next task is handed back, too
    for _ in range(9):
        s.assign(task)
        (told,) = rests(hand_back(s.governors[0], task))
        lengths.append(told.seconds)
        assert s.node(0).rests
        until = s.world.state.back_off.until[s.node(0)]
        assert s.world.reactor.next_time() <= until
        s.world.turn(after=until - s.world.now)
        assert not s.node(0).rests

    # then
    assert lengths == [2.0, 3.0, 5.0, 9.0, 17.0, 33.0, 61.0, 61.0, 61.0]
    s.world.turn(after=10_000.0)
    s.assign(task)
    (told,) = rests(hand_back(s.governors[0], task))
    assert told.seconds == 2.0


def test_a_task_that_rests_all_governors_waits_and_is_not_infeasible() -> None:
    s = scene(1)
    tasks = some_tasks(s, 2)
    s.assign(*tasks)
    hand_back(s.governors[0], *tasks)
    assert not s.world.state.infeasible.deadlines
    assert not s.world.notices


def test_what_no_governor_can_ever_start_fails_at_last() -> None:
    # given
    settings = ReactorSettings(debug=True, governor_silence=1e9, hand_backs=3)
    s = scene(1, settings=settings)
    (task,) = some_tasks(s, 1)
    wait = s.client.wait(s.draft.session, task)

    # when
    for _ in range(3):
        s.assign(task)
        hand_back(s.governors[0], task)
        s.world.turn(after=100.0)

    # then
    answer = s.world.answers[wait]
    assert isinstance(answer, Refuse)
    assert isinstance(answer.reason, SessionFailure)
    assert (
        f"no governor could start the task, in 3 tries; the last one: {WHY}"
        in answer.reason.message
    )
    assert not s.world.state.not_started


def test_a_governor_that_leaves_while_it_rests_is_forgotten() -> None:
    s = scene(1, 1)
    (task,) = some_tasks(s, 1)
    s.assign(task)
    hand_back(s.governors[0], task)
    s.governors[0].leave()
    assert not s.world.state.back_off.until
    assert not s.world.state.back_off.last
    s.run(task, on=1)
    assert s.world.task(task).state is TaskState.FINISHED


def disks(s: Scene, *sizes: int) -> None:
    """How much data the governors may have; they have come without saying so."""
    for governor, size in zip(s.governors, sizes, strict=True):
        governor.node.disk = size


def too_large(governor: FakeGovernor, task: TaskId, size: int) -> list[Effect]:
    """The governor says that what the task makes is larger than its whole disk."""
    update = governor.failed(task, f"it has {size}", RunCause.DISK)
    update.failed = [evolve(update.failed[0], disk=size)]
    return governor.send(update)


def test_what_is_larger_than_every_disk_fails_at_once_whatever_its_tries() -> None:
    # given
    s = scene(1, 1)
    disks(s, 100, 150)
    task, _ = s.draft.task(tries=3)
    s.submit()
    wait = s.client.wait(s.draft.session, task)
    s.assign(task)

    # when
    effects = too_large(s.governors[0], task, 151)

    # then
    assert not rests(effects)
    answer = s.world.answers[wait]
    assert isinstance(answer, Refuse)
    assert isinstance(answer.reason, SessionFailure)
    assert (
        "it has 151; no other governor that it may run on may have more than 150B"
        in answer.reason.message
    )


@pytest.mark.parametrize("scheduler", list(SCHEDULERS))
def test_what_is_too_large_for_some_governors_goes_to_the_largest_and_none_rests(
    scheduler: str,
) -> None:
    # given
    s = scene_with(SCHEDULERS[scheduler](), 1, 1, 1)
    (task,) = some_tasks(s, 1)
    (small,) = [governor for governor in s.governors if governor.tasks]
    middle, large = [governor for governor in s.governors if governor is not small]
    for governor, size in ((small, 100), (middle, 150), (large, 200)):
        governor.node.disk = size

    # when
    effects = too_large(small, task, 120)

    # then
    assert not rests(effects)
    assert task in large.tasks
    assert [run.state for run in s.world.task(task).runs] == [RunState.HANDED_BACK, RunState.TOLD]


def test_a_governor_that_has_not_told_its_disk_may_be_large_enough() -> None:
    s = scene(1, 1)
    disks(s, 100, 0)
    (task,) = some_tasks(s, 1)
    s.assign(task)
    too_large(s.governors[0], task, 1000)
    assert task in s.governors[1].tasks
