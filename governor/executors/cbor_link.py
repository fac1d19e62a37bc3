"""The governor's connection to one executor of another language (protocol "cbor-1").

The executor connects to the socket in its folder, registers, and gets one call at a time. If it
breaks the protocol, it is killed, its task fails with an error that names the mistake, and another
process takes its place.
"""

from __future__ import annotations

import time
from contextlib import suppress

from attrs import evolve

from rain.base.errors import InvariantError, ProtocolError
from rain.base.ids import ObjectId, TaskId
from rain.base.memory import MEASURED_FROM
from rain.base.wire.update import TaskNote
from rain.common.printed import last_words, logs_of, text_of
from rain.governor.core.effects import CallExecutor, DropCached
from rain.governor.core.events import (
    CallsDone,
    CallsTakenBack,
    Event,
    ExecutorReady,
    ObjectsCached,
)
from rain.governor.core.results import Failed, Outputs
from rain.governor.executors.cbor_calls import (
    LARGEST_FRAME,
    PROTOCOL,
    Call,
    Kinds,
    UncallableError,
    call_frame,
    drop_frame,
)
from rain.governor.executors.cbor_outputs import ExchangeFolder
from rain.governor.executors.cbor_replies import AtPath, ExecutorRegistered, Result, decode_reply
from rain.governor.executors.child import Child
from rain.governor.executors.link import LinkServices
from rain.governor.executors.process import StartedProgram, take_printed
from rain.governor.machine.memory_files import KernelKills, take_peak
from rain.governor.storage.file_work import InOrder
from rain.rpc.background import DescriptorWatch, Timer
from rain.rpc.executor_frames import CLOSED, SocketLink

SECONDS_TO_REGISTER = 60.0
SECONDS_TO_END = 1.0
"""Seconds that a process may outlive its connection; its exit status is then reported."""


