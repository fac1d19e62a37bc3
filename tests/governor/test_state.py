"""What the server's orders and the ends of tasks change."""

import pytest

from rain.base.errors import InvariantError, ProtocolError
from rain.base.ids import KindId, SessionId
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.resources import Resources
from rain.base.wire.orders import Orders
from rain.base.wire.update import TaskNote
from rain.governor.core.effects import SendUpdate, StopBuiltin
from rain.governor.core.events import BuiltinDone, CallsDone
from rain.governor.core.outbox import HEAVY
from rain.governor.core.reactor import HEARTBEAT
from rain.governor.core.results import Failed, Made, PassedOn
from tests.governor.busy import a_busy_world
from tests.governor.words import (
    PLAIN,
    add_task,
    builtin_kind,
    kind_id,
    object_id,
    python_kind,
    task_id,
)
from tests.governor.world import World, stored


def test_a_task_of_an_unregistered_type_fails_by_name() -> None:
    world = World()
    world.assign(python_kind(task_type="rusty/hello"), 100, (), (200,))
    message = world.failed[task_id(100)].message
    assert message == (
        "no executor 'rusty' is registered for the task type 'rusty/hello';"
        " this governor knows buildin, py"
    )


def test_a_task_type_without_a_slash_fails_by_name() -> None:
    world = World()
    world.assign(python_kind(task_type="py"), 100, (), (200,))
    assert "'py'" in world.failed[task_id(100)].message


def test_a_task_that_needs_more_than_there_is_fails_instead_of_waiting() -> None:
    world = World(Resources(2))
    world.place(10)
    world.assign(builtin_kind(resources=Resources(3, (("gpus", 1),))), 100, (10,), (200,))
    assert world.failed[task_id(100)].message.endswith(
        "more than this governor has: 3 cpus, 1 gpus"
    )


def test_a_stop_means_one_run() -> None:
    world = World()
    world.assign(builtin_kind(), 100, (), (200,), run=2)
    world.stop(100, run=1)
    assert task_id(100) in world.assigned
    world.stop(100, run=2)
    assert world.stopped_runs == [1]


def test_stopping_what_is_not_here_is_no_mistake() -> None:
    world = World()
    world.stop(100)
    world.place(10, b"")
    world.stop(100)
    assert not world.failed


def test_the_late_result_of_a_stopped_run_is_ignored() -> None:
    # Given a task that was stopped while it ran, and assigned again
    world = World(Resources(1))
    world.assign(builtin_kind(), 100, (), (200,))
    orders = Orders(stop_ids=[task_id(100)], stop_runs=[1])
    world.assign(builtin_kind(), 100, (), (200,), run=2, orders=orders)
    assert StopBuiltin(1) in world.effects
    # When the first run ends with a result
    world.end_run(1, [stored(world)])
    # Then it counts for nothing, and the second one runs in its place
    assert not world.finished
    assert not world.files
    world.end_run(2, [b"right"])
    assert world.finished[task_id(100)] == [b"right"]


def test_the_resources_of_a_stopped_run_come_back_when_it_has_ended() -> None:
    world = World(Resources(1))
    world.assign(builtin_kind(), 100, (), (200,))
    world.assign(builtin_kind(), 101, (), (201,))
    world.stop(100)
    assert list(world.runs) == [1]
    world.end_run(1)
    assert list(world.runs) == [2]


def test_a_waiting_and_a_ready_task_can_be_stopped() -> None:
    world = World(Resources(1))
    world.place(10)
    kind = builtin_kind()
    world.assign(kind, 100, (10,), (200,))
    world.assign(kind, 101, (), (201,))
    world.assign(kind, 102, (), (202,))
    world.assign(kind, 103, (), (203,))
    world.stop(100)
    world.stop(102)
    world.end_run(1)
    world.end_run(2)
    assert list(world.finished) == [task_id(101), task_id(103)]


