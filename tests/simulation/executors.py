"""The executors of a governor of the simulation: what they run takes time, and they may die."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from attrs import Factory, define

from rain.base.exchange import ListedObject, decode_list
from rain.base.ids import ObjectId, SessionId, TaskId
from rain.base.runs import RunCause
from rain.governor.core.effects import CallExecutor, CallRow
from rain.governor.core.events import CallsTakenBack, CallWaits, Event, ExecutorDied, ExecutorReady
from rain.governor.core.nodes import Task
from rain.governor.core.results import Content, Failed, Made, Outputs, Stored
from tests.governor.played_executor import PlayedExecutor
from tests.simulation.client import Client, Program
from tests.simulation.nested import nested
from tests.simulation.work import LARGE, SLOW, Job, compute


class Machine(Protocol):
    """What executors meet at their governor."""

    number: int

    def later(self, least: float, most: float, do: Callable[[], object]) -> None: ...

    def in_this_life(self, do: Callable[[], object]) -> Callable[[], object]: ...

    def tell(self, event: Event) -> None: ...

    def calls_of(self, executor: int) -> Sequence[Task]: ...

    def new_client(self, name: str, program: Program) -> Client: ...

    def read(self, content: Content) -> bytes: ...

    def read_elsewhere(self, holder: str, target: ObjectId) -> bytes | None: ...

    def read_part(self, listed: ListedObject, part: int) -> bytes | None: ...

    def new_file(self, content: bytes) -> int: ...


@define(eq=False)
class SimulatedExecutor:
    """A played executor, and what it has in memory."""

    played: PlayedExecutor
    known: dict[ObjectId, bytes] = Factory(dict)
    is_interrupted: bool = False
    client: Client | None = None  # of the running call, if that submits tasks

    def end_client(self) -> None:
        """What its call has begun as a client ends with it."""
        if self.client is not None:
            self.client.vanish()
            self.client = None


class Executors:
    """Those of one governor, by their numbers, for one life of it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._found: dict[int, SimulatedExecutor] = {}
        self.begun: set[tuple[TaskId, int]] = set()  # runs, by executors that had the inputs

    def end(self) -> None:
        """The governor has died, and what calls have begun as clients ends with it."""
        for executor in self._found.values():
            executor.end_client()

    # What the governor wants. An executor that has died does nothing of it: one turn may read what
    # it has said and, after that, of its death. The `Executors` of `rain.governor.executors.links`
    # do the same.

    def start(self, number: int, runner: str) -> None:
        self._found[number] = SimulatedExecutor(PlayedExecutor(runner))
        self._machine.later(0.01, 0.3, partial(self._is_ready, number))

    def _is_ready(self, number: int) -> None:
        executor = self._found.get(number)
        if executor is not None and not executor.played.killed:
            executor.played.ready = True
            self._machine.tell(ExecutorReady(number))

    def call(self, number: int, effect: CallExecutor) -> None:
        executor = self._found.get(number)
        if executor is None:
            return
        executor.played.get(effect)
        for row in [*effect.remembered, *(row for call in effect.calls for row in call[3])]:
            if isinstance(row, tuple) and row[5] is not None:
                executor.known[row[0]] = self._machine.read(row[5])
        self._machine.later(0.0, 0.002, partial(self._work, number))

    def take_back(self, number: int) -> None:
        executor = self._found.get(number)
        if executor is None:
            return
        unstarted = executor.played.take_back()
        self._collect(number)
        self._machine.tell(CallsTakenBack(number, unstarted))

    def interrupt(self, number: int, call: int) -> None:
        """Unless the call has been answered by now."""
        executor = self._found.get(number)
        if executor is None:
            return
        played = executor.played
        if call > played.started or played.running is not None:
            played.interrupt(call)
            executor.is_interrupted = True
            if executor.client is not None and played.running is not None:
                executor.end_client()
                if played.waits:
                    played.waits = False
                    self._machine.tell(CallWaits(number, waits=False))
                self._machine.later(0.0, 0.05, partial(self._end_call, number, played.running))

    def drop(self, number: int, objects: list[ObjectId], sessions: list[SessionId]) -> None:
        executor = self._found.get(number)
        if executor is not None:
            executor.played.drop(objects, sessions)

    def kill(self, number: int) -> None:
        executor = self._found.get(number)
        if executor is None:
            return
        executor.played.killed = True
        self._machine.later(0.001, 0.1, partial(self._dies, number, "it was stopped"))

    def collect(self) -> None:
        """Tells all answers that nobody has read."""
        for number in list(self._found):
            self._collect(number)

    def _collect(self, number: int) -> None:
        executor = self._found.get(number)
        if executor is not None and executor.played.unread is not None:
            self._machine.tell(executor.played.unread)
            executor.played.unread = None

    def crash(self, which: int) -> None:
        """One of those that run something dies."""
        running = [n for n, one in self._found.items() if one.played.running is not None]
        if running:
            number = running[which % len(running)]
            self._found[number].played.killed = True
            self._dies(number, "exit status 3")

    def _dies(self, number: int, cause: str) -> None:
        if number in self._found:
            self._collect(number)
            executor = self._found.pop(number)
            executor.end_client()
            unstarted = executor.played.unstarted
            self._machine.tell(ExecutorDied(number, cause, unstarted))

    # Calls.

    def _work(self, number: int) -> None:
        """Begins the next call, unless one runs."""
        executor = self._found.get(number)
        if executor is None:
            return
        played = executor.played
        if played.killed or played.running is not None or not played.unstarted:
            return
        call = played.start()
        if played.able and (task := self._machine.calls_of(number)) and task[0].id == call[0]:
            self.begun.add((task[0].id, task[0].number))
        job = Job.unpack(call[2])
        if job.children and played.able and not executor.is_interrupted:
            self._begin_nested(number, call, job)
            return
        seconds = job.seconds if played.able else 0.0
        if job.slow_on == self._machine.number and not executor.is_interrupted:
            seconds += SLOW
        self._machine.later(seconds, seconds + 0.001, partial(self._end_call, number, call))

    def _begin_nested(self, number: int, call: CallRow, job: Job) -> None:
        """A call that submits tasks and waits for them, as a client of its own."""
        executor = self._found[number]
        machine = self._machine
        in_time = machine.in_this_life

        def waits(waits: bool) -> None:  # a word of the executor's protocol
            executor.played.waits = waits
            machine.tell(CallWaits(number, waits))

        def ended(result: list[bytes] | Failed) -> None:
            executor.client = None
            machine.later(0.0, 0.001, partial(self._end_call, number, call, result))

        def wait(now: bool) -> None:  # the same
            in_time(partial(waits, now))()

        program = nested(TaskId(call[0]), job, machine.read_elsewhere, wait, ended)
        executor.client = machine.new_client(f"call {call[0]}", program)
        executor.client.start()

    def _end_call(
        self, number: int, call: CallRow, nested_values: list[bytes] | Failed | None = None
    ) -> None:
        executor = self._found.get(number)
        if executor is None or executor.played.running is not call or executor.played.killed:
            return
        job = Job.unpack(call[2])
        result: Outputs | Failed = []
        if not executor.played.able:
            pass
        elif executor.is_interrupted:
            result = Failed("interrupted")
        elif job.fails:
            result = Failed("it fails by itself")
        elif isinstance(nested_values, Failed):
            result = nested_values
        else:
            result = self._results(executor, call, job, nested_values or [])
        executor.is_interrupted = False
        executor.played.answer(number, result, job.seconds)
        self._machine.later(0.0, 0.002, partial(self._collect, number))
        self._work(number)

    def _results(
        self, executor: SimulatedExecutor, call: CallRow, job: Job, nested_values: list[bytes]
    ) -> Outputs | Failed:
        inputs = [executor.known[row[0] if isinstance(row, tuple) else row] for row in call[3]]
        if job.part >= 0:
            found = [self._machine.read_part(one, job.part) for one in decode_list(inputs[0])]
            inputs = [one for one in found if one is not None]
            if len(inputs) < len(found):
                return Failed(f"cannot read part {job.part}", cause=RunCause.INPUT_LOST)
        made = compute(job, [*inputs, *nested_values], len(call[4]))
        if not job.large:
            executor.known.update(zip(call[4], made, strict=True))
            return list(made)
        return [Made(Stored(self._machine.new_file(one), LARGE)) for one in made]
