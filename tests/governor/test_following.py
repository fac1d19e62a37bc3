"""Tasks that an executor gets behind the calls that make their inputs."""

from rain.base.ids import TaskId
from rain.base.resources import Resources
from rain.base.wire.orders import Orders
from rain.governor.core.disk import Disk
from rain.governor.core.effects import CallExecutor
from rain.governor.core.results import Failed
from rain.governor.core.tables import TaskRow
from tests.governor.words import python_kind, task_id
from tests.governor.world import World, stored

FUNCTION = 10
MIB = 1024**2


def warm_world(cpus: int = 1) -> World:
    """A governor whose executors are ready, and which knows that its tasks are short."""
    world = World(Resources(cpus))
    world.place(FUNCTION, b"f")
    world.assign(python_kind(), 100, (FUNCTION,), (500,))
    world.ready(*world.executors)
    world.work(1)
    while len(world.executors) < cpus:
        for number in range(cpus + 1):
            world.assign(python_kind(), 101 + number, (FUNCTION,), (501 + number,))
        world.ready(*[n for n, executor in world.executors.items() if not executor.ready])
        for number in list(world.executors):
            world.work(number)
    return world


def chain(world: World, length: int, first: int = 200) -> list[TaskId]:
    orders = Orders()
    for number in range(first, first + length):
        inputs = (FUNCTION,) if number == first else (FUNCTION, number + 999)
        world.assign(python_kind(), number, inputs, (number + 1000,), orders=orders, send=False)
    world.order(orders)
    return [task_id(number) for number in range(first, first + length)]


def rows(world: World, tasks: list[TaskId]) -> list[TaskRow]:
    (session,) = world.reactor.state.sessions.values()
    return [session.tasks[task].row for task in tasks]


def test_a_chain_is_one_message_to_one_executor() -> None:
    # given
    world = warm_world(2)

    # when
    tasks = chain(world, 20)

    # then
    (call,) = [effect for effect in world.effects if isinstance(effect, CallExecutor)]
    assert [row[0] for row in call.calls] == tasks
    assert rows(world, tasks) == [TaskRow.RUNNING] + [TaskRow.FOLLOWING] * 19
    assert world.work(call.executor) == 20
    assert set(tasks) <= set(world.finished)


def test_answers_for_a_part_of_the_chain_make_the_next_one_an_ordinary_call() -> None:
    world = warm_world()
    tasks = chain(world, 3)
    world.start_next(1)
    world.answer(1)
    world.start_next(1)
    world.collect(1)
    assert rows(world, tasks[1:]) == [TaskRow.RUNNING, TaskRow.FOLLOWING]


def test_what_arrives_while_its_input_is_made_follows_too() -> None:
    world = warm_world()
    world.assign(python_kind(), 200, (FUNCTION,), (300,))
    world.assign(python_kind(), 201, (FUNCTION, 300), (301,))
    assert rows(world, [task_id(201)]) == [TaskRow.FOLLOWING]


def test_a_task_of_an_unknown_duration_has_no_followers() -> None:
    world = World(Resources(1))
    world.place(FUNCTION, b"f")
    tasks = chain(world, 3)
    world.ready(1)
    assert rows(world, tasks) == [TaskRow.RUNNING, TaskRow.WAITING, TaskRow.WAITING]


def test_a_follower_waits_when_what_it_makes_has_no_room() -> None:
    # given: tasks that each make a file of 30 MiB, and a disk for 100 MiB that has the first one
    world = World(Resources(1), linger_seconds=0, disk=Disk(100 * MIB))
    world.place(FUNCTION, b"f")
    world.assign(python_kind(), 100, (FUNCTION,), (500,))
    world.ready(1)
    world.start_next(1)
    world.answer(1, [stored(world, 30 * MIB)])
    world.collect(1)
    # when
    tasks = chain(world, 2)
    # then: with the first one, 60 of the 80 MiB are taken up to which tasks may start
    assert rows(world, tasks) == [TaskRow.RUNNING, TaskRow.WAITING]


def test_what_several_tasks_wait_for_is_left_to_all_executors() -> None:
    world = warm_world(2)
    orders = world.assign(python_kind(), 200, (FUNCTION,), (300,), send=False)
    for number in (201, 202):
        world.assign(
            python_kind(), number, (FUNCTION, 300), (number + 100,), orders=orders, send=False
        )
    world.order(orders)
    assert rows(world, [task_id(201), task_id(202)]) == [TaskRow.WAITING] * 2


def test_what_misses_something_else_does_not_follow() -> None:
    world = warm_world()
    world.place(400)
    world.assign(python_kind(), 200, (FUNCTION,), (300,))
    world.assign(python_kind(), 201, (FUNCTION, 300, 400), (301,))
    assert rows(world, [task_id(201)]) == [TaskRow.WAITING]


def test_followers_of_a_failed_task_are_not_run_and_wait() -> None:
    # given
    world = warm_world()
    tasks = chain(world, 3)

    # when
    world.start_next(1)
    world.answer(1, Failed("wrong"))
    world.work(1)

    # then
    assert list(world.failed) == tasks[:1]
    assert rows(world, tasks[1:]) == [TaskRow.WAITING] * 2
    assert not world.reactor.state.pool.executors[1].calls


def test_what_the_executor_has_let_go_is_called_again_with_its_inputs() -> None:
    # given
    world = warm_world()
    tasks = chain(world, 2)
    world.start_next(1)
    world.answer(1)
    world.executors[1].made.clear()

    # when
    world.work(1)

    # then: the second one was not run, and was called again with its input
    assert rows(world, tasks[1:]) == [TaskRow.RUNNING]
    world.work(1)
    assert set(tasks) <= set(world.finished)


def test_an_executor_that_runs_what_could_not_be_run_is_killed() -> None:
    # given
    world = warm_world()
    tasks = chain(world, 2)
    world.start_next(1)
    world.answer(1, Failed("wrong"))

    # when
    world.start_next(1)
    world.executors[1].able = True  # it says so
    world.answer(1)
    world.collect(1)

    # then
    assert world.executors[1].killed
    assert list(world.failed) == tasks[:1]


def test_followers_come_back_with_what_they_follow_when_an_executor_dies() -> None:
    # given
    world = warm_world()
    tasks = chain(world, 3)

    # when
    world.die(1)

    # then: only what could not be run anywhere waits
    assert rows(world, tasks) == [TaskRow.READY, TaskRow.WAITING, TaskRow.WAITING]


def test_a_follower_without_its_input_did_not_run_in_the_executor_that_died() -> None:
    world = warm_world()
    tasks = chain(world, 3)
    world.start_next(1)
    world.answer(1, Failed("wrong"))
    world.start_next(1)  # to say that it cannot be run, which is not said any more
    world.die(1)
    assert list(world.failed) == tasks[:1]
    assert rows(world, tasks[1:]) == [TaskRow.WAITING] * 2
