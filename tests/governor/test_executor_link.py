"""What a link makes of what its executor says, in whatever order, and of what it leaves behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from weakref import ReferenceType, ref

import msgpack
import pytest
import trio
from attrs import Factory, define
from trio.testing import wait_all_tasks_blocked

from rain.base import executor_protocol as protocol
from rain.base.ids import KindId, TaskId
from rain.daemon import program
from rain.governor.core.effects import CallExecutor, CallRow
from rain.governor.core.events import (
    CallsDone,
    CallsTakenBack,
    CallWaits,
    Event,
    ExecutorDied,
    ExecutorReady,
)
from rain.governor.executors.link import ExecutorLink, LinkServices
from rain.governor.executors.process import Places, Started
from rain.governor.machine.memory_files import KernelKills
from rain.governor.storage.store import Store
from rain.rpc.background import Background

NUMBER = 7
REGISTERS: bytes = msgpack.packb([protocol.REGISTER, protocol.PROTOCOL, NUMBER])


@define
class Desk:
    """The executor's ends, in the hands of a test, beside a process that does nothing."""

    link: ExecutorLink
    socket: socket.socket
    tokens: int
    stops: int
    answers: int
    events: list[Event]
    faults: list[str]
    unread: bytearray = Factory(bytearray)

    # What the governor wants.

    def give(self, *tasks: int) -> None:
        calls: list[CallRow] = [(TaskId(task), KindId(1), b"config", [], []) for task in tasks]
        self.link.call(CallExecutor(NUMBER, [], [], [], calls))

    async def told(self) -> list[Event]:
        """What the link has told since the last look, when all that was said is heard."""
        await wait_all_tasks_blocked()
        events = self.events[:]
        self.events.clear()
        return events

    # What an executor does.

    def read(self) -> list[Any]:
        """One frame; all that has come is taken out for it, as executors do."""
        if not self.unread:
            self.unread += self.socket.recv(1 << 16)
        end = 4 + int.from_bytes(self.unread[:4], "little")
        frame: list[Any] = msgpack.unpackb(self.unread[4:end])
        del self.unread[:end]
        return frame

    def take_token(self) -> int:
        """The epoch of the next token, 0 for none."""
        try:
            return int.from_bytes(os.read(self.tokens, protocol.TOKEN), "little")
        except BlockingIOError:
            return 0

    def say(self, message: bytes) -> None:
        self.socket.sendall(len(message).to_bytes(4, "little") + message)

    def answer(self, task: int) -> None:
        os.write(self.answers, msgpack.packb([task, 1.0, 1.03125, [b"x"]]))

    def ask_to_look(self) -> None:
        self.say(msgpack.packb([protocol.LOOK]))

    def end(self) -> None:
        self.link.child.process.kill()
        self.link.died(KernelKills())


def done(*tasks: int) -> CallsDone:
    count = len(tasks)
    ids = [TaskId(task) for task in tasks]
    return CallsDone(NUMBER, ids, [0.03125] * count, [[b"x"]] * count, starts=[1.0] * count)


def unstarted(events: list[Event]) -> int:
    """How many calls a death has left."""
    (death,) = (event for event in events if isinstance(event, ExecutorDied))
    return death.unstarted


def with_desk(
    tmp_path: Path, scenario: Callable[[Desk], Coroutine[Any, Any, None]], *, registers: bool = True
) -> None:
    """Runs a scenario with a link; mostly its executor has registered."""

    process = subprocess.Popen(["sleep", "60"], start_new_session=True)

    async def main() -> int:
        places = Places(tmp_path, tmp_path, tmp_path)
        for stream in ("out", "err"):
            places.log(NUMBER, stream).touch()
        ours, theirs = socket.socketpair()
        taken_tokens, tokens = os.pipe()
        stopped, stops = os.pipe()
        answers, their_answers = os.pipe()
        os.set_blocking(taken_tokens, False)
        os.set_blocking(answers, False)
        started = Started(process, ours, tokens, taken_tokens, stops, answers)
        events: list[Event] = []
        faults: list[str] = []
        async with trio.open_nursery() as nursery:
            around = LinkServices(
                places,
                Store(tmp_path),
                Background(nursery),
                events.append,
                lambda _, what: faults.append(what),
            )
            link = ExecutorLink(NUMBER, started, around)
            desk = Desk(link, theirs, taken_tokens, stopped, their_answers, events, faults)
            try:
                if registers:
                    desk.say(REGISTERS)
                    assert await desk.told() == [ExecutorReady(NUMBER)]
                await scenario(desk)
            finally:
                link.child.kill()
                process.wait()
                link.close()
                theirs.close()
                os.close(their_answers)
                os.close(stopped)
        return 0

    program.run(main)


