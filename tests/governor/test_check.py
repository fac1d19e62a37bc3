"""The checker: whatever is changed behind the state's back is found."""

from collections.abc import Callable

import pytest

from rain.base.errors import InvariantError
from rain.base.ids import SessionId
from rain.base.resources import Resources
from rain.governor.core.check import check
from rain.governor.core.effects import TakeBackCalls
from rain.governor.core.fetch_queue import FetchQueue
from rain.governor.core.nodes import DataObject, Executor, Session, Task
from rain.governor.core.state import State
from rain.governor.core.tables import ObjectRow, TaskRow
from tests.governor.words import builtin_kind, object_id, python_kind, task_id
from tests.governor.world import World, stored


def a_rich_state() -> State:
    """Something of everything: each row of both tables that lasts, and all lists in use."""
    world = World(Resources(3), linger_seconds=5)
    world.place(10, b"function")
    world.place(11, b"lingers")
    world.drop(11)
    for number in range(12, 22):
        world.place(number)  # eight are being pulled, two are remote
    kind = python_kind()
    world.assign(kind, 100, (10,), (200,))
    world.ready(1)
    world.work(1)
    for number in range(101, 106):
        world.assign(kind, number, (10,), (200 + number,))
    world.assign(builtin_kind(), 110, (), (210,))
    world.assign(builtin_kind(), 111, (210, 10), (211,))  # waits
    world.assign(builtin_kind(21, resources=Resources(3)), 112, (), (212,))  # ready
    world.assign(builtin_kind(), 113, (), (213,))
    world.end_run(2, [stored(world)])
    check(world.reactor.state)
    return world.reactor.state


def session(state: State) -> Session:
    return state.sessions[SessionId(1)]


def task(state: State, number: int) -> Task:
    return session(state).tasks[task_id(number)]


def target(state: State, number: int) -> DataObject:
    return session(state).objects[object_id(number)]


def executor(state: State) -> Executor:
    return state.pool.executors[1]


def row_of_a_task(state: State) -> None:
    task(state, 112).row = TaskRow.WAITING


def ended_task(state: State) -> None:
    task(state, 112).row = TaskRow.FINISHED


def missing_inputs(state: State) -> None:
    task(state, 111).missing = 0


def forgotten_object(state: State) -> None:
    del session(state).objects[object_id(211)]


def misplaced_object(state: State) -> None:
    session(state).objects[object_id(999)] = target(state, 10)


def misplaced_task(state: State) -> None:
    session(state).tasks[task_id(999)] = task(state, 112)


def producer(state: State) -> None:
    target(state, 211).producer = None


def foreign_producer(state: State) -> None:
    target(state, 10).producer = task(state, 111)


def consumers(state: State) -> None:
    target(state, 10).consumers += 1


def waiting(state: State) -> None:
    target(state, 210).waiting = None


def empty_waiting(state: State) -> None:
    target(state, 10).waiting = []


def ready_queue(state: State) -> None:
    task(state, 112).kind.group.line.clear()


def ready_count(state: State) -> None:
    task(state, 112).kind.group.count += 1


def kinds_of_a_group(state: State) -> None:
    task(state, 112).kind.group.kinds += 1


def lease(state: State) -> None:
    executor(state).group = None


def leased_twice(state: State) -> None:
    group = executor(state).group
    assert group is not None
    group.leased.append(executor(state))


def foreign_lease(state: State) -> None:
    task(state, 112).kind.group.leased.append(executor(state))


def busy(state: State) -> None:
    state.pool.busy.clear()


def busy_and_gone(state: State) -> None:
    state.pool.busy[99] = Executor(99, "py")


def idle(state: State) -> None:
    state.pool.idle["py"].append(executor(state))


def not_ready(state: State) -> None:
    executor(state).ready = False


def lost_call(state: State) -> None:
    executor(state).calls.pop()


def call_of_nobody(state: State) -> None:
    executor(state).calls[0].executor = None


def stopped_call(state: State) -> None:
    executor(state).calls[0].row = TaskRow.STOPPED


def interrupted_in_vain(state: State) -> None:
    executor(state).grace_ends = 9e9


def cancelled_and_listed(state: State) -> None:
    executor(state).dying = True
    executor(state).calls[0].row = TaskRow.CANCELLING


def cancelled_and_forgotten(state: State) -> None:
    cancelled = executor(state).calls[0]
    cancelled.row = TaskRow.CANCELLING
    del cancelled.session.tasks[cancelled.id]


