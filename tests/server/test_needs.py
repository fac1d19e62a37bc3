"""What memory a task is expected to take: learned of its name, and more after it had too little."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from attrs import evolve

from rain.base.attempts import Attempts
from rain.base.failures import SessionFailure
from rain.base.ids import TaskId
from rain.base.memory import NOTABLE
from rain.base.resources import Resources
from rain.base.runs import RunCause
from rain.graph import needs
from rain.scheduler.shipped import SCHEDULERS
from rain.server.core.messages import Effect, Refuse
from tests.support.fake_client import reports_of
from tests.support.fake_governor import FakeGovernor
from tests.support.scenes import Scene, orders_in, scene, scene_with

MIB = 1024**2
GIB = 1024**3


def finish(governor: FakeGovernor, task: TaskId, peak: int) -> None:
    update = governor.finished(task)
    update.finished.peaks.append(peak)
    governor.send(update)


def run_out(governor: FakeGovernor, task: TaskId, peak: int) -> list[Effect]:
    """The governor has ended the task, which had so much."""
    update = governor.failed(task, "it had too much", RunCause.MEMORY)
    update.failed = [evolve(update.failed[0], peak=peak)]
    return governor.send(update)


def told(effects: Iterable[Effect]) -> list[int]:
    """The needs in the orders of a turn with one governor."""
    (orders,) = orders_in(list(effects)).values()
    return orders.tasks.needs


def memory(s: Scene, *amounts: int) -> None:
    """What the governors have; they have come without any."""
    for governor, amount in zip(s.governors, amounts, strict=True):
        node = governor.node
        node.offered = Resources.of({**node.offered.as_dict(), "memory": amount})
        node.resources = node.offered


def test_a_governor_is_told_what_tasks_of_the_name_have_had() -> None:
    # given
    s = scene(1)
    first, second, third = [s.draft.task()[0] for _ in range(3)]
    s.submit()

    # when
    assert told(s.assign(first)) == []
    finish(s.governors[0], first, 600 * MIB)

    # then
    assert told(s.assign(second)) == [600 * MIB]

    # and what later ones have less of counts little
    finish(s.governors[0], second, 200 * MIB)
    assert told(s.assign(third)) == [550 * MIB]
    assert s.world.task(second).last_run().peak == 200 * MIB


def test_what_every_task_may_have_is_not_told() -> None:
    s = scene(1)
    first, second = [s.draft.task()[0] for _ in range(2)]
    s.submit()
    s.assign(first)
    finish(s.governors[0], first, NOTABLE)
    assert told(s.assign(second)) == []


def test_users_see_how_much_memory_a_run_had() -> None:
    s = scene(1)
    task, _ = s.draft.task(keep=True)
    s.submit()
    s.assign(task)
    finish(s.governors[0], task, 77 * MIB)
    ((report,), _) = reports_of(s.client.states(task))
    assert [run.peak for run in report.runs] == [77 * MIB]


def test_a_run_that_was_ended_for_want_of_memory_uses_up_no_try_and_the_next_one_gets_more() -> (
    None
):
    # given
    s = scene(1)
    memory(s, 4 * GIB)
    task, _ = s.draft.task(keep=True, tries=1)
    s.submit()
    s.assign(task)

    # then
    assert told(run_out(s.governors[0], task, 500 * MIB)) == [1000 * MIB]
    assert told(run_out(s.governors[0], task, 900 * MIB)) == [1800 * MIB]


@pytest.mark.parametrize(("memory_tries", "runs"), [(1, 1), (2, 2), (0, 4)])
def test_it_has_failed_when_its_memory_tries_are_used_up(memory_tries: int, runs: int) -> None:
    s = scene(1)
    memory(s, 64 * GIB)
    task, _ = s.draft.task(keep=True, tries=Attempts(5, memory_tries=memory_tries))
    s.submit()
    wait = s.client.wait(s.draft.session, task)
    for _ in range(runs):
        assert wait not in s.world.answers
        s.assign(task)
        run_out(s.governors[0], task, 500 * MIB)
    assert isinstance(s.world.answers[wait], Refuse)


def test_what_no_governor_has_room_for_fails_at_once_with_the_numbers() -> None:
    # given
    s = scene(1, 1)
    memory(s, 1 * GIB, 2 * GIB)
    task, _ = s.draft.task(keep=True)
    s.submit()
    wait = s.client.wait(s.draft.session, task)

    # when: the larger one may have room for what had all of the smaller one
    s.assign(task)
    run_out(s.governors[0], task, 1000 * MIB)
    assert wait not in s.world.answers
    s.assign(task, to=1)
    run_out(s.governors[1], task, 1990 * MIB)

    # then
    refusal = s.world.answers[wait]
    assert isinstance(refusal, Refuse)
    assert isinstance(refusal.reason, SessionFailure)
    assert refusal.reason.message == "it had too much; no governor has more than 2GiB of memory"
    assert [run.peak for run in refusal.reason.runs] == [1000 * MIB, 1990 * MIB]


@pytest.mark.parametrize("scheduler", list(SCHEDULERS))
def test_the_next_run_is_where_there_is_enough_for_it(scheduler: str) -> None:
    # given
    s = scene_with(SCHEDULERS[scheduler](), 2, 2, 2)
    memory(s, 1 * GIB, 1 * GIB, 8 * GIB)
    task, _ = s.draft.task()
    s.submit()
    (where,) = [found for found in s.governors if task in found.tasks]

    # when
    if where is s.governors[2]:
        memory(s, 1 * GIB, 8 * GIB, 1 * GIB)
        there = s.governors[1]
    else:
        there = s.governors[2]
    run_out(where, task, 900 * MIB)

    # then
    assert task in there.tasks


def test_tasks_inside_of_tasks_wait_for_no_memory() -> None:
    s = scene(1)
    task, _ = s.draft.task()
    s.submit()
    node = s.world.task(task)
    node.session.learned[node.kind.id].note_peak(GIB)
    assert needs.needed(node) == GIB
    node.kind = evolve(node.kind, depth=1)
    assert needs.needed(node) == 0


def test_what_declares_its_memory_waits_for_no_more_than_that() -> None:
    s = scene(1)
    task, _ = s.draft.task()
    s.submit()
    node = s.world.task(task)
    node.kind = evolve(node.kind, resources=Resources.of({"memory": GIB}))
    node.session.learned[node.kind.id].note_peak(2 * GIB)
    assert needs.needed(node) == 0
