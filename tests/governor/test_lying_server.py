"""Orders that make no sense are the server's fault: they end its connection, and nothing else."""

from __future__ import annotations

import signal
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio

from rain.base.errors import ProtocolError
from rain.base.ids import SessionId, spell
from rain.base.resources import Resources
from rain.base.wire.orders import Orders, PlacedObjects
from rain.daemon import program
from rain.governor.core.effects import Effect
from rain.governor.core.events import OrdersReceived
from rain.rpc.codec import from_bytes, to_bytes
from tests.governor.test_whole import PATIENCE, Program
from tests.governor.words import (
    PLAIN,
    add_task,
    builtin_kind,
    kind_id,
    object_id,
    python_kind,
    task_id,
)
from tests.governor.world import World
from tests.rpc.fakes import FakeServer, serving
from tests.support.malformed import spoiled

LIES = 150

Lie = Callable[[Orders], bytes]


class LiedTo(World):
    """A world in which one message of the server is another one than it must be.

    Its server does not judge what it hears, for it does not know what it has said.
    """

    def __init__(self, lie_at: int, lie: Lie) -> None:
        super().__init__(Resources(4))
        self.messages = 0
        self._lie_at = lie_at
        self._lie = lie

    def order(self, orders: Orders) -> list[Effect]:
        for session in orders.forget_sessions:
            self.told_kinds = {kind for kind in self.told_kinds if kind >> 32 != session}
        said = (self._lie if self.messages == self._lie_at else to_bytes)(orders)
        self.messages += 1
        return self.turn(OrdersReceived(from_bytes(Orders, said)))

    def hear(self, update: object) -> None:
        """It may be about anything."""

    def start_next(self, number: int) -> bool:
        executor = self.executors[number]
        if executor.running is not None or not executor.unstarted or executor.killed:
            return False
        executor.start()
        return True

    def _take_back(self, number: int) -> None:
        """It takes its next call before, or one without any time would come back forever."""
        self.start_next(number)
        super()._take_back(number)

    def go_on(self) -> None:
        """Everything that was ordered until now ends somehow."""
        for number in list(self.executors):
            if self.executors[number].killed:
                self.die(number)
                continue
            if not self.executors[number].ready:
                self.ready(number)
            self.work(number)
        for fetch in list(self.fetches)[:1]:
            self.fetched(fetch, b"fetched")
        for run in list(self.runs):
            self.end_run(run)
        for asked in list(self.look_ups):
            self.miss(asked)
        for kept in list(self.keeps):
            self.kept(kept)
        self.tick()


def everything_is_ordered(world: World, go_on: Callable[[], None]) -> None:
    """Orders of every kind."""
    one, two = python_kind(2), python_kind(4, outputs=2)
    builtin = builtin_kind(3)
    world.place(10, b"function")
    world.place(11)
    world.place(12, b"data")
    orders = Orders()
    world.lend(13, b"lent", orders=orders)
    world.assign(one, 100, (10, 13), (200,), orders=orders)
    world.assign(one, 101, (10, 200), (201,))
    world.assign(two, 102, (10, 11), (202, 203))
    world.assign(builtin, 103, (12,), (204,))
    world.assign(builtin_kind(5, cache="/cache"), 104, (12,), (205,))
    world.assign(python_kind(6, priority=3), 105, (10,), (206,))
    world.assign(builtin, 106, (204, 205), (207,), run=3)
    go_on()
    world.stop(101)
    world.cancel(102)
    world.assign(one, 101, (10, 200), (201,), run=2)
    world.place(201, source="other:1")
    world.drop(12, 200, 10)
    go_on()
    world.place(12, b"data", session=2)
    world.assign(python_kind(2, session=2), 100, (12,), (200,))
    world.forget()
    go_on()
    world.forget(2)


def changed(random: Random, orders: Orders) -> bytes:
    """The message with faults in its bytes."""
    return spoiled(random, to_bytes(orders))


