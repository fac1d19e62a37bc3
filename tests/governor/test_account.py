"""The account of a governor's memory counts everything once, and names who has it."""

from __future__ import annotations

from rain.base.resources import Resources
from rain.base.wire.answers import TaskMemory
from rain.governor.core.account import files_read, memory_of
from rain.governor.core.results import Made, Stored
from tests.governor.words import builtin_kind, python_kind, task_id
from tests.governor.world import World

MIB = 1024**2


def test_tasks_data_and_transfers_are_counted_apart() -> None:
    # given: two calls and a program, small and large data, and a transfer
    world = World(Resources(4, (("memory", 1000 * MIB),)))
    declared = Resources.of({"memory": 300 * MIB})
    world.place(50, b"x" * 70)
    world.place(51, None, "other:1", size=1000)
    world.assign(python_kind(2, resources=declared), 1, outputs=(60,))
    world.assign(python_kind(3, outputs=0), 2)
    world.assign(builtin_kind(4, outputs=0, method="run"), 3)
    world.ready(1)
    world.ready(2)
    world.sample(200 * MIB, 50 * MIB, runs=(7 * MIB,))

    # then
    report = world.reactor.report("here:1")
    assert dict(report.memory) == {
        "limit": 1000 * MIB,
        "set_aside": 300 * MIB,
        "withheld": 0,
        "tasks": 257 * MIB,
        "stored": 0,
        "disk": 0,
        "disk_limit": 0,
        "held": 70,
        "arriving": 1000,
    }
    assert report.running == (("f", 257 * MIB),)

    # and what a task has made counts as data; what its executor keeps, still as memory of tasks
    world.start_next(1)
    world.answer(1, [Made(Stored(world.new_file(), 5 * MIB))])
    world.collect(1)
    report = world.reactor.report("here:1")
    assert dict(report.memory)["stored"] == dict(report.memory)["disk"] == 5 * MIB
    assert dict(report.memory)["set_aside"] == 0
    assert dict(report.memory)["tasks"] == 257 * MIB
    assert report.running == (("f", 57 * MIB),)


def test_a_running_task_is_told_with_its_last_sample_and_the_most_that_any_has_shown() -> None:
    world = World(Resources(2, (("memory", 1000 * MIB),)))
    world.place(50, None, "other:1", size=8 * MIB)
    world.assign(python_kind(2, outputs=0), 1, inputs=(50,))
    world.assign(builtin_kind(4, outputs=0, method="run"), 3)
    world.fetched(1, Stored(7, 8 * MIB))
    world.ready(1)
    state = world.reactor.state
    call, program = state.running(task_id(1)), state.running(task_id(3))
    assert call is not None
    assert program is not None
    assert memory_of(state, call) == TaskMemory()

    world.sample(200 * MIB, runs=(7 * MIB,))
    world.sample(50 * MIB, runs=(9 * MIB,))
    assert memory_of(state, call) == TaskMemory(50 * MIB, 200 * MIB)
    assert memory_of(state, program) == TaskMemory(9 * MIB, 9 * MIB)

    # Its inputs that are files may be mapped.
    assert files_read(call) == {7: 8 * MIB}
    assert files_read(program) == {}
