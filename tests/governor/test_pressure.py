"""What is ended when tasks together have more memory than their governor may use."""

from __future__ import annotations

import pytest

from rain.base.attempts import Attempts
from rain.base.kinds import TaskKind
from rain.base.memory import reserve_of
from rain.base.resources import Resources
from rain.base.runs import RunCause
from rain.base.wire.update import TaskFailure
from rain.governor.core.effects import Effect, KillExecutor, StopBuiltin
from rain.governor.core.events import BuiltinDone, ExecutorDied, KernelKill, MemorySampled
from rain.governor.core.results import Failed
from tests.governor.words import builtin_kind, python_kind, task_id
from tests.governor.world import World

MIB = 1024**2
MEMORY = 1000
SMALL = 10 * MIB


def a_world(*kinds: TaskKind, cpus: int = 2, memory: int = MEMORY) -> World:
    """Each kind has one task, from 1 on, which runs in the executor of its number."""
    world = World(Resources(cpus, (("memory", memory * MIB),)))
    for number, kind in enumerate(kinds, 1):
        world.assign(kind, number)
        for executor in list(world.executors):
            if not world.executors[executor].ready:
                world.ready(executor)
        if number in world.executors:
            world.start_next(number)
    return world


def kind(number: int, mib: int = 0, attempts: Attempts | None = None) -> TaskKind:
    needs = Resources.of({"memory": mib * MIB})
    return python_kind(number, outputs=0, resources=needs, attempts=attempts or Attempts())


def killed(effects: list[Effect]) -> list[int]:
    return [effect.executor for effect in effects if isinstance(effect, KillExecutor)]


def failures(world: World) -> list[TaskFailure]:
    return [failed for update in world.updates for failed in update.failed]


def test_nothing_happens_below_the_limit() -> None:
    world = a_world(kind(2), kind(3))
    assert killed(world.sample(470 * MIB, 470 * MIB)) == []


def test_the_newest_of_those_with_more_than_their_share_is_killed_at_once() -> None:
    world = a_world(kind(2), kind(3))
    assert killed(world.sample(510 * MIB, 510 * MIB)) == [2]


def test_what_has_no_more_than_it_may_stays_even_if_it_is_newer() -> None:
    world = a_world(kind(2), kind(3, 700))
    assert killed(world.sample(600 * MIB, 650 * MIB)) == [1]


def test_a_task_that_declares_less_than_it_takes_goes_first() -> None:
    world = a_world(kind(2, 100), kind(3))
    assert killed(world.sample(480 * MIB, 490 * MIB)) == [1]


def test_what_declares_less_than_it_takes_may_go_on_while_there_is_room() -> None:
    world = a_world(kind(2, 100), kind(3))
    assert killed(world.sample(480 * MIB, SMALL)) == []


def test_what_has_no_further_try_goes_last() -> None:
    world = a_world(kind(2), kind(3, attempts=Attempts(memory_tries=1)))
    assert killed(world.sample(510 * MIB, 510 * MIB)) == [1]


def test_small_ones_are_spared() -> None:
    world = a_world(kind(2), kind(3), cpus=2)
    assert killed(world.sample(960 * MIB, SMALL)) == [1]


def test_a_small_one_is_spared_though_it_has_more_than_it_declares() -> None:
    world = a_world(kind(2), kind(3, 5))
    assert killed(world.sample(960 * MIB, SMALL)) == [1]


def test_no_more_are_ended_than_it_takes() -> None:
    world = a_world(kind(2), kind(3), kind(4), cpus=3)
    assert killed(world.sample(340 * MIB, 340 * MIB, 340 * MIB)) == [3]
    # It is being killed, and what it has will be free soon.
    assert killed(world.sample(340 * MIB, 340 * MIB, 340 * MIB)) == []


def test_executors_that_rest_go_before_any_task() -> None:
    world = a_world(kind(2), kind(3))
    world.answer(2)
    world.collect(2)
    assert killed(world.sample(500 * MIB, 500 * MIB)) == [2]
    world.die(2, "killed")
    assert failures(world) == []
    assert list(world.executors) == [1]


