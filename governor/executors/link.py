"""The governor's connection to one Python executor: the process and its channels."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from functools import partial

from attrs import evolve, frozen

from rain.base import executor_protocol as protocol
from rain.base.errors import ProtocolError
from rain.base.memory import MEASURED_FROM
from rain.governor.core.effects import CallExecutor, DropCached
from rain.governor.core.events import (
    CallsDone,
    CallsTakenBack,
    CallWaits,
    ExecutorReady,
    ProcessesLeft,
    Tell,
)
from rain.governor.executors.child import Blame, Child
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
from rain.governor.executors.process import Places, Started, place_reached
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
    blame: Blame


class ExecutorLink:
    """Sends calls, and tells events."""

    def __init__(self, number: int, started: Started, around: LinkServices) -> None:
        store = around.store
        self.number = number
        self.child = Child(number, started.process, around.places, around.blame)
        self._places = around.places
        self._store = store
        self._tell = InOrder(around.tell, around.background)
        self._tokens = Tokens(started.tokens, started.taken_tokens)
        self._stops = started.stops
        self._answers = started.answers
        stages = around.places.stages(number)
        self._reader = AnswerReader(number, stages, store)
        self._answered = 0  # number of calls
        self._interrupted = False  # in the only call that it has
        self._lacks = ""  # why it ends itself
        self._link = SocketLink(started.socket, around.background, self._heard, self._hung_up)

    # Downwards.

    def call(self, effect: CallExecutor) -> None:
        """Sends calls. Tokens are sent first, so that each queued call has or had a token."""
        if not self.child.gets_calls:
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
        if not self.child.gets_calls or call <= self._answered:
            return
        self._interrupted = True
        # One that has closed its end, or never reads there, is killed when the grace is over.
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self._stops, protocol.stop(call))
        # It was not waited for, so this is nobody else's number, even if the process has ended.
        os.kill(self.child.process.pid, signal.SIGINT)

    def refuse_wait(self, call: int, most: int) -> None:
        """Lets a call fail that waits for other tasks, if it still waits."""
        if not self.child.gets_calls or call <= self._answered:
            return
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self._stops, protocol.refusal(call, most))
        os.kill(self.child.process.pid, signal.SIGINT)  # as above

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
                self._refuse(error)
                return
            if done is not None:
                self._tell_done(done)
            if len(data) < _READ:
                return  # that was all

    def _tell_done(self, done: CallsDone) -> None:
        self._answered += len(done.tasks)
        longest = max(done.durations, default=0.0)
        if longest >= MEASURED_FROM:
            peak, done.mapped = take_peak(self.child.process.pid)
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
            partial(has_left, self.child.process.pid, word),
            lambda left: [ProcessesLeft(self.number)] if left else [],
        )

    async def idle(self) -> None:
        """Waits until no thread works on the files of this executor."""
        await self._tell.idle()

    def died(self, kills: KernelKills) -> None:
        """The process has ended, but was not reaped yet: reports its last answers and its end."""
        self.child.reap(kills)
        unstarted = self._tokens.take()
        self._link.drain()
        self.look()
        death = evolve(
            self.child.death(),
            unstarted=unstarted,
            place=place_reached(self.number, self._places),
        )
        if self._lacks:
            cause = f"executor {self.number} cannot go on: {self._lacks}"
            death = evolve(death, cause=cause, short=True)
        self._tell(death)

    def close(self) -> None:
        """Closes the channels."""
        self._link.close()
        self._tokens.close()
        for descriptor in (self._stops, self._answers):
            os.close(descriptor)

    def _heard(self, frames: list[bytes]) -> None:
        try:
            for frame in frames:
                self._hear(frame)
        except ProtocolError as error:
            self._refuse(error)
        if LOOK in frames:
            self.look()

    def _hear(self, frame: bytes) -> None:
        if frame == LOOK:
            return  # once for all frames that have come together
        if frame in (BLOCKED, RESUMED):
            self.look()  # what it has answered before comes first
            self._tell(CallWaits(self.number, waits=frame == BLOCKED))
        elif frame.startswith(protocol.LACKS_HEAD):
            self._lacks = protocol.lack_of(frame)
        elif registers(frame, self.number):
            if self.child.register():
                self._tell(ExecutorReady(self.number))
        elif self.child.gets_calls:
            raise ProtocolError(f"it says {frame[:100]!r}, which is no message")
        else:
            raise ProtocolError(
                f"it registers with {frame[:100]!r}, which is not {protocol.PROTOCOL!r}"
            )

    def _hung_up(self, cause: str) -> None:
        """The socket has ended; the process ends when it next reads it, if it has not yet."""

    def _refuse(self, error: ProtocolError) -> None:
        self.child.refuse(f"broke the protocol: {error}")
