"""A run that takes longer than its task allows is ended like a cancelled one, and has failed."""

from __future__ import annotations

from attrs import evolve

from rain.base.attempts import Attempts
from rain.base.kinds import TaskKind
from rain.base.resources import Resources
from rain.base.runs import RunCause
from rain.base.wire.orders import Orders
from rain.base.wire.update import TaskFailure
from rain.governor.core.cancelling import GRACE
from rain.governor.core.effects import KillExecutor, StopBuiltin
from rain.governor.core.results import Failed
from rain.governor.core.tables import TaskRow
from tests.governor.busy import FUNCTION, a_world
from tests.governor.words import builtin_kind, python_kind, task_id
from tests.governor.world import World

LIMIT = 10.0


def hasty(tries: Attempts = Attempts(timeout=LIMIT)) -> TaskKind:  # noqa: B008 # it is frozen
    return python_kind(5, attempts=tries)


def running(kind: TaskKind | None = None) -> World:
    """One executor that runs the call 100, and has another one to run."""
    world = a_world(cpus=1)
    orders = Orders()
    for number in (100, 101):
        made = (number + 10_000,)
        world.assign(kind or hasty(), number, (FUNCTION,), made, orders=orders, send=False)
    world.order(orders)
    world.ready(1)
    world.start_next(1)
    assert world.running_on(1) == task_id(100)
    return world


def failure(world: World, number: int = 100) -> TaskFailure:
    (found,) = [failed for failed in told(world) if failed.task == task_id(number)]
    return found


def told(world: World) -> list[TaskFailure]:
    return [failed for update in world.updates for failed in update.failed]


def test_a_call_is_interrupted_when_its_time_is_over_and_not_before() -> None:
    world = running()
    world.tick(LIMIT - 1)
    assert world.executors[1].interrupted is None
    world.tick(1)
    assert world.executors[1].interrupted == task_id(100)
    assert not told(world)


def test_it_has_failed_when_it_has_ended_and_its_executor_works_on() -> None:
    world = running()
    world.tick(LIMIT)
    world.answer(1, Failed("Traceback: KeyboardInterrupt"))
    world.collect(1)
    failed = failure(world)
    assert failed.cause is RunCause.TIMEOUT
    assert failed.message.startswith("the task ran for longer than its timeout of 10 s")
    assert failed.message.endswith("KeyboardInterrupt")
    assert failed.retryable
    while world.work(1):
        pass
    assert task_id(101) in world.finished
    assert list(world.executors) == [1]


def test_what_it_returns_after_its_time_is_thrown_away() -> None:
    world = running()
    world.tick(LIMIT)
    world.answer(1)
    world.collect(1)
    assert failure(world).cause is RunCause.TIMEOUT
    assert task_id(100) not in world.finished


def test_a_call_that_does_not_end_in_its_grace_is_killed_and_fails_for_its_timeout() -> None:
    world = running()
    world.tick(LIMIT)
    assert KillExecutor(1) not in world.tick(GRACE - 0.01)
    assert KillExecutor(1) in world.tick(0.02)
    world.die(1, "was killed by SIGKILL")
    failed = failure(world)
    assert failed.cause is RunCause.TIMEOUT
    assert "SIGKILL" in failed.message


def test_the_time_of_the_next_call_begins_when_it_starts() -> None:
    world = running()
    world.tick(LIMIT - 1)
    world.answer(1)
    world.collect(1)
    world.start_next(1)
    world.tick(LIMIT - 1)
    assert not told(world)
    assert world.executors[1].interrupted is None


def test_a_call_that_is_cancelled_after_its_time_was_over_only_ends() -> None:
    world = running()
    world.tick(LIMIT)
    world.cancel(100)
    world.answer(1, Failed("KeyboardInterrupt"))
    world.collect(1)
    assert not told(world)
    assert world.ends_told() == [task_id(100)]


def test_the_time_of_a_call_goes_on_while_it_waits_for_other_tasks() -> None:
    world = running()
    world.tick(1)
    world.block(1)
    world.tick(LIMIT)
    assert world.executors[1].interrupted == task_id(100)
    world.resume(1)
    world.answer(1, Failed("KeyboardInterrupt"))
    world.collect(1)
    assert failure(world).cause is RunCause.TIMEOUT


def test_a_timeout_that_retry_on_does_not_name_is_final() -> None:
    world = running(hasty(Attempts(3, timeout=LIMIT, final_timeout=True)))
    world.tick(LIMIT)
    world.answer(1, Failed("KeyboardInterrupt"))
    world.collect(1)
    assert not failure(world).retryable


def test_what_runs_inside_the_governor_has_its_time_too() -> None:
    world = World(Resources(1))
    kind = builtin_kind()
    world.assign(evolve(kind, attempts=Attempts(timeout=LIMIT)), 100, (), (200,))
    world.tick(LIMIT - 1)
    assert not world.stopped_runs
    world.tick(1)
    assert world.stopped_runs == [1]


def test_a_run_inside_the_governor_is_stopped_and_says_how_it_has_ended() -> None:
    world = World(Resources(1))
    kind = builtin_kind()
    limited = TaskKind(
        kind.id, kind.task_type, outputs=kind.outputs, attempts=Attempts(timeout=LIMIT)
    )
    world.assign(limited, 100, (), (200,))
    (run,) = world.runs
    assert world.reactor.next_time() <= world.now + LIMIT
    assert StopBuiltin(run, timed_out=True) in world.tick(LIMIT)
    assert world.reactor.state.dispatch.runs[run].row is TaskRow.TIMED_OUT
    world.end_run(run, Failed("the program was killed by SIGINT", status=-2))
    failed = failure(world)
    assert (failed.cause, failed.status) == (RunCause.TIMEOUT, -2)