def test_a_cancelled_call_that_cleans_up_goes_before_any_task() -> None:
    world = a_world(kind(2), kind(3))
    world.cancel(1)
    assert killed(world.sample(500 * MIB, 500 * MIB)) == [1]
    assert failures(world) == []


def test_a_machine_without_memory_ends_who_has_more_than_it_may_and_nobody_else() -> None:
    # given: the tasks are within their memory, but others on the machine have the rest
    world = a_world(kind(2), kind(3, 100))
    assert killed(world.sample(200 * MIB, 200 * MIB, left=60 * MIB)) == []

    # when
    assert killed(world.sample(200 * MIB, 200 * MIB, left=20 * MIB)) == [2]

    # then: what is being ended is waited for, and who has no more than its share stays
    assert killed(world.sample(200 * MIB, 200 * MIB, left=20 * MIB)) == []
    world.die(2, "killed")
    assert killed(world.sample(200 * MIB, left=20 * MIB)) == []
    (failed,) = failures(world)
    assert failed.message == (
        "the task took too much memory and was ended: it had 200MiB (it declares 100MiB), and all"
        " tasks of its governor had 400MiB of 1000MiB (--memory), while the machine had 20MiB left;"
        " beside it ran f (200MiB)"
    )


def test_a_machine_that_is_about_to_stand_still_keeps_one_task() -> None:
    # given: all have less than they may, and others on the machine have nearly all of the rest
    world = a_world(kind(2), kind(3), kind(4), cpus=3)
    assert killed(world.sample(200 * MIB, 200 * MIB, 200 * MIB, left=26 * MIB)) == []
    # when
    assert killed(world.sample(200 * MIB, 200 * MIB, 200 * MIB, left=24 * MIB)) == [3]
    # then: one after the other goes, as long as the machine gets no more free
    world.die(3, "killed")
    assert killed(world.sample(200 * MIB, 200 * MIB, left=24 * MIB)) == [2]
    world.die(2, "killed")
    assert killed(world.sample(200 * MIB, left=24 * MIB)) == []
    assert [failed.cause for failed in failures(world)] == [RunCause.MEMORY] * 2


def test_of_a_small_memory_also_small_executors_that_rest_are_ended() -> None:
    for memory, ended in ((1000, []), (400, [2])):
        world = a_world(kind(2), kind(3), memory=memory)
        world.answer(2)
        world.collect(2)
        assert killed(world.sample(50 * MIB, 50 * MIB, left=1 * MIB)) == ended


@pytest.mark.parametrize(
    ("memory", "reserve"), [(0, 0), (100, 25), (400, 48), (1000, 50), (10_000, 500)]
)
def test_what_should_be_free_has_room_for_code(memory: int, reserve: int) -> None:
    assert reserve_of(memory * MIB) == reserve * MIB


def test_a_task_with_too_many_processes_is_ended_by_its_own_fault() -> None:
    # given
    world = a_world(kind(2), kind(3))

    # when
    effects = world.turn(MemorySampled({1: SMALL, 2: SMALL}, {}, crowds={1: 2345}, most=1000))

    # then
    assert killed(effects) == [1]
    world.die(1, "killed")
    (failed,) = failures(world)
    assert (failed.task, failed.cause) == (task_id(1), RunCause.TASK)
    assert failed.message == (
        "the task had 2,345 processes at the same time and may have 1,000, so it was ended with all"
        " of them: let it start fewer, or start its governor with a larger --task-processes"
    )


def test_the_failure_says_how_much_it_had_and_what_else_was_there() -> None:
    # given
    world = a_world(kind(2), kind(3, 100))
    world.sample(420 * MIB, 400 * MIB)
    world.sample(420 * MIB, 600 * MIB)

    # when
    world.die(2, "was killed by SIGKILL")

    # then
    (failed,) = failures(world)
    assert failed.task == task_id(2)
    assert failed.cause is RunCause.MEMORY
    assert failed.retryable
    assert failed.peak == 600 * MIB
    assert failed.message == (
        "the task took too much memory and was ended: it had 600MiB (it declares 100MiB), and all"
        " tasks of its governor had 1020MiB of 1000MiB (--memory); beside it ran f (420MiB)"
    )