class CborLink:
    """Sends calls, and tells events."""

    def __init__(
        self, number: int, runner: str, started: StartedProgram, around: LinkServices
    ) -> None:
        self.number = number
        self.child = Child(number, started.process, around.places, around.blame)
        self._runner = runner
        self._places = around.places
        self._background = background = around.background
        self._exchange = ExchangeFolder(around.store, around.places.folder(number))
        self._tell = InOrder(around.tell, background)
        self._kinds = Kinds()
        self._call: Call | None = None
        self._cached: set[ObjectId] = set()  # what the executor says it keeps; never iterated
        self._called_at = 0.0
        self._link: SocketLink | None = None
        self._listener = started.listener
        self._watch: DescriptorWatch | None = background.watch(
            started.listener.fileno(), self._connect
        )
        self._timer: Timer = background.later(SECONDS_TO_REGISTER, self._late)

    # Downwards.

    def call(self, effect: CallExecutor) -> None:
        """Sends the call; there is only one at a time."""
        self._kinds.learn(effect)
        if not self.child.gets_calls:
            return
        (row,) = effect.calls
        call = self._call = self._kinds.call(row, effect.held, effect.gpus)
        self._called_at = time.monotonic()
        try:
            frame = call_frame(call, self._exchange.place)
        except UncallableError as error:
            self._call = None
            self._tell(self._done(call, Failed(str(error))))
            return
        if self._link is not None:
            self._link.send(frame)

    def drop(self, effect: DropCached) -> None:
        """Tells the executor which objects it need not cache."""
        self._kinds.forget(effect.sessions)
        self._cached.difference_update(effect.objects)
        if self._call is None and self._tell.is_idle:
            self._exchange.clear(self._cached)
        if self._link is not None and effect.objects:
            self._link.send(drop_frame(effect.objects))

    def take_back(self) -> None:
        """Does nothing: a call that was sent counts as started."""
        self._tell(CallsTakenBack(self.number, 0))

    def interrupt(self, call: int) -> None:
        """The protocol has no word for it, so the state never asks."""
        raise InvariantError(f"executor {self.number} was to be interrupted in call {call}")

    def refuse_wait(self, call: int, most: int) -> None:  # as others have it
        """The protocol has no word for a call that waits, so the state never asks."""
        raise InvariantError(f"executor {self.number} was refused to wait in call {call}")

    # Upwards.

    def look(self) -> None:
        """Does nothing: results are read as they arrive."""

    async def idle(self) -> None:
        """Waits until no thread works on the files of this executor."""
        await self._tell.idle()

    def died(self, kills: KernelKills) -> None:
        """The process has ended, but was not reaped yet: reports its last results and its end."""
        self.child.reap(kills)
        self._connect()
        if self._link is not None:
            self._link.drain()
        self._tell(self.child.death())

    def close(self) -> None:
        """Closes the channels."""
        self._timer.cancel()
        self._stop_listening()
        if self._link is not None:
            self._link.close()

    def _connect(self) -> None:
        """The executor has connected; no other connection is accepted."""
        if self._watch is None:
            return
        with suppress(BlockingIOError, ConnectionAbortedError):
            connected, _ = self._listener.accept()
            self._stop_listening()
            self._link = SocketLink(
                connected, self._background, self._heard, self._hung_up, LARGEST_FRAME
            )

    def _stop_listening(self) -> None:
        if self._watch is not None:
            self._watch.stop()
            self._watch = None
            self._listener.close()

    def _late(self) -> None:
        self.child.refuse(f"did not register within {SECONDS_TO_REGISTER:g} seconds")

    def _hung_up(self, cause: str) -> None:
        """The connection has ended. Usually the process has too; its exit status then says more."""
        self._timer.cancel()
        self._timer = self._background.later(SECONDS_TO_END, self._outlived)
        if cause != CLOSED:
            self.child.note(f"broke off its connection ({cause})")

    def _outlived(self) -> None:
        self.child.refuse("closed its connection")

    def _heard(self, frames: list[bytes]) -> None:
        for frame in frames:
            if self.child.is_wrong:
                return
            try:
                self._hear(decode_reply(frame))
            except ProtocolError as error:
                self._refuse(error)

    def _hear(self, said: ExecutorRegistered | Result) -> None:
        if isinstance(said, ExecutorRegistered):
            self._register(said)
        elif self.child.is_starting:
            raise ProtocolError("its first message is not 'register'")
        elif self._call is None or self._call.task != said.task:
            raise ProtocolError("it sends a result of a task that it does not run")
        else:
            self._end(self._call, said)

    def _register(self, said: ExecutorRegistered) -> None:
        if said.protocol != PROTOCOL:
            raise ProtocolError(f"it speaks {said.protocol!r:.100}, and not {PROTOCOL!r}")
        # Rain's C++ library tells how many digits the id has instead of the id.
        if said.executor not in {self.number, len(str(self.number))}:
            raise ProtocolError(f"it registers as executor {said.executor}, not {self.number}")
        if said.executor_type != self._runner:
            raise ProtocolError(
                f"it registers as a {said.executor_type!r:.100} executor, not {self._runner!r}"
            )
        if self.child.register():
            self._timer.cancel()
            self._tell(ExecutorReady(self.number))

    def _end(self, call: Call, result: Result) -> None:
        foreign = [one for one in result.cached if not call.knows(one)]
        if foreign:
            raise ProtocolError("it caches objects that do not belong to its task")
        self._cached.update(result.cached)
        self._call = None  # further messages about it come too late
        if not result.success:
            error = result.error or "the executor reports a failure without a text (info.error)"
            self._finish(call, Failed(error, result.debug), result)
        elif any(isinstance(output.location, AtPath) for output in result.outputs):
            self._take_files(call, result)
        else:
            self._finish(call, self._exchange.outputs(call, result), result)

    def _take_files(self, call: Call, result: Result) -> None:
        def work() -> Outputs | Failed | ProtocolError:
            try:
                return self._exchange.outputs(call, result)
            except ProtocolError as error:
                return error

        def finish(outcome: Outputs | Failed | ProtocolError) -> list[Event]:
            if isinstance(outcome, ProtocolError):
                self._refuse(outcome)
                return []
            return self._ended(call, outcome, result)

        self._tell.later(work, finish)

    def _finish(self, call: Call, outcome: Outputs | Failed, result: Result) -> None:
        for event in self._ended(call, outcome, result):
            self._tell(event)

    def _ended(self, call: Call, outcome: Outputs | Failed, result: Result) -> list[Event]:
        events: list[Event] = [self._done(call, outcome, result)]
        if result.cached:
            events.append(ObjectsCached(self.number, list(result.cached)))
        return events

    def _done(
        self, call: Call, outcome: Outputs | Failed, result: Result | None = None
    ) -> CallsDone:
        self._exchange.clear(self._cached)
        seconds = time.monotonic() - self._called_at
        task = TaskId(call.task)
        done = CallsDone(self.number, [task], [seconds], [outcome], starts=[self._called_at])
        if seconds >= MEASURED_FROM:
            peak, done.mapped = take_peak(self.child.process.pid)
            done.peaks = [peak]
        if result is not None:
            self._note(done, task, result)
        return done

    def _note(self, done: CallsDone, task: TaskId, result: Result) -> None:
        """Adds the task's own notes, and the output since the previous result."""
        (outcome,) = done.results
        streams = take_printed(self.number, self._places)
        logs = logs_of(streams)
        if logs:
            done.printed.append((task, streams))
        if isinstance(outcome, Failed):
            words = last_words(*map(text_of, streams))
            done.results[0] = evolve(outcome, message=outcome.message.rstrip("\n") + words)
            note = TaskNote(task, logs=logs)
        else:
            note = TaskNote(task, result.user, result.debug, logs)
        if note != TaskNote(task):
            done.notes.append(note)

    def _refuse(self, error: ProtocolError) -> None:
        self.child.refuse(f"broke the protocol: {error}")
