"""b-level: the longest chain first, on free cpus only, where the fewest bytes are missing."""

from __future__ import annotations

import pytest

from rain.base.ids import TaskId
from rain.graph import Governor, Task
from rain.scheduler.blevel import BlevelScheduler
from rain.scheduler.toolbox import rooms
from rain.scheduler.toolbox.rooms import Rooms
from tests.support.scenes import Scene, scene_with
from tests.support.submissions import timed

LARGE = 1_000_000


def blevel(*cpus: int) -> Scene:
    return scene_with(BlevelScheduler(), *cpus)


def planned(s: Scene) -> list[TaskId]:
    return [task.id for governor in s.governors for task in governor.node.scheduled]


def test_only_as_much_is_planned_as_cpus_are_free_the_longest_chain_first() -> None:
    # given
    s = blevel(1, 1)
    tasks = [timed(s.draft, seconds)[0] for seconds in (3.0, 1.0, 2.0)]
    begin, made = timed(s.draft, 1.0)
    timed(s.draft, 5.0, made)
    # when
    s.submit()
    # then
    assert set(planned(s)) == {begin, tasks[0]}


def test_when_a_cpu_gets_free_the_next_one_follows() -> None:
    s = blevel(1)
    long, short = (timed(s.draft, seconds)[0] for seconds in (3.0, 1.0))
    s.submit()
    assert planned(s) == [long]
    s.governors[0].finish(long)
    assert planned(s) == [short]


def test_a_task_goes_where_it_misses_the_fewest_bytes_among_those_with_room() -> None:
    # given: a large object on the first governor, which has a free cpu, and none after that
    s = blevel(2, 4)
    make, (made,) = s.draft.task(keep=True)
    s.submit()
    home = s.world.task(make).scheduled
    holder = next(g for g in s.governors if g.node is home)
    holder.finish(make, size=LARGE)
    # when
    readers = [s.draft.task(made)[0] for _ in range(6)]
    s.submit()
    # then: as many as have room there
    assert sum(s.world.task(task).scheduled is home for task in readers) == holder.node.cpus


def test_without_data_the_least_busy_governor_for_its_size_comes_first() -> None:
    s = blevel(1, 4, 2)
    for _ in range(5):
        s.draft.task()
    s.submit()
    assert [len(governor.node.scheduled) for governor in s.governors] == [1, 2, 2]


def test_a_large_task_keeps_its_turn_and_small_ones_use_only_what_is_too_small_for_it() -> None:
    # given: one cpu of the large governor is taken
    s = blevel(4)
    first, _ = timed(s.draft, 100.0)
    s.submit()
    small_one = s.world.governor(cpus=1)
    # when: a task that needs all of it comes, and small ones that are less urgent
    large, _ = s.draft.task(cpus=4)
    small = [s.draft.task()[0] for _ in range(3)]
    s.submit()
    # then
    assert len(s.node(0).scheduled) == 1
    assert [task.id for task in small_one.node.scheduled] == small[:1]
    # and when
    s.governors[0].finish(first)
    assert [task.id for task in s.node(0).scheduled] == [large]


def test_tasks_that_fit_nobody_hold_nobody_back_and_one_of_their_kind_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # given
    asked: list[Task] = []
    choose = Rooms.choose

    def count(self: Rooms, task: Task, local: dict[Governor, int]) -> Governor | None:
        asked.append(task)
        return choose(self, task, local)

    monkeypatch.setattr(Rooms, "choose", count)
    s = blevel(1, 1)
    for _ in range(100):
        s.draft.task(cpus=4)
    small, _ = s.draft.task()
    # when
    s.submit()
    # then
    assert planned(s) == [small]
    assert len(asked) == 2


def test_a_burst_of_plain_tasks_asks_no_governor_twice_for_its_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> bool:
        raise AssertionError("every governor is asked for every task")

    monkeypatch.setattr(rooms, "allows", refuse)
    s = blevel(*[2] * 20)
    for _ in range(60):
        s.draft.task()
    s.submit()
    assert len(planned(s)) == 40