def finished_call(state: State) -> None:
    executor(state).calls[0].row = TaskRow.FINISHED


def two_run(state: State) -> None:
    executor(state).calls[1].row = TaskRow.RUNNING


def none_runs(state: State) -> None:
    executor(state).calls[0].row = TaskRow.CALLING


def load(state: State) -> None:
    executor(state).load += 1


def cached(state: State) -> None:
    executor(state).cached.clear()


def cached_by(state: State) -> None:
    target(state, 10).cached_by = None


def empty_cached_by(state: State) -> None:
    target(state, 200).cached_by = []


def run_of_nobody(state: State) -> None:
    state.dispatch.runs.clear()


def ended_run(state: State) -> None:
    state.dispatch.runs[1].row = TaskRow.FINISHED


def free_cpus(state: State) -> None:
    state.pool.free.cpus += 1


def too_much_taken(state: State) -> None:
    state.capacity = state.pool.free.capacity = Resources(0)


def content(state: State) -> None:
    target(state, 10).content = None


def content_too_early(state: State) -> None:
    target(state, 12).content = b""


def needed_by_nobody(state: State) -> None:
    target(state, 200).wanted = False


def wanted_and_lingering(state: State) -> None:
    target(state, 11).wanted = True


def lingering(state: State) -> None:
    state.objects.lingering.remove(target(state, 11))


def order_of_lingering(state: State) -> None:
    lingers = target(state, 11)
    state.objects.lingering.times = {target(state, 10): 9e9, lingers: 1.0}


def unnoticed_expiry(state: State) -> None:
    target(state, 11)  # which lingers
    state.objects.lingering.expiry = 9e9


def lingering_bytes(state: State) -> None:
    state.objects.lingering.bytes += 1


def gone(state: State) -> None:
    target(state, 200).row = ObjectRow.GONE


def absent_and_wanted(state: State) -> None:
    target(state, 12).row = ObjectRow.ABSENT


def made_by_nobody(state: State) -> None:
    target(state, 212).producer = None


def fetches(state: State) -> None:
    state.objects.fetches.going.pop(1)


def foreign_fetch(state: State) -> None:
    stranger = DataObject(object_id(999), target(state, 10).kind, session(state), ObjectRow.PULLING)
    state.objects.fetches.going[1] = stranger


def queue(state: State) -> None:
    state.objects.fetches.queue = FetchQueue()


def idle_fetches(state: State) -> None:
    for fetch, one in list(state.objects.fetches.going.items()):
        one.row = ObjectRow.REMOTE
        state.objects.fetches.queue.add(one)
        del state.objects.fetches.going[fetch]


def shared_files(state: State) -> None:
    state.objects.files.counts[1] = 2


def kept_effect(state: State) -> None:
    state.outbox.effects.append(TakeBackCalls(1))


CHANGES: list[Callable[[State], None]] = [
    row_of_a_task,
    ended_task,
    missing_inputs,
    forgotten_object,
    misplaced_object,
    misplaced_task,
    producer,
    foreign_producer,
    consumers,
    waiting,
    empty_waiting,
    ready_queue,
    ready_count,
    kinds_of_a_group,
    lease,
    leased_twice,
    foreign_lease,
    busy,
    busy_and_gone,
    idle,
    not_ready,
    lost_call,
    call_of_nobody,
    stopped_call,
    interrupted_in_vain,
    cancelled_and_listed,
    cancelled_and_forgotten,
    finished_call,
    two_run,
    none_runs,
    load,
    cached,
    cached_by,
    empty_cached_by,
    run_of_nobody,
    ended_run,
    free_cpus,
    too_much_taken,
    content,
    content_too_early,
    needed_by_nobody,
    wanted_and_lingering,
    lingering,
    order_of_lingering,
    lingering_bytes,
    unnoticed_expiry,
    gone,
    absent_and_wanted,
    made_by_nobody,
    fetches,
    foreign_fetch,
    queue,
    idle_fetches,
    shared_files,
    kept_effect,
]


@pytest.mark.parametrize("change", CHANGES)
def test_the_checker_finds_what_contradicts_itself(change: Callable[[State], None]) -> None:
    state = a_rich_state()
    change(state)
    with pytest.raises(InvariantError, match="the governor's state contradicts itself"):
        check(state)
