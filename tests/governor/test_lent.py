"""Objects that come with the tasks that read them, and go with these."""

import pytest

from rain.base.errors import ProtocolError
from rain.base.ids import session_of
from rain.base.wire.orders import Orders
from rain.governor.core.tables import ObjectRow
from tests.governor.words import builtin_kind, object_id
from tests.governor.world import World


def row_of(world: World, number: int) -> ObjectRow:
    session = world.reactor.state.sessions.get(session_of(object_id(number)))
    target = None if session is None else session.objects.get(object_id(number))
    return ObjectRow.GONE if target is None else target.row


def lend(world: World, number: int, task: int, *, run: int = 1, times: int = 1) -> None:
    """A task that reads an object which comes with it."""
    orders = Orders()
    world.lend(number, b"lent", orders=orders)
    made = (number + 1000,)
    inputs = (number,) * times
    world.assign(builtin_kind(), task, inputs, made, run=run, orders=orders)


def contents(world: World) -> list[object]:
    return [[one.content for one in run.inputs] for run in world.runs.values()]


@pytest.mark.parametrize("times", [1, 2])
def test_a_task_reads_what_came_with_it_and_then_it_goes(times: int) -> None:
    world = World(linger_seconds=0)
    lend(world, 10, 100, times=times)
    assert contents(world) == [[b"lent"] * times]
    (run,) = world.runs
    world.end_run(run, [b"made"])
    assert row_of(world, 10) is ObjectRow.GONE
    assert not any(update.located for update in world.updates)


def test_it_goes_with_a_task_that_is_stopped_and_comes_with_its_next_run() -> None:
    world = World(linger_seconds=0)
    lend(world, 10, 100)
    world.stop(100)
    assert row_of(world, 10) is ObjectRow.GONE
    lend(world, 10, 100, run=2)
    assert row_of(world, 10) is ObjectRow.HELD


def test_what_lingers_is_taken_back() -> None:
    world = World(linger_seconds=5)
    lend(world, 10, 100)
    world.stop(100)
    assert row_of(world, 10) is ObjectRow.LINGERING
    lend(world, 10, 100, run=2)
    assert row_of(world, 10) is ObjectRow.HELD
    world.stop(100, run=2)
    assert row_of(world, 10) is ObjectRow.LINGERING


def test_it_waits_for_its_task_when_that_comes_in_a_later_message() -> None:
    # given: orders that were too long for one message
    world = World(linger_seconds=0)
    orders = Orders()
    world.lend(10, b"lent", orders=orders)
    world.order(orders)
    assert row_of(world, 10) is ObjectRow.HELD
    world.tick(60)
    # when
    world.assign(builtin_kind(), 100, (10,), (11,))
    # then
    assert contents(world) == [[b"lent"]]
    world.stop(100)
    assert row_of(world, 10) is ObjectRow.GONE


def test_what_the_server_counts_on_meanwhile_stays_when_the_task_has_ended() -> None:
    # given: another task shall read it, too
    world = World(linger_seconds=0)
    lend(world, 10, 100)
    world.place(10, b"lent")
    # when
    world.stop(100)
    # then
    assert row_of(world, 10) is ObjectRow.HELD
    world.drop(10)
    assert row_of(world, 10) is ObjectRow.GONE


def test_what_is_made_here_meanwhile_stays_when_the_task_has_ended() -> None:
    # given: its maker runs again, for the sake of another output
    world = World(linger_seconds=0)
    lend(world, 10, 100)
    world.assign(builtin_kind(4, outputs=2), 101, (), (10, 12))
    # when
    world.stop(100)
    (run,) = world.runs
    world.end_run(run, [b"again", b"new"])
    # then
    assert row_of(world, 10) is ObjectRow.HELD


def test_a_task_keeps_what_came_with_it_when_its_maker_is_stopped() -> None:
    world = World(linger_seconds=0)
    lend(world, 10, 100)
    world.assign(builtin_kind(4, outputs=2), 101, (), (10, 12))
    world.stop(101)
    world.drop(10)
    assert row_of(world, 10) is ObjectRow.HELD
    world.stop(100)
    assert row_of(world, 10) is ObjectRow.GONE


def test_it_comes_instead_of_a_copy_that_was_awaited_and_dropped() -> None:
    # given: a task waits for a copy that the server has dropped
    world = World(linger_seconds=0)
    world.place(10)
    world.assign(builtin_kind(), 99, (10,), (98,))
    world.drop(10)
    # when
    lend(world, 10, 100)
    # then
    assert not world.fetches
    assert contents(world)[0] == [b"lent"]


def test_what_is_being_made_here_is_not_lent() -> None:
    world = World()
    world.assign(builtin_kind(), 100, (), (10,))
    with pytest.raises(ProtocolError, match="is lent where it is being made"):
        lend(world, 10, 101)


def test_it_goes_with_its_session() -> None:
    world = World()
    lend(world, 10, 100)
    world.forget()
    assert row_of(world, 10) is ObjectRow.GONE