@pytest.mark.parametrize("tasks", [(1,), (1, 2)])
def test_each_call_has_a_token(tmp_path: Path, tasks: tuple[int, ...]) -> None:
    async def scenario(desk: Desk) -> None:
        desk.give(*tasks)
        frame = desk.read()
        assert frame[:2] == [protocol.CALLS, 1]
        assert [call[0] for call in frame[5]] == list(tasks)
        assert [desk.take_token() for _ in tasks] == [1] * len(tasks)
        assert desk.take_token() == 0
        for task in tasks:
            desk.answer(task)
        desk.ask_to_look()
        assert await desk.told() == [done(*tasks)]

    with_desk(tmp_path, scenario)


def test_a_late_wish_to_be_looked_at_is_no_answer(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        desk.give(1)
        desk.answer(1)
        desk.link.look()
        desk.ask_to_look()  # for an answer that the governor has found already
        assert await desk.told() == [done(1)]
        assert not desk.faults

    with_desk(tmp_path, scenario)


def test_after_calls_were_taken_back_the_next_one_is_marked_by_its_epoch(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        # given: a call that runs, and one behind it, which is taken back
        desk.give(1)
        desk.give(2)
        assert desk.take_token() == 1
        desk.link.take_back()
        assert await desk.told() == [CallsTakenBack(NUMBER, 1)]
        # when: the executor still holds the frame with the call that was taken back
        desk.give(3)
        # then
        assert [desk.read()[1] for _ in range(3)] == [1, 1, 2]
        assert [desk.take_token(), desk.take_token()] == [2, 0]

    with_desk(tmp_path, scenario)


def test_a_call_that_was_started_cannot_be_taken_back(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        desk.give(1)
        assert desk.take_token() == 1
        desk.link.take_back()
        assert await desk.told() == [CallsTakenBack(NUMBER, 0)]

    with_desk(tmp_path, scenario)


@pytest.mark.parametrize("is_told", [True, False])
def test_an_executor_that_its_governor_has_killed_was_not_killed_by_the_kernel(
    tmp_path: Path, is_told: bool
) -> None:
    async def scenario(desk: Desk) -> None:
        if is_told:
            desk.link.child.kill()
        desk.end()
        (death,) = await desk.told()
        assert isinstance(death, ExecutorDied)
        first = death.cause.partition("\n")[0]
        assert ("was killed by its governor" in first) == is_told
        assert ("SIGKILL (the kernel" in first) != is_told

    with_desk(tmp_path, scenario)


@pytest.mark.parametrize("behind", [0, 2])
def test_a_dead_executor_has_not_started_what_it_has_no_token_of(
    tmp_path: Path, behind: int
) -> None:
    async def scenario(desk: Desk) -> None:
        desk.give(1)
        for task in range(behind):
            desk.give(2 + task)
        desk.read()
        desk.end()
        assert unstarted(await desk.told()) == 1 + behind

    with_desk(tmp_path, scenario)


@pytest.mark.parametrize("behind", [0, 2])
def test_a_dead_executor_has_started_what_it_has_taken_the_token_of(
    tmp_path: Path, behind: int
) -> None:
    async def scenario(desk: Desk) -> None:
        desk.give(1)
        desk.take_token()
        for task in range(behind):
            desk.give(2 + task)
        desk.end()
        assert unstarted(await desk.told()) == behind

    with_desk(tmp_path, scenario)


def test_the_answer_of_a_dead_executor_counts(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        desk.give(1)
        desk.give(2)
        for task in (1, 2):
            desk.take_token()
            desk.answer(task)
        desk.end()
        answers, death = await desk.told()
        assert answers == done(1, 2)
        assert unstarted([death]) == 0

    with_desk(tmp_path, scenario)


def write(content: bytes) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(content)


LEFT: list[tuple[Callable[[Path], object], int]] = [
    (Path.exists, 0),
    (write(b"\x03\x01\x00\x00"), 259),
    (write(b""), 0),
    (Path.mkdir, 0),
]


@pytest.mark.parametrize(("leave", "place"), LEFT)
def test_the_place_that_a_dead_executor_has_noted_is_told(
    tmp_path: Path, leave: Callable[[Path], object], place: int
) -> None:
    async def scenario(desk: Desk) -> None:
        folder = tmp_path / str(NUMBER)
        folder.mkdir()
        leave(folder / protocol.PLACE_FILE)
        desk.end()
        (death,) = await desk.told()
        assert isinstance(death, ExecutorDied)
        assert death.place == place

    with_desk(tmp_path, scenario)


def test_a_call_that_found_no_room_in_the_socket_was_not_started(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        call: CallRow = (TaskId(1), KindId(1), bytes(4_000_000), [], [])
        desk.link.call(CallExecutor(NUMBER, [], [], [], [call]))
        desk.socket.recv(100)  # and not all of it
        desk.end()
        assert unstarted(await desk.told()) == 1

    with_desk(tmp_path, scenario)


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (b"\xc1", "answers nonsense"),
        (msgpack.packb(["1", 0.5, 1.0, []]), "answers ['1'"),
        (msgpack.packb([1]), "answers nonsense"),
    ],
)
def test_an_answer_that_makes_no_sense_costs_the_executor(
    tmp_path: Path, message: bytes, complaint: str
) -> None:
    async def scenario(desk: Desk) -> None:
        desk.give(1)
        os.write(desk.answers, message)
        desk.ask_to_look()
        assert await desk.told() == []
        (fault,) = desk.faults
        assert complaint in fault
        assert desk.link.child.process.wait() < 0

    with_desk(tmp_path, scenario)


@pytest.mark.parametrize(
    "message", [msgpack.packb([protocol.REGISTER, "rain-py-1", NUMBER]), b"", b"\xc1"]
)
def test_a_peer_that_speaks_another_protocol_is_refused_by_name(
    tmp_path: Path, message: bytes
) -> None:
    async def scenario(desk: Desk) -> None:
        desk.say(message)
        assert await desk.told() == []
        assert "which is not 'rain-py-10'" in desk.faults[0]

    with_desk(tmp_path, scenario, registers=False)


@pytest.mark.parametrize(
    ("message", "complaint"), [(REGISTERS, "it registers twice"), (b"\xc1", "which is no message")]
)
def test_what_is_no_message_of_a_registered_executor_costs_it(
    tmp_path: Path, message: bytes, complaint: str
) -> None:
    async def scenario(desk: Desk) -> None:
        desk.say(message)
        assert await desk.told() == []
        assert complaint in desk.faults[0]
        assert desk.link.child.process.wait() < 0

    with_desk(tmp_path, scenario)


def test_one_that_dies_when_it_has_just_registered_has_failed_to_start(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        desk.say(REGISTERS)
        desk.end()
        (death,) = await desk.told()
        assert isinstance(death, ExecutorDied)

    with_desk(tmp_path, scenario, registers=False)


def test_the_last_word_of_a_dead_executor_is_heard(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        desk.give(1)
        desk.take_token()
        desk.socket.sendall(protocol.lacks_frame("too many open files"))
        desk.end()
        (death,) = await desk.told()
        assert isinstance(death, ExecutorDied)
        assert (death.cause, death.short) == (
            "executor 7 cannot go on: too many open files",
            True,
        )

    with_desk(tmp_path, scenario)


def test_waits_of_a_call_are_told_in_their_order(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        desk.give(1)
        told: list[Event] = []
        waiting, going_on = msgpack.packb([protocol.BLOCKED]), msgpack.packb([protocol.RESUMED])
        # The second word may be in the socket while the link still works on the first one.
        hear = desk.link._heard  # pyright: ignore[reportPrivateUsage] # stands for the socket
        desk.say(going_on)
        hear([waiting])
        told += await desk.told()
        desk.answer(1)
        desk.ask_to_look()
        told += await desk.told()
        assert told == [
            CallWaits(NUMBER, waits=True),
            CallWaits(NUMBER, waits=False),
            done(1),
        ]

    with_desk(tmp_path, scenario)


def test_an_interrupt_is_the_number_of_a_call_and_a_signal(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        desk.give(1)
        desk.link.interrupt(1)
        assert os.read(desk.stops, 100) == (1).to_bytes(protocol.STOP, "little")
        assert desk.link.child.process.wait(10) == -signal.SIGINT

    with_desk(tmp_path, scenario)


def test_one_that_was_killed_is_not_interrupted_any_more(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> None:
        desk.give(1)
        desk.link.child.kill()
        desk.link.interrupt(1)
        os.set_blocking(desk.stops, False)
        with pytest.raises(BlockingIOError):
            os.read(desk.stops, 100)

    with_desk(tmp_path, scenario)


@pytest.mark.usefixtures("no_collections")
def test_a_closed_link_is_freed_at_once_with_its_buffers(tmp_path: Path) -> None:
    links: list[ReferenceType[ExecutorLink]] = []

    async def scenario(desk: Desk) -> None:
        desk.give(1)
        desk.answer(1)
        desk.ask_to_look()
        assert await desk.told() == [done(1)]
        links.append(ref(desk.link))

    with_desk(tmp_path, scenario)
    assert [link() for link in links] == [None]
