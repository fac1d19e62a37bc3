"""The `rain` scheduler: data first, then balance, and nobody starves."""

from __future__ import annotations

from collections import Counter

from rain.base.ids import TaskId
from rain.base.states import TaskRow, TaskState
from rain.scheduler.rain import RainScheduler
from rain.scheduler.toolbox.places import LOOKED_AT
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.scenes import Scene, scene_with

LARGE = 1_000_000


def rain(*cpus: int, overbooking: int = 128) -> Scene:
    settings = ReactorSettings(overbooking=overbooking, debug=True, governor_silence=1e9)
    return scene_with(RainScheduler(), *cpus, settings=settings)


def placed(s: Scene) -> list[int]:
    """How many tasks are planned on each governor."""
    return [len(governor.node.scheduled) for governor in s.world.governors]


def test_independent_tasks_are_dealt_out_by_cpus() -> None:
    s = rain(1, 3, 4)
    for _ in range(80):
        s.draft.task()
    s.submit()
    assert placed(s) == [10, 30, 40]


def test_a_task_goes_where_its_large_input_is() -> None:
    # given: a large object on one of four governors
    s = rain(1, 1, 1, 1)
    producer, (a,) = s.draft.task(keep=True)
    s.submit()
    (home,) = [governor for governor in s.governors if governor.tasks]
    home.finish(producer, size=LARGE)

    # when
    reader, _ = s.draft.task(a)
    s.submit()

    # then
    assert reader in home.tasks
    assert home.fetching() == []


def test_small_inputs_that_the_server_has_do_not_hold_a_task_anywhere() -> None:
    # given: the first governor is busy, and holds a small object that the server has, too
    s = rain(1, 1)
    producer, (a,) = s.draft.task(keep=True)
    s.submit()
    s.governors[0].finish(producer, data=b"small")
    s.draft.task()
    s.submit()
    assert placed(s) == [1, 0]

    # when / then
    reader, _ = s.draft.task(a)
    s.submit()
    assert reader in s.governors[1].tasks


def test_a_chain_stays_on_one_governor_and_never_waits_for_the_scheduler() -> None:
    # given: as many chains as governors
    s = rain(1, 1, 1)
    chains: list[list[TaskId]] = []
    for _ in range(3):
        first, (made,) = s.draft.task()
        chain = [first]
        for _ in range(9):
            task, (made,) = s.draft.task(made)
            chain.append(task)
        chains.append(chain)

    # when
    s.submit()

    # then: everything is sent ahead
    for chain in chains:
        homes = {s.world.task(task).scheduled for task in chain}
        assert len(homes) == 1
        assert {s.world.task(task).row for task in chain[1:]} == {TaskRow.AHEAD}
    assert placed(s) == [10, 10, 10]
    for step in range(10):
        for governor in s.governors:
            governor.finish(*governor.runnable(), size=LARGE)
        done = [s.world.task(chain[step]).state for chain in chains]
        assert done == [TaskState.FINISHED] * 3
    assert all(not governor.coming for governor in s.governors)


def test_a_governor_that_joins_late_gets_work_from_those_that_have_too_much() -> None:
    # given: one governor with forty tasks, three of which it has started
    s = rain(4)
    tasks = [s.draft.task()[0] for _ in range(40)]
    s.submit()
    s.governors[0].start(*tasks[:3])

    # when
    late = s.world.governor(4)
    s.governors[0].return_asked()

    # then: about half of them move, and none that has started
    assert placed(s) == [20, 20]
    assert not set(tasks[:3]) & set(late.tasks)
    assert set(late.tasks) == set(tasks[20:])
    runs = Counter(len(s.world.task(task).runs) for task in tasks)
    assert runs == {1: 20, 2: 20}


def test_queued_tasks_move_before_those_that_were_sent() -> None:
    s = rain(1, overbooking=4)
    tasks = [s.draft.task()[0] for _ in range(8)]
    s.submit()
    late = s.world.governor(1)
    assert set(late.tasks) == set(tasks[4:])
    assert {len(s.world.task(task).runs) for task in tasks} == {1}


