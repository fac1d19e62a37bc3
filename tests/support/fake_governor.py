"""A governor that does with orders what a real one would do, and reports what the test wants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import Factory, define, evolve

from rain.base.address import Source
from rain.base.ids import GovernorId, ObjectId, SessionId, TaskId, session_of
from rain.base.runs import RunCause
from rain.base.wire.orders import Orders
from rain.base.wire.update import ObjectNote, TaskFailure, TaskNote, Update
from rain.graph import Governor
from rain.server.core.messages import (
    Effect,
    GovernorLeft,
    GovernorUpdated,
)
from tests.support.encoding import encoded

if TYPE_CHECKING:
    from tests.support.world import World

K = TypeVar("K", bound=int)

MAKING = "made here"
"""Stands for the source of an object that a task of the same governor makes."""

NOWHERE = "nowhere"
"""Stands for the source of an object that a failed task should have made."""


@define(eq=False)
class FakeGovernor:
    """Remembers what it was told and reports what the test wants."""

    world: World
    id: GovernorId
    address: str
    tasks: dict[TaskId, int] = Factory(dict)  # with the run
    inputs: dict[TaskId, list[ObjectId]] = Factory(dict)
    outputs: dict[TaskId, list[ObjectId]] = Factory(dict)
    held: dict[ObjectId, None] = Factory(dict)  # objects that it shall hold, come or coming
    coming: dict[ObjectId, str] = Factory(dict)  # those that it must fetch, and from where
    lent: dict[ObjectId, None] = Factory(dict)  # those that came with tasks, and go with them
    told: list[Orders] = Factory(list)
    blocked: set[TaskId] = Factory(set)  # those of its tasks that wait for others
    cancelled: dict[TaskId, None] = Factory(dict)  # those that it was told to end
    asked: dict[TaskId, None] = Factory(dict)  # those that it was asked to return
    kinds: dict[int, int] = Factory(dict)  # task kinds that it was told: number of outputs

    @property
    def source(self) -> str:
        """How others are told to read from it."""
        return Source(self.address, self.id).spell()

    @property
    def node(self) -> Governor:
        return self.world.state.graph.governors[self.id]

    def take(self, orders: Orders) -> None:
        """Does with orders what a real governor would do."""
        if any(orders.number == told.number for told in self.told if told.number):
            return  # they were missed, as far as the server knows
        self.told.append(orders)
        for session in orders.forget_sessions:
            self._forget(session)
        self._stop(orders)
        making = {object_id for outputs in self.outputs.values() for object_id in outputs}
        for object_id in orders.drops:
            assert object_id not in making, "what is being made is not dropped before"
            self.held.pop(object_id, None)
            self.coming.pop(object_id, None)
        for kind in orders.task_kinds:
            assert kind.id not in self.kinds, "a kind is told once"
            self.kinds[kind.id] = len(kind.outputs)
        for object_id, source in zip(orders.objects.ids, orders.objects.sources, strict=True):
            if self.coming.get(object_id) == MAKING:
                continue  # it will be reported with the task that makes it
            if not source:
                self.coming.pop(object_id, None)
            elif object_id in self.coming or object_id not in self.held:
                self.coming[object_id] = source
            self.held[object_id] = None
        for object_id in orders.lent.ids:
            assert self.coming.get(object_id) != MAKING, "what is being made is not lent"
            assert object_id not in self.held, "what is held is not lent"
            self.lent[object_id] = None
        self._take_tasks(orders)
        known = self.held | self.lent
        for task_id, inputs in self.inputs.items():
            assert all(object_id in known for object_id in inputs), f"{task_id} lost an input"

    def _stop(self, orders: Orders) -> None:
        """What is not here has ended, and the news is under way."""
        for task_id, run in zip(orders.stop_ids, orders.stop_runs, strict=True):
            if self.tasks.get(task_id) == run:
                self._end(task_id)
        for task_id, run in zip(orders.cancelled.ids, orders.cancelled.runs, strict=True):
            if self.tasks.get(task_id) == run:
                self._abandon(task_id)
                self.cancelled[task_id] = None
        for task_id, run in zip(orders.asked.ids, orders.asked.runs, strict=True):
            if self.tasks.get(task_id) == run and task_id not in self.cancelled:
                self.asked[task_id] = None

    @property
    def copies(self) -> set[ObjectId]:
        """What it holds or fetches, without what its own tasks are making."""
        return {object_id for object_id in self.held if self.coming.get(object_id) != MAKING}

    def _forget(self, session: SessionId) -> None:
        for by_task in (self.tasks, self.inputs, self.outputs):
            _forget_session(by_task, session)
        read = {object_id for inputs in self.inputs.values() for object_id in inputs}
        self.lent = {object_id: None for object_id in self.lent if object_id in read}
        self.blocked = {task for task in self.blocked if session_of(task) != session}
        _forget_session(self.cancelled, session)
        _forget_session(self.asked, session)
        for by_object in (self.held, self.coming, self.lent):
            _forget_session(by_object, session)
        _forget_session(self.kinds, session)

    def _take_tasks(self, orders: Orders) -> None:
        inputs = iter(orders.tasks.inputs)
        outputs = iter(orders.tasks.outputs)
        columns = orders.tasks
        for task_id, run, kind_id, count in zip(
            columns.ids, columns.runs, columns.kinds, columns.input_counts, strict=True
        ):
            assert task_id not in self.tasks, "a governor runs a task once"
            self.tasks[task_id] = run
            self.inputs[task_id] = [next(inputs) for _ in range(count)]
            self.outputs[task_id] = [next(outputs) for _ in range(self.kinds[kind_id])]
            for object_id in self.outputs[task_id]:
                if object_id in self.coming or object_id not in self.held:
                    self.coming[object_id] = MAKING
                    self.held[object_id] = None

    def _end(self, task_id: TaskId) -> list[ObjectId]:
        """The task is over, well or not; what it has not made will not come by itself."""
        del self.tasks[task_id]
        return self._abandon(task_id)

    def _end_without_outputs(self, task: TaskId) -> None:
        """It has made nothing, and other tasks may wait for that; the server must decide."""
        unmade = [o for o in self.outputs[task] if self.coming.get(o) == MAKING]
        self._end(task)
        for object_id in unmade:
            self.coming[object_id] = NOWHERE
            self.held[object_id] = None

    def _abandon(self, task_id: TaskId) -> list[ObjectId]:
        """What it makes is not wanted here, and what it reads not for its sake."""
        inputs = self.inputs.pop(task_id)
        self.asked.pop(task_id, None)
        self.blocked.discard(task_id)
        for object_id in inputs:
            if all(object_id not in others for others in self.inputs.values()):
                self.lent.pop(object_id, None)
        outputs = self.outputs.pop(task_id)
        for object_id in outputs:
            if self.coming.get(object_id) == MAKING:
                self.coming.pop(object_id)
                self.held.pop(object_id, None)
        return outputs

    def send(self, update: Update) -> list[Effect]:
        return self.world.turn(GovernorUpdated(self.id, encoded(update)))

    def start(self, *tasks: TaskId) -> list[Effect]:
        return self.send(self.started(*tasks))

    def started(self, *tasks: TaskId) -> Update:
        """The update that these tasks run."""
        return Update(started_ids=list(tasks), started_runs=[self.tasks[task] for task in tasks])

    def waiting(self, task: TaskId) -> Update:
        """The update that a started task waits for other tasks."""
        self.blocked.add(task)
        return Update(blocked_ids=[task], blocked_runs=[self.tasks[task]])

    def resumed(self, task: TaskId, update: Update | None = None) -> Update:
        """The update that it goes on."""
        self.blocked.remove(task)
        update = update or Update()
        update.resumed_ids.append(task)
        update.resumed_runs.append(self.tasks[task])
        return update

    def drain(self, *running: TaskId) -> list[Effect]:
        """It will leave, and starts nothing any more but these, which it has started."""
        update = self.started(*running)
        update.drains = True
        return self.send(update)

    def finished(
        self,
        *tasks: TaskId,
        size: int = 100_000,
        data: bytes | None = None,
        contents: Iterable[ObjectId] = (),
    ) -> Update:
        """The update that these tasks are finished; their outputs are held here from now on.

        Each output has futures of the contents inside.
        """
        inside = tuple(contents)
        update = Update()
        for task in tasks:
            if task in self.blocked:
                self.resumed(task, update)
            update.finished.ids.append(task)
            update.finished.runs.append(self.tasks[task])
            update.finished.durations.append(0.5)
            outputs = self._end(task)
            update.finished.output_counts.append(len(outputs))
            for object_id in outputs:
                self.held[object_id] = None
                if inside:
                    update.object_notes.append(ObjectNote(object_id, contents=inside))
                update.finished.sizes.append(size if data is None else len(data))
                update.finished.data.append(data or b"")
        return update

    def finish(
        self,
        *tasks: TaskId,
        size: int = 100_000,
        data: bytes | None = None,
        contents: Iterable[ObjectId] = (),
    ) -> list[Effect]:
        return self.send(self.finished(*tasks, size=size, data=data, contents=contents))

    def ended(self, *tasks: TaskId) -> Update:
        """The update that these tasks, which were cancelled, have ended."""
        update = Update()
        for task in tasks:
            update.ended_ids.append(task)
            update.ended_runs.append(self.tasks.pop(task))
            del self.cancelled[task]
        return update

    def end(self, *tasks: TaskId) -> list[Effect]:
        return self.send(self.ended(*tasks))

    def returned(self, *tasks: TaskId) -> Update:
        """The update that these tasks, which were asked back, have not begun here."""
        update = Update()
        for task in tasks:
            update.returned_ids.append(task)
            update.returned_runs.append(self.tasks[task])
            self._end_without_outputs(task)
        return update

    def return_asked(self, *tasks: TaskId) -> list[Effect]:
        """These tasks, or all that it was asked for."""
        return self.send(self.returned(*(tasks or self.asked)))

    def fail(
        self,
        task: TaskId,
        message: str = "it broke",
        cause: RunCause = RunCause.TASK,
        *,
        status: int | None = None,
        logs: str = "",
        retryable: bool = True,
    ) -> list[Effect]:
        failed = self.failed(task, message, cause, status=status, logs=logs, retryable=retryable)
        return self.send(failed)

    def failed(
        self,
        task: TaskId,
        message: str = "it broke",
        cause: RunCause = RunCause.TASK,
        *,
        status: int | None = None,
        logs: str = "",
        retryable: bool = True,
    ) -> Update:
        """The update that a task has failed."""
        run = self.tasks[task]
        self._end_without_outputs(task)
        return Update(
            failed=[
                TaskFailure(task, run, message, cause=cause, status=status, retryable=retryable)
            ],
            task_notes=[TaskNote(task, logs=logs)] if logs else [],
        )

    def handed_on(self, task: TaskId, *objects: ObjectId) -> Update:
        """The update that others make these for a task, whose function has ended."""
        update = self.failed(task, "")
        update.failed = [evolve(update.failed[0], handed_on=objects)]
        return update

    def hand_on(self, task: TaskId, *objects: ObjectId) -> list[Effect]:
        return self.send(self.handed_on(task, *objects))

    def located(self, *objects: ObjectId) -> Update:
        """The update that these objects were fetched."""
        for object_id in objects:
            del self.coming[object_id]
        return Update(located=list(objects))

    def locate(self, *objects: ObjectId) -> list[Effect]:
        return self.send(self.located(*objects))

    def runnable(self) -> list[TaskId]:
        """The tasks whose inputs are all there."""
        return [
            task_id
            for task_id, inputs in self.inputs.items()
            if all(
                object_id in self.lent or (object_id in self.held and object_id not in self.coming)
                for object_id in inputs
            )
        ]

    def fetching(self) -> list[ObjectId]:
        """The objects that it must fetch from somebody else."""
        return [o for o, source in self.coming.items() if source not in {MAKING, NOWHERE}]

    def leave(self, *, on_purpose: bool = False) -> list[Effect]:
        self.world.governors.remove(self)
        return self.world.turn(GovernorLeft(self.id, "killed by the test", on_purpose))


def _forget_session(mapping: dict[K, Any], session: SessionId) -> None:
    for key in [key for key in mapping if session_of(key) == session]:
        del mapping[key]
