"""As Mars: first tasks by breadth-first search under quotas, the others where their data is."""

from __future__ import annotations

from rain.base.ids import ObjectId, TaskId
from rain.scheduler.mars import MarsScheduler
from tests.support.scenes import Scene, scene_with

LARGE = 1_000_000


def mars(*cpus: int, rebalance: bool = False) -> Scene:
    return scene_with(MarsScheduler(rebalance=rebalance), *cpus)


def homes(s: Scene, tasks: list[TaskId]) -> set[object]:
    return {s.world.task(task).scheduled for task in tasks}


def fans(s: Scene, count: int, leaves: int) -> list[list[TaskId]]:
    """Several merges of several tasks each; the leaves of one are not submitted together."""
    made: list[list[ObjectId]] = [[] for _ in range(count)]
    tasks: list[list[TaskId]] = [[] for _ in range(count)]
    for _ in range(leaves):
        for number in range(count):
            task, (output,) = s.draft.task()
            tasks[number].append(task)
            made[number].append(output)
    for outputs in made:
        s.draft.task(*outputs)
    return tasks


def test_what_belongs_together_comes_to_one_place() -> None:
    # given
    s = mars(2, 2)
    one, other = fans(s, 2, 6)
    # when
    s.submit()
    # then
    assert len(homes(s, one)) == len(homes(s, other)) == 1
    assert homes(s, one) != homes(s, other)


def test_first_tasks_are_dealt_out_under_quotas_by_cpus() -> None:
    s = mars(1, 3)
    tasks = [s.draft.task()[0] for _ in range(40)]
    s.submit()
    placed = [s.world.task(task).scheduled for task in tasks]
    assert [placed.count(s.node(0)), placed.count(s.node(1))] == [10, 30]


def test_other_tasks_are_planned_when_they_are_ready_where_most_of_their_bytes_are() -> None:
    # given: two objects on two governors
    s = mars(1, 1)
    small, (a,) = s.draft.task(keep=True)
    large, (b,) = s.draft.task(keep=True)
    reader, _ = s.draft.task(a, b)
    s.submit()
    where = {task: s.world.task(task).scheduled for task in (small, large)}
    assert where[small] is not where[large]
    assert s.world.task(reader).scheduled is None
    # when
    for governor in s.governors:
        for task in list(governor.tasks):
            governor.finish(task, size=LARGE if task == large else 100_000)
    # then
    assert s.world.task(reader).scheduled is where[large]


def test_deeper_tasks_go_first() -> None:
    s = mars(1)
    first, (made,) = s.draft.task()
    deeper, _ = s.draft.task(made)
    shallow, _ = s.draft.task()
    s.submit()
    s.governors[0].finish(first)
    assert s.world.task(deeper).priority > s.world.task(shallow).priority


def test_among_tasks_of_equal_depth_those_go_first_whose_consumers_have_their_other_inputs() -> (
    None
):
    # given: a merge that has one of its two inputs, and one that has none
    s = mars(1)
    early, (a,) = s.draft.task(keep=True)
    s.submit()
    s.governors[0].finish(early)
    half, (b,) = s.draft.task()
    s.draft.task(a, b)
    fresh, (c,) = s.draft.task()
    other, (d,) = s.draft.task()
    s.draft.task(c, d)
    # when
    s.submit()
    # then
    priority = {task: s.world.task(task).priority for task in (half, fresh, other)}
    assert priority[half] > priority[fresh] == priority[other]


def test_and_then_those_with_few_consumers() -> None:
    s = mars(1)
    popular, (a,) = s.draft.task()
    lonely, (b,) = s.draft.task()
    for _ in range(3):
        s.draft.task(a)
    s.draft.task(b)
    s.submit()
    assert s.world.task(lonely).priority > s.world.task(popular).priority


def test_only_when_it_rebalances_tasks_move_to_who_is_idle() -> None:
    moved: list[int] = []
    for rebalance in (False, True):
        s = mars(1, rebalance=rebalance)
        for _ in range(10):
            s.draft.task()
        s.submit()
        late = s.world.governor(cpus=1)
        s.world.turn()
        s.governors[0].return_asked()
        moved.append(len(late.node.scheduled))
    assert moved[0] == 0
    assert moved[1] > 0