def test_a_task_with_the_wrong_number_of_outputs_fails() -> None:
    world = World()
    world.assign(builtin_kind(), 100, (), (200,))
    world.end_run(1, [stored(world), b""])
    assert world.failed[task_id(100)].message == "the task made 2 outputs instead of 1"
    assert not world.files


def test_a_task_cannot_pass_on_what_it_did_not_read() -> None:
    world = World(Resources(1))
    world.place(10, b"secret")
    world.assign(builtin_kind(), 100, (), (200,))
    world.end_run(1, [Made(PassedOn(object_id(10)))])
    assert "passed on the object 1/10" in world.failed[task_id(100)].message


def test_what_a_finished_task_said_about_itself_is_told() -> None:
    world = World()
    world.place(10, b"f")
    world.assign(python_kind(), 100, (10,), (200,))
    world.assign(python_kind(), 101, (10,), (201,))
    world.ready(1)
    world.start_next(1)
    world.answer(1)
    unread = world.executors[1].unread
    assert unread is not None
    unread.notes.append(TaskNote(task_id(100), '{"a": 1}', "debug"))
    world.collect(1)
    notes = [note for update in world.updates for note in update.task_notes]
    assert notes == [TaskNote(task_id(100), '{"a": 1}', "debug")]


def test_one_message_may_bring_tasks_of_several_sessions() -> None:
    world = World(Resources(2))
    orders = Orders()
    for session in (1, 2):
        world.assign(builtin_kind(session=session), 100, (), (200,), orders=orders, send=False)
    world.order(orders)
    assert {run.task for run in world.runs.values()} == {task_id(100, 1), task_id(100, 2)}
    world.forget(2)
    assert world.stopped_runs == [2]


def test_it_is_busy_while_an_executor_or_a_program_inside_of_it_works() -> None:
    world = World(Resources(2))
    assert not world.reactor.is_busy
    world.assign(builtin_kind(), 100, (), (200,))
    assert world.reactor.is_busy
    world.end_run(1)
    assert not world.reactor.is_busy
    world.assign(python_kind(), 101, (), (201,))
    world.ready(1)
    assert world.reactor.is_busy
    world.work(1)
    assert not world.reactor.is_busy


def test_a_call_surely_runs_when_no_other_one_lies_behind_it() -> None:
    world = a_busy_world(calls=3)
    state = world.reactor.state
    world.start_next(1)
    assert state.running(task_id(101)) is None  # it may have ended, and the next one runs
    assert state.all_running() == []
    world.answer(1)
    world.collect(1)
    world.start_next(1)
    task = state.running(task_id(102))
    assert task is not None
    assert state.all_running() == [task]
    assert state.running(task_id(103)) is None


def test_a_program_inside_the_governor_runs() -> None:
    world = World(Resources(1))
    for number in (100, 101):
        world.assign(builtin_kind(), number, (), (number + 100,))
    state = world.reactor.state
    task = state.running(task_id(100))
    assert task is not None
    assert state.all_running() == [task]
    assert state.running(task_id(101)) is None


def test_a_turn_without_news_says_nothing_until_the_heartbeat() -> None:
    world = World()
    assert world.tick(HEARTBEAT / 2) == []
    assert world.reactor.next_time() == pytest.approx(world.now + HEARTBEAT / 2)
    (beat,) = world.tick(HEARTBEAT / 2)
    assert isinstance(beat, SendUpdate)
    assert world.tick(HEARTBEAT / 2) == []


def test_all_news_of_a_turn_are_one_update() -> None:
    world = World(Resources(2))
    orders = world.place(10, b"data", send=False)
    world.assign(builtin_kind(), 100, (), (200,), orders=orders)
    world.turn(BuiltinDone(1, 0.5, [b"x"]))
    assert len(world.updates) == 2


def test_the_report_lists_tasks_and_objects_that_are_here() -> None:
    world = World(Resources(2, (("gpus", 1),)))
    world.place(10, b"data")
    world.place(11)
    world.assign(builtin_kind(), 100, (10,), (200,))
    report = world.reactor.report("me:1")
    assert report.address == "me:1"
    assert report.tasks == (task_id(100),)
    assert report.objects == (object_id(10), object_id(200))  # what the task will make, too
    assert report.resources == (("cpus", 2), ("gpus", 1))


