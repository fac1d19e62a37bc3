"""Follows a recording turn by turn: what was submitted, ordered, started, finished, and when.

The turns are replayed to find the orders to governors. The reports of governors give durations and
sizes; what clients waited for explains the time of later submits. `rebuilding.py` makes a graph
and a cluster from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import Factory, define

from rain.base.ids import ObjectId, RequestId, SessionId, TaskId
from rain.base.kinds import TaskKind
from rain.base.resources import Resources
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.orders import Orders
from rain.base.wire.requests import Fetch, Submit, WaitFor
from rain.base.wire.submission import Submission
from rain.base.wire.update import Update
from rain.server.core.messages import (
    Answered,
    Asked,
    ClientEvent,
    Effect,
    GovernorEvent,
    GovernorJoined,
    GovernorUpdated,
    OrderGovernor,
    TurnInput,
)
from rain.server.core.reactor import Reactor, TurnOutput


@define(eq=False)
class SeenTask:
    """The events of one task, in the server's time; 0 for an event that did not happen."""

    kind: TaskKind
    inputs: list[ObjectId]
    outputs: list[ObjectId]
    batch: int
    governor: int = -1
    ordered: float = 0.0
    at_once: bool = False  # ordered when all its inputs were there
    early: bool = False  # among the first tasks of its governor: an executor had to start
    free: bool = False  # ordered while its governor had a free cpu
    started: float = 0.0
    finished: float = 0.0
    duration: float = 0.0


@define(eq=False)
class RecordedBatch:
    """A submit, and what its client had waited for since the previous one."""

    delay: float
    after: list[TaskId]


