"""What is noticed as time passes: calls that are stuck, and starts."""

from rain.base.ids import TaskId
from rain.governor.core.effects import TakeBackCalls
from rain.governor.core.progress import STUCK_AFTER, TELL_AFTER
from tests.governor.busy import FUNCTION, a_busy_world, a_world, assign_calls, in_hand
from tests.governor.words import python_kind, task_id
from tests.governor.world import World


def test_what_waits_behind_a_stuck_call_runs_elsewhere() -> None:
    # Given two executors, and a call that lasts much longer than expected
    world = a_world(cpus=2)
    assign_calls(world, range(100, 102))
    world.ready(1, 2)
    world.work(1)
    world.work(2)
    assign_calls(world, range(200, 220))
    world.start_next(1)
    stuck = world.running_on(1)
    while world.work(2):
        pass
    assert in_hand(world, 1) == 10
    # When some time has passed
    effects = world.tick(STUCK_AFTER * 1.1)
    # Then all that it had not started went to the other one
    assert TakeBackCalls(1) in effects
    assert in_hand(world, 1) == 1
    assert in_hand(world, 2) == 9
    while world.work(2):
        pass
    # And the stuck executor gets nothing before it answers
    assign_calls(world, range(300, 320))
    assert in_hand(world, 1) == 1
    world.answer(1)
    world.collect(1)
    while world.work(1) + world.work(2):
        pass
    assert len(world.finished) == 42
    assert stuck in world.finished


def test_an_executor_that_has_begun_none_of_its_calls_gets_one_until_it_answers() -> None:
    # given: it was not given the time to read its calls
    world = a_busy_world()
    assert in_hand(world, 1) > 10
    # when
    effects = world.tick(STUCK_AFTER * 1.1)
    # then: if it got all of them again, they would wait behind the same ones that it must read yet
    assert TakeBackCalls(1) in effects
    assert in_hand(world, 1) == 1
    assert TakeBackCalls(1) not in world.tick(STUCK_AFTER * 1.1)
    world.work(1)
    assert in_hand(world, 1) > 10


def test_time_is_only_asked_for_while_calls_wait_behind_others() -> None:
    world = a_busy_world()
    assert world.reactor.next_time() - world.now < STUCK_AFTER
    while world.work(1):
        pass
    assert world.reactor.next_time() - world.now > 1


def starts(world: World) -> list[TaskId]:
    """All starts that the server has heard of."""
    return [number for update in world.updates for number in update.started_ids]


def test_the_server_hears_of_the_start_of_what_runs_for_a_while_and_once() -> None:
    world = a_busy_world(calls=10)
    assert starts(world) == []
    world.tick(TELL_AFTER * 1.1)
    assert starts(world) == [task_id(101)]
    world.tick(TELL_AFTER * 1.1)
    assert starts(world) == [task_id(101)]


def test_the_server_hears_nothing_of_the_start_of_what_is_over_soon() -> None:
    world = a_busy_world(calls=4)
    before = len(world.updates)
    world.start_next(1)
    world.answer(1)
    world.collect(1)
    assert starts(world) == []
    assert len(world.updates) == before + 1  # one message for all of the task's life


def test_the_server_hears_nothing_of_the_start_of_what_was_stopped() -> None:
    world = a_busy_world(calls=2)
    world.start_next(1)
    world.stop(101)
    world.tick(TELL_AFTER * 1.1)
    assert world.running_on(1) == task_id(101)
    assert starts(world) == []


def test_the_server_hears_at_once_of_what_may_have_ended_a_governor_before() -> None:
    world = a_world(cpus=2)
    for number, run in ((100, 1), (101, 2)):
        world.assign(python_kind(), number, (FUNCTION,), (number + 10_000,), run=run)
    world.ready(1)
    world.ready(2)
    assert starts(world) == [task_id(101)]


def test_a_turn_is_due_when_a_start_is_to_be_told() -> None:
    world = a_busy_world(calls=2)
    due = world.reactor.next_time()
    assert due <= world.now + TELL_AFTER
    world.tick(TELL_AFTER * 1.1)
    assert world.reactor.next_time() > world.now + TELL_AFTER