def test_nothing_moves_to_and_fro() -> None:
    # given: more large tasks than there is room for, on governors of several sizes
    s = rain(4, 4, 2)
    for cpus in (4, 4, 4, 3, 3, 2, 1):
        s.draft.task(cpus=cpus)
    s.submit()
    for _ in range(3):
        s.world.turn()
    before = {task.id: len(task.runs) for task in s.world.state.graph.tasks.values()}

    # when / then: nobody does anything, and so does the scheduler
    for _ in range(10):
        assert s.world.turn() == []
    after = {task.id: len(task.runs) for task in s.world.state.graph.tasks.values()}
    assert after == before


def test_a_task_that_cannot_run_beside_another_one_moves_to_where_it_can_run_now() -> None:
    # given: two tasks of three cpus on a governor with four
    s = rain(4)
    s.draft.task(cpus=3)
    s.draft.task(cpus=3)
    s.submit()
    # when
    s.world.governor(4)
    s.governors[0].return_asked()
    # then
    assert placed(s) == [1, 1]


def test_tasks_without_cpus_are_not_moved_about() -> None:
    s = rain(1)
    for _ in range(5):
        s.draft.task(cpus=0)
    s.draft.task()
    s.draft.task()
    s.submit()
    s.world.governor(1)
    s.governors[0].return_asked()
    assert placed(s) == [6, 1]


def test_only_governors_that_fit_get_a_task() -> None:
    # given
    s = rain(1, 8)
    tall, _ = s.draft.task(cpus=8)
    s.submit()
    assert tall in s.governors[1].tasks

    # when: something that nobody has is asked for, then: it waits for a governor that has it
    special, _ = s.draft.task(gpus=1)
    s.submit()
    assert s.world.task(special).row is TaskRow.READY
    fitting = s.world.governor(1, gpus=2)
    assert special in fitting.tasks


def test_consumers_of_a_task_that_fits_nowhere_wait_with_it() -> None:
    s = rain(1)
    special, (a,) = s.draft.task(gpus=1)
    after, _ = s.draft.task(a)
    s.submit()
    assert s.world.task(after).row is TaskRow.WAITING
    fitting = s.world.governor(1, gpus=1)
    assert s.world.task(after).row is TaskRow.AHEAD
    fitting.finish(special, size=LARGE)
    assert after in fitting.tasks


def test_hungry_governors_take_only_what_fits_them() -> None:
    s = rain(4)
    for _ in range(6):
        s.draft.task(gpus=0, cpus=2)
    s.submit()
    s.world.governor(1)
    assert placed(s) == [6, 0]


def test_work_that_a_lost_governor_had_is_planned_with_inputs_before_consumers() -> None:
    # given: a tree on one governor
    s = rain(2)
    leaves = [s.draft.task()[1][0] for _ in range(4)]
    middle = [s.draft.task(*leaves[index : index + 2])[1][0] for index in (0, 2)]
    root, _ = s.draft.task(*middle, keep=True)
    s.submit()

    # when
    s.governors[0].leave()
    s.world.governor(1)

    # then: all of it has a plan again
    assert placed(s) == [7]
    assert s.world.task(root).row is TaskRow.AHEAD


def test_a_closed_session_leaves_nothing_to_plan() -> None:
    s = rain()
    s.draft.task()
    s.submit()
    s.client.close(s.draft.session)
    late = s.world.governor(1)
    assert late.told == []


def test_the_place_of_a_merge_depends_on_some_of_its_inputs_only() -> None:
    # given: a merge whose later inputs come from tasks that nobody could plan yet
    s = rain(1, 1)
    parts = [s.draft.task()[1][0] for _ in range(LOOKED_AT)]
    parts += [s.draft.task(gpus=1)[1][0] for _ in range(10)]
    merge, _ = s.draft.task(*parts, keep=True)
    # when
    s.submit()
    # then
    assert s.world.task(merge).row is TaskRow.PLANNED