def test_its_neighbours_are_named_up_to_three() -> None:
    world = a_world(*[kind(number) for number in range(2, 8)], cpus=6)
    sizes = [200 * MIB, 40 * MIB, 50 * MIB, 60 * MIB, 70 * MIB, 600 * MIB]
    assert killed(world.sample(*sizes)) == [6]
    world.die(6, "killed")
    (failed,) = failures(world)
    assert failed.message.endswith("beside it ran f (200MiB), f (70MiB), f (60MiB) and 2 more")


def test_what_it_answers_while_it_is_killed_does_not_count() -> None:
    world = a_world(kind(2), kind(3))
    world.answer(2)
    world.sample(510 * MIB, 510 * MIB)
    world.collect(2)
    assert [failed.cause for failed in failures(world)] == [RunCause.MEMORY]


def test_a_task_that_is_cancelled_while_it_is_killed_only_ends() -> None:
    world = a_world(kind(2), kind(3))
    world.sample(510 * MIB, 510 * MIB)
    world.cancel(2)
    world.die(2, "killed")
    assert failures(world) == []
    assert world.ends_told() == [task_id(2)]


def test_a_program_is_killed_without_a_grace() -> None:
    # given
    world = World(Resources(2, (("memory", MEMORY * MIB),)))
    world.assign(builtin_kind(method="run", outputs=0), 1)
    (run,) = world.runs

    # when
    effects = world.sample(runs=(970 * MIB,))

    # then
    assert StopBuiltin(run, 0.0, timed_out=True) in effects
    world.end_run(run)
    (failed,) = failures(world)
    assert (failed.cause, failed.peak) == (RunCause.MEMORY, 970 * MIB)
    assert failed.message.endswith("beside it ran nothing else")


def test_its_memory_is_set_aside_for_others_of_its_kind() -> None:
    world = a_world(kind(2), kind(2))
    world.sample(500 * MIB, 500 * MIB)
    world.die(2, "killed")
    world.assign(kind(2), 3)
    (waits,) = [group for group in world.reactor.state.dispatch.groups.values() if group.count]
    assert waits.memory >= 500 * MIB


def test_when_the_kernel_was_faster_the_failure_says_so() -> None:
    world = a_world(kind(2))
    world.sample(300 * MIB)
    world.executors.pop(1)
    world.turn(ExecutorDied(1, "was killed by SIGKILL", status=-9, by_kernel=KernelKill()))
    (failed,) = failures(world)
    assert (failed.cause, failed.status, failed.peak) == (RunCause.MEMORY, -9, 300 * MIB)
    assert failed.message == (
        "the kernel has killed the process of the task, because the machine or its control group"
        " had no memory left; it had 300MiB when last looked at; beside it ran nothing else"
    )


def test_at_the_wall_the_failure_says_how_high_it_is_and_what_else_was_there() -> None:
    world = a_world(kind(2), kind(3), builtin_kind(4, outputs=0, method="run"), cpus=3)
    (run,) = world.runs
    world.sample(300 * MIB, 200 * MIB, runs=(40 * MIB,))
    world.executors.pop(1)
    killed = KernelKill(1500 * MIB, 900 * MIB)
    world.turn(ExecutorDied(1, "was killed by SIGKILL", status=-9, by_kernel=killed))
    (failed,) = failures(world)
    assert (failed.cause, failed.status, failed.peak) == (RunCause.MEMORY, -9, 360 * MIB)
    assert failed.message == (
        "the kernel has killed the process of the task, because all tasks of its governor together"
        " had 1.465GiB, which is the most that their control group may have (--memory and --store,"
        " and some more); 900MiB of shared memory and files in memory are still there; it had"
        " 300MiB when last looked at; beside it ran f (200MiB), f (40MiB)"
    )

    # and of a program the same: it may need all that there is
    world.runs.pop(run)
    world.turn(BuiltinDone(run, 0.5, Failed("", status=-9), by_kernel=KernelKill(1500 * MIB)))
    (_, failed) = failures(world)
    assert (failed.cause, failed.status, failed.peak) == (RunCause.MEMORY, -9, 950 * MIB - 1)
    assert failed.message.endswith("it had 40MiB when last looked at; beside it ran f (200MiB)")
