"""Tasks whose name has needed much memory are planned where and when a governor has it."""

from __future__ import annotations

from rain.base.ids import TaskId
from rain.scheduler.horizon import HorizonScheduler
from tests.support.scenes import Scene, scene_with
from tests.support.submissions import Draft, timed

CAPACITY = 1000 << 20
SECONDS = 5.0


def a_scene(governors: int) -> Scene:
    """Governors with four cpus; a task of five seconds has had six tenths of the memory of one."""
    s = scene_with(HorizonScheduler())
    s.governors += [s.world.governor(4, memory=CAPACITY) for _ in range(governors)]
    first, _ = timed(s.draft, SECONDS)
    s.submit()
    node = s.world.task(first)
    node.session.learned[node.kind.id].note_peak(CAPACITY * 6 // 10)
    s.world.state.graph.has_needs = True
    (there,) = [governor for governor in s.governors if governor.tasks]
    there.finish(first)
    return s


def submit(s: Scene, *seconds: float) -> Draft:
    draft = s.client.session()
    for one in seconds:
        timed(draft, one)
    s.client.submit(draft)
    return draft


def loads(s: Scene) -> list[int]:
    return [len(governor.node.scheduled) for governor in s.governors]


def test_each_governor_gets_only_what_it_has_memory_for() -> None:
    s = a_scene(2)
    submit(s, *[SECONDS] * 10)
    assert loads(s) == [1, 1]


def test_the_next_one_goes_where_memory_has_become_free() -> None:
    s = a_scene(2)
    submit(s, *[SECONDS] * 4)
    ends: list[TaskId] = list(s.governors[1].tasks)
    s.governors[1].finish(ends[0])
    s.world.turn(after=0.2)
    assert loads(s) == [1, 1]
    assert list(s.governors[1].tasks) != ends


def test_what_needs_little_uses_the_cpus_that_are_left() -> None:
    s = a_scene(1)
    submit(s, *[SECONDS] * 4)
    submit(s, *[SECONDS + 1] * 3)
    assert loads(s) == [4]


def test_what_needs_more_than_a_governor_has_runs_alone_there() -> None:
    s = a_scene(1)
    draft = submit(s, SECONDS)
    session = s.world.state.graph.sessions[draft.session]
    for learned in session.learned.values():
        learned.note_peak(2 * CAPACITY)
    submit(s, *[SECONDS] * 2)
    assert loads(s) == [1]


def test_nothing_is_remembered_of_tasks_whose_session_has_ended() -> None:
    s = a_scene(1)
    draft = submit(s, SECONDS)
    s.client.close(draft.session)
    s.world.turn(after=0.2)
    submit(s, SECONDS)
    assert loads(s) == [1]
