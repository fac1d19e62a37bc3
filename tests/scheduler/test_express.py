"""The express lane: what is tiny is planned at first sight, and nobody waits until it is known."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rain.base.ids import GovernorId, TaskId
from rain.base.wire.update import FinishedTasks, Update
from rain.scheduler.api import Scheduler
from rain.scheduler.horizon import HorizonScheduler
from rain.scheduler.rain import RainScheduler
from rain.scheduler.toolbox.express import AT_ONCE, FIRST, FOR_EACH, LIGHT
from rain.scheduler.toolbox.loads import BLOCK
from rain.server.core.messages import (
    Effect,
    GovernorEvent,
    GovernorUpdated,
    OrderGovernor,
    TurnInput,
)
from rain.server.core.reactor_settings import ReactorSettings
from tests.scheduler.test_horizon import planned
from tests.support.fake_client import FakeClient
from tests.support.scenes import Scene, scene_with
from tests.support.submissions import Draft, timed

TASKS = 10_000
TURN = 0.0002
"""Seconds from one turn to the next: less than what the scheduler waits even after submits."""


def took(runs: dict[TaskId, int], seconds: float) -> Update:
    """All of them have ended, each after so long."""
    count = len(runs)
    return Update(
        finished=FinishedTasks(
            list(runs), list(runs.values()), [seconds] * count, [1] * count, [2] * count,
            [b"ok"] * count,
        )
    )  # fmt: skip


UNWATCHED = ReactorSettings(debug=False, governor_silence=1e9)
"""Looking at the whole graph after every turn takes long when it is large."""


class Flood:
    """Governors that run whatever they have, all at once, and what the server does about it."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scene = scene_with(scheduler, 2, 2, settings=UNWATCHED)
        self.has: dict[GovernorId, dict[TaskId, int]] = {}
        self.done = self.runs = self.dry = 0

    def submit_and_run(self, tasks: int, seconds: float) -> None:
        for _ in range(tasks):
            self.scene.draft.task()
        self.scene.submit()
        self._note(self.scene.world.effects[-1])
        while self.done < tasks:
            updates: list[GovernorEvent] = []
            for governor, runs in self.has.items():
                if not runs and self.done + 2 * FIRST < tasks:
                    self.dry += 1
                half = dict(list(runs.items())[: (len(runs) + 1) // 2])
                for task in half:
                    del runs[task]
                if half:
                    self.done += len(half)
                    updates.append(GovernorUpdated(governor, took(half, seconds)))
            self._turn(updates)

    def _turn(self, updates: list[GovernorEvent]) -> None:
        world = self.scene.world
        world.now += TURN
        output = world.reactor.turn(TurnInput(world.now, updates))
        self.runs += output.scheduled
        self._note(output.effects)

    def _note(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, OrderGovernor):
                tasks = effect.orders.tasks
                runs = self.has.setdefault(effect.governor, {})
                runs.update(zip(tasks.ids, tasks.runs, strict=True))


def tiny(draft: Draft, count: int) -> list[TaskId]:
    """Tasks of one function, of which it is known that they take next to nothing."""
    first, _ = timed(draft, 0.0001)
    ids = [first, *(draft.task()[0] for _ in range(count - 1))]
    kinds = draft.submission.tasks.kinds
    kinds[-count:] = [kinds[-count]] * count
    return ids


def finish_some(s: Scene, seconds: float) -> None:
    """Every governor has run half of what it was told."""
    for governor in s.governors:
        half = dict(list(governor.tasks.items())[: (len(governor.tasks) + 1) // 2])
        update = governor.finished(*half)
        update.finished.durations = [seconds] * len(half)
        s.world.turn(GovernorUpdated(governor.id, update))


def flood(scheduler: Scheduler) -> Flood:
    made = Flood(scheduler)
    made.submit_and_run(TASKS, 0.00002)
    return made


def test_ten_thousand_tasks_of_unknown_durations_leave_no_governor_idle() -> None:
    # when
    horizon, rain = flood(HorizonScheduler()), flood(RainScheduler())
    # then: as many runs more as it takes, one that has heard that they are tiny, and rounding
    assert horizon.dry == rain.dry == 0
    assert horizon.runs <= rain.runs + 10_000 // AT_ONCE + 3


def test_each_cpu_gets_enough_tasks_of_an_unknown_function_to_begin_with_and_the_rest_is_kept() -> (
    None
):
    s = scene_with(HorizonScheduler(), 2, 2)
    for _ in range(3000):
        s.draft.task()
    s.submit()
    assert planned(s) == 4 * FIRST


def test_as_long_as_nothing_is_known_and_nowhere_is_room_nothing_more_is_planned() -> None:
    s = scene_with(HorizonScheduler(), 1)
    for tasks in (FIRST + 10, 10):
        for _ in range(tasks):
            s.draft.task()
        s.submit()
        assert planned(s) == FIRST
    assert not s.world.state.status.faults


def test_when_the_first_have_shown_that_they_are_tiny_all_others_follow() -> None:
    # given
    s = scene_with(HorizonScheduler(), 2, 2)
    for _ in range(AT_ONCE):
        s.draft.task()
    s.submit()
    # when
    finish_some(s, 0.0001)
    # then
    assert all(task.is_done or task.scheduled for task in s.world.state.graph.tasks.values())


def test_each_of_many_governors_gets_a_limited_number_of_tasks_in_one_run() -> None:
    # given: many governors, so that a run has only a few tasks for each
    governors = 2 * AT_ONCE // FOR_EACH
    s = scene_with(HorizonScheduler(), *[1] * governors, settings=UNWATCHED)
    tiny(s.draft, 3 * AT_ONCE)
    # when
    s.submit()
    # then
    assert planned(s) == FOR_EACH * governors == 2 * AT_ONCE
    assert {len(governor.scheduled) for governor in s.world.state.graph.governors.values()} == {
        FOR_EACH
    }


def test_one_run_plans_a_limited_number_of_tasks_and_the_next_ones_follow_without_any_news() -> (
    None
):
    # given: many tasks of a known function, and nobody who would finish one
    s = scene_with(HorizonScheduler(), 3, 3, settings=UNWATCHED)
    tiny(s.draft, 2 * AT_ONCE + 100)
    s.submit()
    counts = [0, planned(s)]
    # when
    while counts[-1] < 2 * AT_ONCE + 100:
        s.world.turn(after=0.001)
        counts.append(planned(s))
        assert len(counts) < 20
    # then: each governor has its share, the first tasks before the last
    assert max(b - a for a, b in pairwise(counts)) <= AT_ONCE
    priorities = [task.priority for task in s.world.state.graph.tasks.values()]
    assert priorities == sorted(priorities, reverse=True)
    loads = [len(s.node(index).scheduled) for index in range(2)]
    assert max(loads) - min(loads) <= 1


def test_neighbours_with_a_consumer_in_common_mostly_go_to_one_governor() -> None:
    # given: a tree over tasks of a known function, on governors of which each gets its share
    s = scene_with(HorizonScheduler(), 2, 2, 2, 2, settings=UNWATCHED)
    tiny(s.draft, 1024)
    leaves = s.draft.submission.tasks.outputs[-1024:]
    pairs = [s.draft.task(*leaves[i : i + 2])[0] for i in range(0, 1024, 2)]
    # when
    s.submit()
    # then
    apart = [
        pair for pair in pairs if len({one.scheduled for one in s.world.task(pair).inputs}) > 1
    ]
    assert len(apart) <= len(pairs) // 32
    loads = [len(s.node(index).scheduled) for index in range(4)]
    assert max(loads) - min(loads) <= BLOCK


def test_a_small_submission_does_not_wait_until_a_large_one_is_planned() -> None:
    # given
    s = scene_with(HorizonScheduler(), 3, 3, settings=UNWATCHED)
    other = s.world.client()
    draft = other.session()
    tiny(s.draft, 3 * AT_ONCE)
    s.submit()
    # when: somebody else comes while most of it is not planned
    few = tiny(draft, 10)
    other.submit(draft)
    # then
    assert all(s.world.task(task).scheduled is not None for task in few)
    assert planned(s) < 3 * AT_ONCE


def test_when_the_first_have_shown_that_they_are_long_the_others_wait_for_their_turn() -> None:
    # given
    s = scene_with(HorizonScheduler(), 2, 2)
    for _ in range(3000):
        s.draft.task()
    s.submit()
    before = planned(s)
    # when
    finish_some(s, 20.0)
    # then
    assert planned(s) < before


@pytest.mark.parametrize("cold", [0.05, 0.5])
def test_a_slow_start_of_the_first_tasks_does_not_make_the_others_large(cold: float) -> None:
    # given: executors that start take long for their first tasks
    s = scene_with(HorizonScheduler(), 2)
    for _ in range(3000):
        s.draft.task()
    s.submit()
    (governor,) = s.governors
    first = list(governor.tasks)[:2]
    update = governor.finished(*first)
    update.finished.durations = [cold, cold]
    s.world.turn(GovernorUpdated(governor.id, update))
    # when
    for _ in range(10):
        finish_some(s, 0.00002)
    # then
    assert all(task.is_done or task.scheduled for task in s.world.state.graph.tasks.values())


def test_a_task_that_reads_much_is_not_sent_to_and_fro_while_its_duration_is_doubtful() -> None:
    # given: its function took so long that it could have been the start of an executor
    s = scene_with(HorizonScheduler(), 2)
    large, made = timed(s.draft, 20.0)
    s.draft.submission.kept.append(made)
    earlier, _ = s.draft.task()
    s.submit()
    (governor,) = s.governors
    update = governor.finished(earlier, size=1)
    update.finished.durations = [0.05]
    s.world.turn(GovernorUpdated(governor.id, update))
    governor.finish(large, size=50 * LIGHT)
    # when
    reader, _ = s.draft.task(made)
    s.submit()
    # then
    assert s.world.task(reader).scheduled is not None


def submit_timed(s: Scene, client: FakeClient, tasks: int, seconds: float) -> list[TaskId]:
    draft = client.session()
    made = [timed(draft, seconds)[0] for _ in range(tasks)]
    client.submit(draft)
    return made


def test_a_session_with_few_tasks_does_not_wait_for_thousands_of_another_one() -> None:
    # given: much that is tiny
    s = scene_with(HorizonScheduler(), 1)
    many = submit_timed(s, s.client, 2000, 0.004)
    # when
    (small,) = submit_timed(s, s.client, 1, 0.004)
    # then
    task, last = s.world.task(small), s.world.task(many[-1])
    assert last.scheduled is not None
    assert task.scheduled is not None
    assert task.priority > last.priority


def test_a_merge_of_tiny_tasks_is_planned_with_them() -> None:
    s = scene_with(HorizonScheduler(), 2, 2)
    parts = [timed(s.draft, 0.001)[1] for _ in range(500)]
    merge, _ = timed(s.draft, 30.0, *parts)
    s.submit()
    assert s.world.task(merge).scheduled is not None


def test_after_a_run_that_another_scheduler_has_planned_it_goes_on() -> None:
    # given: it is interrupted, so that another scheduler plans
    s = scene_with(HorizonScheduler(), 1)
    tasks = [timed(s.draft, seconds)[0] for seconds in (0.001, 20.0, 20.0)]
    s.world.interrupt_after = 0
    s.submit()
    assert all(s.world.task(task).scheduled is not None for task in tasks)
    # when: it is back before they end
    s.world.turn(after=100.0)
    for _ in tasks:
        s.governors[0].finish(next(iter(s.governors[0].tasks)))
    # then
    assert all(s.world.task(task).is_done for task in tasks)
    assert len(s.world.scheduler_failures) == 1  # that it was interrupted