def test_news_about_a_forgotten_session_are_ignored() -> None:
    world = World(Resources(1))
    world.place(10)
    world.assign(builtin_kind(), 100, (), (200,))
    world.forget()
    world.forget()
    world.fetched(1, b"late")
    world.end_run(1, Failed("late"))
    assert not world.failed
    assert world.reactor.find(object_id(10)) is None


def unknown_kind_of_tasks(orders: Orders) -> None:
    add_task(orders.tasks, task_id(100), python_kind(), [], [object_id(200)])


def unknown_kind_of_objects(orders: Orders) -> None:
    orders.task_kinds.append(python_kind())


def unknown_input(orders: Orders) -> None:
    orders.object_kinds.append(ObjectKind(kind_id(PLAIN)))
    orders.task_kinds.append(python_kind())
    add_task(orders.tasks, task_id(100), python_kind(), [object_id(10)], [object_id(200)])


def too_few_outputs(orders: Orders) -> None:
    orders.object_kinds.append(ObjectKind(kind_id(PLAIN)))
    orders.task_kinds.append(python_kind())
    add_task(orders.tasks, task_id(100), python_kind(), [], [])


def too_many_outputs(orders: Orders) -> None:
    too_few_outputs(orders)
    orders.tasks.outputs.extend([object_id(200), object_id(201)])


def the_same_task_twice(orders: Orders) -> None:
    orders.object_kinds.append(ObjectKind(kind_id(PLAIN)))
    orders.task_kinds.append(python_kind())
    add_task(orders.tasks, task_id(100), python_kind(), [], [object_id(200)])
    add_task(orders.tasks, task_id(100), python_kind(), [], [object_id(201)])


@pytest.mark.parametrize(
    ("mistake", "complaint"),
    [
        (unknown_kind_of_tasks, "the kind 1/2 of tasks was not told"),
        (unknown_kind_of_objects, "the kind 1/1 of objects was not told"),
        (unknown_input, "reads the object 1/10, which was never named here"),
        (too_few_outputs, "the task 1/100 has too few outputs"),
        (too_many_outputs, "outputs do not add up"),
        (the_same_task_twice, "the task 1/100 is already here"),
    ],
)
def test_orders_that_make_no_sense_are_the_servers_mistake(mistake: object, complaint: str) -> None:
    world = World(checking=False)
    orders = Orders()
    assert callable(mistake)
    mistake(orders)
    with pytest.raises(ProtocolError, match=complaint):
        world.order(orders)


def test_a_kind_that_is_told_again_changes_nothing() -> None:
    world = World()
    world.assign(python_kind(), 100, (), (200,))
    before = world.reactor.state.sessions[SessionId(1)].task_kinds[kind_id(2)]
    world.order(Orders(task_kinds=[TaskKind(KindId(kind_id(2)), "py/", "other")]))
    assert world.reactor.state.sessions[SessionId(1)].task_kinds[kind_id(2)] is before


def test_news_of_executors_and_runs_that_never_were_are_our_own_mistake() -> None:
    world = World()
    with pytest.raises(InvariantError, match="the executor 7"):
        world.turn(CallsDone(7, [], [], []))
    with pytest.raises(InvariantError, match="the run 7"):
        world.turn(BuiltinDone(7, 0.1, []))


def test_what_many_tasks_say_in_one_turn_is_told_in_messages_that_are_not_too_long() -> None:
    # given
    count = 30
    world = World(Resources(count))
    for number in range(count):
        world.assign(builtin_kind(), 100 + number, (), (300 + number,))
    failed = Failed("x", exception=b"y" * 1_000_000)
    # when
    world.turn(*[BuiltinDone(run, 0.001, failed) for run in list(world.runs)])
    # then
    told = [len(update.failed) for update in world.updates if update.failed]
    assert sum(told) == count
    assert max(told) == HEAVY // 1_000_000 + 1
