"""Work stealing: data decides alone, and who runs out of work takes it from others."""

from __future__ import annotations

from rain.base.ids import ObjectId
from rain.scheduler.stealing import StealingScheduler
from tests.support.scenes import Scene, scene_with
from tests.support.submissions import timed

LARGE = 1_000_000


def holding() -> tuple[Scene, ObjectId]:
    """A scene whose only governor holds a large object."""
    s = scene_with(StealingScheduler(), 1)
    task, (made,) = s.draft.task(keep=True)
    s.submit()
    s.governors[0].finish(task, size=LARGE)
    return s, made


def test_a_task_goes_where_its_data_is_however_busy_that_governor_is() -> None:
    # given: another governor, which is busy, too
    s, made = holding()
    other = s.world.governor(cpus=1)
    alone = [s.draft.task()[0] for _ in range(4)]
    s.submit()
    assert len(other.node.scheduled) == 2
    # when
    readers = [s.draft.task(made)[0] for _ in range(20)]
    s.submit()
    # then
    assert {s.world.task(task).scheduled for task in readers} == {s.node(0)}
    assert len(other.node.scheduled) == len(alone) - 2


def test_tasks_without_data_are_dealt_out_in_turns() -> None:
    s = scene_with(StealingScheduler(), 4, 4, 4)
    for _ in range(9):
        s.draft.task()
    s.submit()
    assert [len(governor.node.scheduled) for governor in s.governors] == [3, 3, 3]


def test_an_idle_governor_takes_tasks_from_others_even_away_from_their_data() -> None:
    s, made = holding()
    for _ in range(20):
        s.draft.task(made)
    s.submit()
    thief = s.world.governor(cpus=1)
    s.world.turn()
    s.governors[0].return_asked()
    assert len(thief.node.scheduled) == 10
    assert len(s.node(0).scheduled) == 10


def test_only_ready_tasks_are_planned_the_longest_chain_first() -> None:
    s = scene_with(StealingScheduler(), 1)
    alone, _ = timed(s.draft, 3.0)
    begin, made = timed(s.draft, 1.0)
    follow, _ = timed(s.draft, 9.0, made)
    s.submit()
    assert s.world.task(begin).priority > s.world.task(alone).priority
    assert s.world.task(follow).scheduled is None
    s.governors[0].finish(begin)
    assert s.world.task(follow).scheduled is s.node(0)