@define(eq=False)
class RecordingReader:
    """Follows a recording turn by turn."""

    reactor: Reactor
    check: Callable[[TurnInput, TurnOutput], None]  # checks a turn against the recorded one
    tasks: dict[TaskId, SeenTask] = Factory(dict)
    sizes: dict[ObjectId, int] = Factory(dict)
    constants: list[ObjectId] = Factory(list)
    kept: set[ObjectId] = Factory(set)  # never iterated
    batches: list[RecordedBatch] = Factory(list)
    governors: list[Resources] = Factory(list)
    pulled: int = 0  # number of copies that have arrived
    began: float = 0.0  # when the first submit came
    _kinds: dict[int, TaskKind] = Factory(dict)
    _numbers: dict[int, int] = Factory(dict)  # governors by incarnation
    _busy: list[int] = Factory(list)  # unfinished tasks of each governor
    _told: list[int] = Factory(list)  # all tasks ordered so far, by governor
    _asked: dict[RequestId, list[TaskId]] = Factory(dict)
    _made_on: dict[ObjectId, int] = Factory(dict)
    _answered: list[TaskId] = Factory(list)  # since the last submit
    _answered_at: float = 0.0
    _submitted_at: float = 0.0

    def follow(self, turns: Iterator[TurnInput]) -> None:
        """Follows all turns of the recording."""
        for given in turns:
            output = self.reactor.turn(given)
            self.check(given, output)
            for heard in given.from_governors:
                self._heard(heard, given.now)
            for asked in given.from_clients:
                self._ask(asked, given.now)
            for effect in output.effects:
                self._effect(effect, given.now)

    def _heard(self, event: GovernorEvent, now: float) -> None:
        match event:
            case GovernorJoined(governor, _, resources):
                self._numbers[governor] = len(self.governors)
                self.governors.append(resources)
                self._busy.append(0)
                self._told.append(0)
            case GovernorUpdated(governor, update):
                self._update(self._numbers[governor], update, now)
            case _:
                pass  # a governor that leaves still belongs to the cluster

    def _ask(self, event: ClientEvent, now: float) -> None:
        match event:
            case Asked(_, request, Submit(submission, wanted)):
                self._submitted(submission, now)
                if wanted:
                    self._asked[request] = self._named(submission.session, (), wanted, "all")
            case Asked(_, request, WaitFor(session, tasks, objects, mode)):
                self._asked[request] = self._named(session, tasks, objects, mode)
            case Asked(_, request, Fetch(data_object)):
                self._asked[request] = self._named(SessionId(0), (), (data_object,), "all")
            case _:
                pass

    def _effect(self, effect: Effect, now: float) -> None:
        match effect:
            case OrderGovernor(governor, orders):
                self._ordered(self._numbers[governor], orders, now)
            case Answered(request, answer):
                told = answer.tasks if isinstance(answer, WaitAnswer) else []
                self._answer(request, told, now)
            case _:
                pass

    def _answer(self, request: RequestId, told: list[TaskId], now: float) -> None:
        """Notes an answer: a request for news waits for any task, others for named tasks."""
        tasks = self._asked.pop(request, None)
        if tasks is not None:
            self._answered += tasks or told
            self._answered_at = now

    def _submitted(self, submission: Submission, now: float) -> None:
        if not self.batches:
            delay, self.began = 0.0, now
        elif self._answered:
            delay = now - self._answered_at
        else:
            delay = now - self._submitted_at
        self.batches.append(RecordedBatch(delay, self._answered))
        self._answered, self._submitted_at = [], now
        for kind in submission.task_kinds:
            self._kinds[kind.id] = kind
        constants = submission.constants
        self.constants += constants.ids
        self.sizes.update(zip(constants.ids, constants.lengths(), strict=True))
        self.kept.update(submission.kept)
        columns = submission.tasks
        inputs, outputs = iter(columns.inputs), iter(columns.outputs)
        for task_id, kind_id, count in zip(
            columns.ids, columns.kinds, columns.input_counts, strict=True
        ):
            kind = self._kinds[kind_id]
            self.tasks[task_id] = SeenTask(
                kind,
                [next(inputs) for _ in range(count)],
                [next(outputs) for _ in kind.outputs],
                len(self.batches) - 1,
            )

    def _named(
        self,
        session: SessionId,
        tasks: tuple[TaskId, ...],
        objects: tuple[ObjectId, ...],
        mode: str,
    ) -> list[TaskId]:
        """The tasks that a request waits for."""
        if mode == "session":
            return [task for task in self.tasks if task >> 32 == session]
        producers = {made: task for task, seen in self.tasks.items() for made in seen.outputs}
        return [*tasks, *(producers[made] for made in objects if made in producers)]

    def _ordered(self, number: int, orders: Orders, now: float) -> None:
        cpus = self.governors[number].cpus
        for task_id in orders.tasks.ids:
            seen = self.tasks.get(task_id)
            if seen is None:
                continue
            seen.governor, seen.ordered, seen.started = number, now, 0.0
            seen.at_once = all(self._is_there(made, number) for made in seen.inputs)
            seen.early = self._told[number] < cpus
            seen.free = self._busy[number] < cpus
            self._told[number] += 1
            self._busy[number] += 1

    def _is_there(self, made: ObjectId, number: int) -> bool:
        """Whether a governor has an object: it has made it, or the object comes with the order."""
        size = self.sizes.get(made)
        return size is not None and (size <= INLINE_LIMIT or self._made_on.get(made) == number)

    def _update(self, number: int, update: Update, now: float) -> None:
        for task_id in update.started_ids:
            seen = self.tasks.get(task_id)
            if seen is not None and seen.governor == number:
                seen.started = now
        finished = update.finished
        end = 0
        for task_id, duration, count in zip(
            finished.ids, finished.durations, finished.output_counts, strict=True
        ):
            start, end = end, end + count
            self._busy[number] -= 1
            seen = self.tasks.get(task_id)
            if seen is not None and seen.governor == number:
                seen.finished, seen.duration = now, duration
                self.sizes.update(zip(seen.outputs, finished.sizes[start:end], strict=False))
                self._made_on.update(dict.fromkeys(seen.outputs, number))
        self._busy[number] -= len(update.failed)
        self.pulled += sum(self.sizes.get(found, 0) > INLINE_LIMIT for found in update.located)