def untrue(random: Random, orders: Orders) -> bytes:
    """A message in order that says something else: of other tasks and objects, or more."""
    numbers = (10, 11, 12, 13, 100, 101, 102, 103, 104, 105, 106, 200, 201, 202, 204, 206, 300)
    any_id = object_id(random.choice(numbers), random.choice((1, 1, 1, 2, 7)))
    lie: Any = deepcopy(orders)
    match random.randrange(7):
        case 6:
            lie.asked.ids.append(any_id)
            lie.asked.runs.append(random.choice((1, 2, 3)))
        case 0:
            lie.drops.append(any_id)
        case 1:
            lie.forget_sessions.append(SessionId(random.choice((1, 2, 3))))
        case 2:
            lie.stop_ids.append(any_id)
            lie.stop_runs.append(random.choice((1, 2, 3)))
        case 3:
            lie.cancelled.ids.append(any_id)
            lie.cancelled.runs.append(1)
            lie.cancelled.graces.append(1.0)
        case 4:
            source = random.choice(("", "other:1", "bad"))
            placed: PlacedObjects = lie.objects
            placed.ids.append(any_id)
            placed.kinds.append(kind_id(PLAIN, random.choice((1, 2))))
            placed.content_types.append("")
            placed.sizes.append(random.choice((0, 5, -1, 2**60)))
            placed.sources.append(source)
            placed.data.append(b"hello")
        case _:
            columns = [
                column
                for column in (lie.tasks.ids, lie.tasks.inputs, lie.tasks.outputs, lie.objects.ids)
                if column
            ]
            if columns:
                column = random.choice(columns)
                column[random.randrange(len(column))] = any_id
    return to_bytes(lie)


@pytest.mark.parametrize("how", [changed, untrue])
def test_a_lie_is_told_from_the_truth_or_does_no_harm(
    how: Callable[[Random, Orders], bytes],
) -> None:
    honest = LiedTo(-1, to_bytes)
    everything_is_ordered(honest, honest.go_on)
    noticed = 0
    for seed in range(LIES):
        random = Random(seed)
        world = LiedTo(seed % honest.messages, partial(how, random))
        try:
            everything_is_ordered(world, world.go_on)
        except ProtocolError:
            noticed += 1
    assert LIES // 5 < noticed < LIES


def test_a_task_makes_objects_of_its_own_session_only() -> None:
    world = World()
    orders = world.assign(python_kind(), 100, (), (200,), send=False)
    orders.tasks.outputs[0] = object_id(200, session=2)
    with pytest.raises(ProtocolError, match="the task 1/100 makes 2/200, of another session"):
        world.order(orders)


def test_what_tasks_of_another_session_read_is_not_forgotten() -> None:
    world = World()
    world.place(10, b"data", session=1)
    orders = world.assign(builtin_kind(session=2), 100, (), (200,), send=False)
    orders.tasks.input_counts[0] = 1
    orders.tasks.inputs.append(object_id(10, session=1))
    world.order(orders)
    with pytest.raises(ProtocolError, match="the object 1/10 is forgotten with its session"):
        world.forget(1)


def test_both_sessions_may_be_forgotten_at_once() -> None:
    world = World()
    world.place(10, b"data", session=1)
    orders = world.assign(builtin_kind(session=2), 100, (), (200,), send=False)
    orders.tasks.input_counts[0] = 1
    orders.tasks.inputs.append(object_id(10, session=1))
    world.order(orders)
    world.order(Orders(forget_sessions=[SessionId(1), SessionId(2)]))
    assert world.stopped_runs == [1]


@pytest.mark.whole
@pytest.mark.parametrize("options", [("--cpus", "1"), ("--zero",)])
def test_a_governor_says_in_one_line_that_its_server_lies(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    # given: tasks of a kind that was never told
    kind = python_kind()
    orders = Orders()
    add_task(orders.tasks, task_id(100), kind, [], [object_id(200)])

    def start(port: int) -> Program:
        return Program(
            tmp_path / "governor",
            *("governor", f"127.0.0.1:{port}", *options),
            *("--insecure", "--workdir", str(tmp_path / "work")),
        )

    async def main() -> int:
        server = FakeServer()
        async with serving(server, PATIENCE) as here:
            governor = await trio.to_thread.run_sync(start, here.port)
            try:
                # when
                server.governors[0].order(orders)
                # then
                status = await trio.to_thread.run_sync(governor.process.wait, PATIENCE)
            finally:
                governor.process.send_signal(signal.SIGKILL)
            assert status == 1
            assert "lost the server, the governor stops" in governor.said
            assert f"the kind {spell(kind.id)} of tasks was not told" in governor.said
            assert "Traceback" not in governor.said
            ((reason,),) = await server.journal.until("governor left")
            assert "was not told" in reason
        return 0

    program.run(main)
    assert not (tmp_path / "work").exists()
