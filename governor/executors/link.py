"""The governor's connection to one Python executor: the process and its channels."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from attrs import frozen

from rain.base import executor_protocol as protocol
from rain.base.errors import ProtocolError
from rain.base.memory import MEASURED_FROM
from rain.governor.core.effects import CallExecutor, DropCached
from rain.governor.core.events import (
    CallsDone,
    CallsTakenBack,
    CallWaits,
    ExecutorDied,
    ExecutorReady,
    ProcessesLeft,
    Tell,
)
from rain.governor.executors.messages import (
    BLOCKED,
    LOOK,
    RESUMED,
    AnswerReader,
    adopt_all,
    calls_frame,
    drop_frame,
    registers,
)
from rain.governor.executors.process import (
    KILLED,
    TAIL_OF_A_START,
    TAIL_OF_A_TASK,
    Places,
    Started,
    cause_of_death,
    kill_group,
    place_reached,
    printed_so_far,
)
from rain.governor.executors.tokens import Tokens
from rain.governor.machine.memory_files import KernelKills, take_peak
from rain.governor.machine.strays import has_left
from rain.governor.storage.file_work import InOrder
from rain.governor.storage.store import Store
from rain.rpc.background import Background
from rain.rpc.executor_frames import SocketLink

_READ = 1 << 16  # the capacity of a pipe; a larger buffer would cost new pages each time


@frozen
class LinkServices:
    """The state that the links to all executors of a governor share."""

    places: Places
    store: Store
    background: Background
    tell: Tell
    blame: Callable[[int, str], object]  # an executor, and what it did wrong


class ExecutorLink:
    """Sends calls, and tells events."""

    def __init__(self, number: int, started: Started, around: LinkServices) -> None:
        store = around.store
        self.number = number
        self.process = started.process
        self._places = around.places
        self._store = store
        self._tell = InOrder(around.tell, around.background)
        self._blame = around.blame
        self._tokens = Tokens(started.tokens, started.taken_tokens)
        self._stops = started.stops
        self._answers = started.answers
        stages = around.places.stages(number)
        self._reader = AnswerReader(number, stages, store)
        self._registered = False
        self._killed = False
        self._answered = 0  # number of calls
        self._interrupted = False  # in the only call that it has
        self._fault = ""  # why it was killed
        self._lacks = ""  # why it ends itself
        self._link = SocketLink(started.socket, around.background, self._heard, self._hung_up)

    # Downwards.

    def call(self, effect: CallExecutor) -> None:
        """Sends calls. Tokens are sent first, so that each queued call has or had a token."""
        if self._killed:
            return
        self._tokens.give(len(effect.calls))
        self._link.send(calls_frame(effect, self._tokens.epoch))

    def drop(self, effect: DropCached) -> None:
        """Tells the executor which objects it may forget."""
        self._link.send(drop_frame(effect))

    def take_back(self) -> None:
        """Takes back all calls that were not started, after it has reported earlier answers."""
        unstarted = self._tokens.take_back()
        self.look()
        self._tell(CallsTakenBack(self.number, unstarted))

    def interrupt(self, call: int) -> None:
        """Interrupts a call in whatever it does, unless the executor has answered it meanwhile."""
        if self._killed or call <= self._answered:
            return
        self._interrupted = True
        # One that has closed its end, or never reads there, is killed when the grace is over.
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self._stops, protocol.stop(call))
        # It was not waited for, so this is nobody else's number, even if the process has ended.
        os.kill(self.process.pid, signal.SIGINT)

    def refuse_wait(self, call: int, most: int) -> None:
        """Lets a call fail that waits for other tasks, if it still waits."""
        if self._killed or call <= self._answered:
            return
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self._stops, protocol.refusal(call, most))
        os.kill(self.process.pid, signal.SIGINT)  # as above

    def kill(self) -> None:
        """Kills the process and all that it started; `died` is called when it is gone."""
        self._killed = True
        kill_group(self.process)

    # Upwards.

    def look(self) -> None:
        """Reads available answers."""
        while True:
            try:
                data = os.read(self._answers, _READ)
            except BlockingIOError:
                return
            if not data:
                return
            try:
                done = self._reader.feed(data)
            except ProtocolError as error:
                self._wrong(str(error))
                return
            if done is not None:
                self._tell_done(done)
            if len(data) < _READ:
                return  # that was all

    def _tell_done(self, done: CallsDone) -> None:
        self._answered += len(done.tasks)
        longest = max(done.durations, default=0.0)
        if longest >= MEASURED_FROM:
            peak, done.mapped = take_peak(self.process.pid)
            done.peaks = [peak if seconds == longest else 0 for seconds in done.durations]
        staged = self._reader.take_staged()
        if self._interrupted:
            self._interrupted = False
            self._look_for_what_is_left()
        if staged:
            self._tell.later(lambda: adopt_all(done, staged, self._store), lambda whole: [whole])
        else:
            self._tell(done)

    def _look_for_what_is_left(self) -> None:
        """Looks for processes that the interrupted call has started; other news comes later."""
        word = self._places.origin.executor(self.number)
        self._tell.later(
            partial(has_left, self.process.pid, word),
            lambda left: [ProcessesLeft(self.number)] if left else [],
        )

    async def idle(self) -> None:
        """Waits until no thread works on the files of this executor."""
        await self._tell.idle()

    def died(self, kills: KernelKills) -> None:
        """The process has ended, but was not reaped yet: reports its last answers and its end."""
        kill_group(self.process)
        status = self.process.wait()
        unstarted = self._tokens.take()
        self._link.drain()
        self.look()
        tail = TAIL_OF_A_TASK if self._registered else TAIL_OF_A_START
        if self._lacks:
            cause = f"executor {self.number} cannot go on: {self._lacks}"
        else:
            fault = self._fault or (KILLED if self._killed else "")
            cause = cause_of_death(self.number, status, self._places, tail, fault)
        place = place_reached(self.number, self._places)
        printed = printed_so_far(self.number, self._places)
        died = ExecutorDied(
            self.number,
            cause,
            unstarted,
            place,
            printed,
            short=bool(self._lacks),
            status=status,
            by_kernel=None if self._killed or status != -signal.SIGKILL else kills.take_one(),
        )
        self._tell(died)

    def close(self) -> None:
        """Closes the channels."""
        self._link.close()
        self._tokens.close()
        for descriptor in (self._stops, self._answers):
            os.close(descriptor)

    def _heard(self, frames: list[bytes]) -> None:
        look = False
        for frame in frames:
            if frame == LOOK:
                look = True
            elif frame in (BLOCKED, RESUMED):
                self.look()  # what it has answered before comes first
                self._tell(CallWaits(self.number, waits=frame == BLOCKED))
            elif frame.startswith(protocol.LACKS_HEAD):
                self._lacks = protocol.lack_of(frame)
            elif not self._registers(frame):
                return
        if look:
            self.look()

    def _registers(self, frame: bytes) -> bool:
        """Handles the registration, the first message and no later one; False for any other."""
        if self._registered:
            self._wrong(f"it says {frame[:100]!r}, which is no message")
            return False
        if not registers(frame, self.number):
            self._wrong(f"it registers with {frame[:100]!r}, which is not {protocol.PROTOCOL!r}")
            return False
        self._registered = True
        self._tell(ExecutorReady(self.number))
        return True

    def _hung_up(self, cause: str) -> None:
        """The socket has ended; the process ends when it next reads it, if it has not yet."""

    def _wrong(self, what: str) -> None:
        self._blame(self.number, what)
        self._fault = self._fault or f"broke the protocol: {what}"
        self.kill()
