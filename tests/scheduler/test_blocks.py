"""Tasks that are over in no time: a few governors get many of them rather than each a few."""

from __future__ import annotations

import pytest

from rain.base.ids import TaskId
from rain.scheduler.horizon import HorizonScheduler
from rain.scheduler.toolbox.loads import LARGEST, MESSAGES, NO_TIME, SURE
from rain.server.core.messages import GovernorUpdated
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.scenes import Scene, scene_with

UNWATCHED = ReactorSettings(debug=False, governor_silence=1e9)
"""Looking at the whole graph after every turn takes long when it is large."""

GOVERNORS = 8


def learned(seconds: float, samples: int = GOVERNORS * SURE) -> Scene:
    """Governors that have run tasks of one name, each in so long."""
    s = scene_with(HorizonScheduler(), *[2] * GOVERNORS, settings=UNWATCHED)
    submit(s, samples)
    while any(governor.tasks for governor in s.governors):
        for governor in s.governors:
            update = governor.finished(*governor.tasks)
            update.finished.durations = [seconds] * len(update.finished.ids)
            s.world.turn(GovernorUpdated(governor.id, update))
    assert all(task.is_done for task in s.world.state.graph.tasks.values())
    return s


def submit(s: Scene, count: int) -> list[TaskId]:
    tasks = [s.draft.task()[0] for _ in range(count)]
    s.submit()
    return tasks


def shares(s: Scene) -> list[int]:
    """How many tasks the governors have, the most first."""
    return sorted((len(governor.node.scheduled) for governor in s.governors), reverse=True)


def test_the_more_there_are_that_are_over_in_no_time_the_larger_are_the_blocks() -> None:
    s = learned(0.000001)
    submit(s, 64)
    few = shares(s)
    for governor in s.governors:
        governor.finish(*governor.tasks)
    submit(s, 256)
    many = shares(s)
    assert (few[0], few[-1]) == (32, 0)
    assert (many[0], many[-1]) == (64, 0)


def test_a_block_is_never_larger_than_what_is_over_in_no_time() -> None:
    s = learned(0.000001)
    submit(s, 20_000)
    assert shares(s)[0] == LARGEST


def test_messages_and_the_last_block_take_as_long_as_each_other() -> None:
    s = learned(0.000001)
    submit(s, 1000)
    messages = sum(share > 0 for share in shares(s))
    assert messages * MESSAGES == pytest.approx(shares(s)[0] * NO_TIME / LARGEST, rel=0.25)


def test_what_takes_longer_is_shared_out_evenly() -> None:
    s = learned(NO_TIME / 2)
    submit(s, 256)
    assert set(shares(s)) == {256 // GOVERNORS}


def test_as_long_as_few_have_shown_how_long_they_take_all_are_shared_out_evenly() -> None:
    s = learned(0.000001, samples=SURE - 1)
    submit(s, 256)
    assert set(shares(s)) == {256 // GOVERNORS}


def test_governors_without_work_come_first() -> None:
    # given
    s = learned(0.000001)
    submit(s, 64)
    assert shares(s)[:3] == [32, 32, 0]
    # when
    for _ in range(3):
        submit(s, 64)
    # then
    assert shares(s) == [32] * 8


def test_a_block_is_not_taken_apart_for_governors_without_work() -> None:
    s = learned(0.000001)
    submit(s, 64)
    s.world.turn(after=2.0)
    assert shares(s)[:3] == [32, 32, 0]


def test_a_block_is_shared_when_one_of_its_tasks_still_runs() -> None:
    # given: most tasks of this name are over in no time
    s = learned(0.000001)
    tasks = submit(s, 16)
    (busy,) = [governor for governor in s.governors if tasks[0] in governor.tasks]
    # when: this one is not
    busy.start(tasks[0])
    busy.return_asked()
    # then: most of those behind it do not wait for it
    assert len(busy.tasks) <= 3
    assert sum(shares(s)) == 16
