"""Tasks that are over in no time: a few governors get many of them rather than each a few."""

from __future__ import annotations

from rain.base.ids import TaskId
from rain.scheduler.horizon import HorizonScheduler
from rain.scheduler.toolbox.loads import AT_LEAST, NO_TIME, SURE
from rain.server.messages import GovernorUpdated
from rain.server.state import ReactorSettings
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
    return sorted((len(governor.tasks) for governor in s.governors), reverse=True)


def test_what_is_over_in_no_time_goes_in_large_blocks() -> None:
    s = learned(0.000001)
    submit(s, 2 * AT_LEAST)
    assert shares(s)[:3] == [AT_LEAST, AT_LEAST, 0]


def test_a_block_holds_no_more_work_than_is_over_in_no_time() -> None:
    s = learned(NO_TIME / 16.5)
    submit(s, 32)
    assert shares(s)[:3] == [16, 16, 0]


def test_what_takes_longer_is_shared_out_evenly() -> None:
    s = learned(NO_TIME / 2)
    submit(s, 2 * AT_LEAST)
    assert set(shares(s)) == {2 * AT_LEAST // GOVERNORS}


def test_as_long_as_few_have_shown_how_long_they_take_all_are_shared_out_evenly() -> None:
    s = learned(0.000001, samples=SURE - 1)
    submit(s, 2 * AT_LEAST)
    assert set(shares(s)) == {2 * AT_LEAST // GOVERNORS}


def test_governors_without_work_come_first() -> None:
    # given
    s = learned(0.000001)
    submit(s, AT_LEAST)
    # when
    for _ in range(GOVERNORS - 1):
        submit(s, AT_LEAST)
    # then
    assert set(shares(s)) == {AT_LEAST}


def test_a_block_is_not_taken_apart_for_governors_without_work() -> None:
    s = learned(0.000001)
    submit(s, AT_LEAST)
    s.world.turn(after=2.0)
    assert shares(s)[:2] == [AT_LEAST, 0]


def test_a_block_is_shared_when_one_of_its_tasks_still_runs() -> None:
    # given: most tasks of this name are over in no time
    s = learned(0.000001)
    tasks = submit(s, AT_LEAST)
    (busy,) = [governor for governor in s.governors if governor.tasks]
    # when: this one is not
    busy.start(tasks[0])
    # then: those behind it do not wait for it
    assert busy.tasks.keys() < set(tasks)
    assert shares(s)[0] == AT_LEAST // 2
    assert sum(shares(s)) == AT_LEAST
