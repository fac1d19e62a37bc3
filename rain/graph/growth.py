"""Growing the graph by a submission: all of it is verified before anything of it is linked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rain.base.errors import RefusedError
from rain.base.ids import KindId, ObjectId, TaskId, session_of, spell
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.states import ObjectMove, ObjectState, TaskMove
from rain.base.wire import Submission
from rain.graph.data_object import DataObject, move_objects
from rain.graph.graph import Graph
from rain.graph.session import Session
from rain.graph.task import Task, move_tasks

_ONCE = {"data object": ": it needs exactly one producer, or its own bytes"}


def grow(graph: Graph, session: Session, submission: Submission) -> list[Task]:
    """Adds the submission to its session and returns its tasks, inputs before consumers.

    Raises `RefusedError` and changes nothing when the submission is inconsistent.
    """
    draft = _Draft(graph, session, submission)
    draft.read_kinds()
    draft.read_constants()
    draft.read_tasks()
    draft.read_kept()
    return draft.link(_inputs_first(draft))


class _Draft:
    """The nodes of a submission before they are linked into the graph."""

    def __init__(self, graph: Graph, session: Session, submission: Submission) -> None:
        self.graph = graph
        self.session = session
        self.submission = submission
        self.task_kinds: dict[KindId, TaskKind] = {}
        self.object_kinds: dict[KindId, ObjectKind] = {}
        self.objects: dict[ObjectId, DataObject] = {}
        self.constants: list[DataObject] = []
        self.tasks: list[Task] = []
        self.kept: list[DataObject] = []
        self.creation_order = True  # every input was made before its consumer was named

    def read_kinds(self) -> None:
        known_tasks, known_objects = self.session.task_kinds, self.session.object_kinds
        for kind in self.submission.object_kinds:
            self._check_session("data object kind", kind.id)
            if kind.id in known_objects or kind.id in self.object_kinds:
                raise RefusedError(f"the data object kind {spell(kind.id)} is defined twice")
            self.object_kinds[kind.id] = kind
        for task_kind in self.submission.task_kinds:
            self._check_session("task kind", task_kind.id)
            if task_kind.id in known_tasks or task_kind.id in self.task_kinds:
                raise RefusedError(f"the task kind {spell(task_kind.id)} is defined twice")
            for output in task_kind.outputs:
                self._object_kind(output)
            self.task_kinds[task_kind.id] = task_kind

    def read_constants(self) -> None:
        constants = self.submission.constants
        self._check_new("data object", constants.ids, self.graph.objects)
        for object_id, kind, data, size in zip(
            constants.ids, constants.kinds, constants.data, constants.lengths(), strict=True
        ):
            new = DataObject(object_id, self.session, self._object_kind(kind))
            self.objects[object_id] = new
            self.constants.append(new)
            new.size = size
            if len(data) == size:
                new.data = data
            else:
                new.spooled = True

    def read_tasks(self) -> None:
        """Makes the task nodes in two passes, so that a task may read what a later one makes."""
        columns = self.submission.tasks
        self._check_new("task", columns.ids, self.graph.tasks)
        self._check_new("data object", columns.outputs, self.graph.objects, self.objects)
        session, objects, tasks = self.session, self.objects, self.tasks
        kinds: dict[KindId, tuple[TaskKind, list[ObjectKind]]] = {}
        outputs = columns.outputs
        start = 0
        for order, (task_id, kind_id, config) in enumerate(
            zip(columns.ids, columns.kinds, columns.configs, strict=True)
        ):
            found = kinds.get(kind_id)
            if found is None:
                found = kinds[kind_id] = self._task_kind(kind_id, task_id)
            kind, output_kinds = found
            end = start + len(output_kinds)
            if end > len(outputs):
                raise RefusedError(f"the task {spell(task_id)} names too few outputs")
            task = Task(task_id, order, session, kind, config, ())
            if len(output_kinds) == 1:
                object_id = outputs[start]
                made = objects[object_id] = DataObject(object_id, session, output_kinds[0], task)
                task.outputs = (made,)
            else:
                task.outputs = self._outputs(task, outputs[start:end], output_kinds)
            start = end
            tasks.append(task)
        if start != len(outputs):
            raise RefusedError("the submission names more outputs than its tasks have")
        self._read_inputs()

    def _outputs(
        self, task: Task, ids: Sequence[ObjectId], kinds: Sequence[ObjectKind]
    ) -> tuple[DataObject, ...]:
        made = [
            DataObject(object_id, self.session, kind, task)
            for object_id, kind in zip(ids, kinds, strict=True)
        ]
        self.objects |= {new.id: new for new in made}
        return tuple(made)

    def _read_inputs(self) -> None:
        columns = self.submission.tasks
        position = 0
        inputs = columns.inputs
        mine, theirs = self.objects, self.graph.objects
        for task, count in zip(self.tasks, columns.input_counts, strict=True):
            if not count:
                continue
            found: list[DataObject] = []
            for object_id in inputs[position : position + count]:
                data_object = mine.get(object_id)
                if data_object is None:
                    data_object = theirs.get(object_id)
                    self._check_earlier_input(task, object_id, data_object)
                    assert data_object is not None  # or it was refused
                else:
                    producer = data_object.producer
                    if producer is not None and producer.order >= task.order:
                        self.creation_order = False
                found.append(data_object)
            position += count
            task.inputs = tuple(found)

    def read_kept(self) -> None:
        for object_id in self.submission.kept:
            data_object = self.objects.get(object_id)
            if data_object is None:
                raise RefusedError(
                    f"the data object {spell(object_id)} cannot be kept:"
                    " it is not new in this submission"
                )
            self.kept.append(data_object)

    def link(self, tasks: list[Task]) -> list[Task]:
        """Applies the verified draft; nothing below may fail."""
        graph, session = self.graph, self.session
        session.task_kinds |= self.task_kinds
        session.object_kinds |= self.object_kinds
        for kind in self.task_kinds.values():
            session.learned[kind.id] = graph.learned_of(kind)
        graph.objects |= self.objects
        session.objects += self.objects.values()
        for data_object in self.kept:
            data_object.kept = True
        move_objects(self.constants, ObjectMove.FINISH)
        graph.tasks |= {task.id: task for task in tasks}
        order = graph.last_order
        ready: list[Task] = []
        for task in tasks:
            order += 1
            task.order = order
            if task.inputs:
                task.missing = _connect(task)
            if not task.missing:
                ready.append(task)
        move_tasks(ready, TaskMove.INPUTS_FINISHED)
        graph.last_order = order
        session.tasks += tasks
        session.unfinished += len(tasks)
        return tasks

    def _check_new(self, what: str, ids: Sequence[int], *known: Mapping[Any, object]) -> None:
        """Whole columns at once; only when something is wrong it is looked for."""
        distinct = set(ids)
        prefix = self.session.id
        if not ids or (
            len(distinct) == len(ids)
            and all(nodes.keys().isdisjoint(distinct) for nodes in known)
            and session_of(min(ids)) == prefix == session_of(max(ids))
        ):
            return
        seen: set[int] = set()
        for one in ids:
            self._check_session(what, one)
            if one in seen or any(one in nodes for nodes in known):
                raise RefusedError(f"the {what} {spell(one)} is defined twice{_ONCE.get(what, '')}")
            seen.add(one)

    def _task_kind(self, kind_id: KindId, task_id: TaskId) -> tuple[TaskKind, list[ObjectKind]]:
        kind = self.task_kinds.get(kind_id) or self.session.task_kinds.get(kind_id)
        if kind is None:
            raise RefusedError(f"the task {spell(task_id)} is of the unknown kind {spell(kind_id)}")
        return kind, [self._object_kind(output) for output in kind.outputs]

    def _object_kind(self, kind_id: KindId) -> ObjectKind:
        kind = self.object_kinds.get(kind_id) or self.session.object_kinds.get(kind_id)
        if kind is None:
            raise RefusedError(f"the data object kind {spell(kind_id)} is unknown")
        return kind

    def _check_session(self, what: str, packed: int) -> None:
        if session_of(packed) != self.session.id:
            raise RefusedError(
                f"the {what} {spell(packed)} does not belong to the session {self.session.id}"
            )

    def _check_earlier_input(
        self, task: Task, object_id: ObjectId, data_object: DataObject | None
    ) -> None:
        where = f"the input {spell(object_id)} of the task {spell(task.id)}"
        if session_of(object_id) != self.session.id:
            raise RefusedError(
                f"{where} belongs to another session; objects of different sessions cannot be"
                " combined"
            )
        if data_object is None:
            raise RefusedError(f"{where} is unknown")
        if not data_object.kept:
            raise RefusedError(
                f"{where} is from an earlier submit and was not kept; keep it before that submit"
            )


def _connect(task: Task) -> int:
    """Hangs a new task on its inputs; how many of them it misses."""
    missing = 0
    for data_object in task.unique_inputs():
        data_object.consumers.append(task)
        data_object.needed_by += 1
        if data_object.state is not ObjectState.FINISHED:
            missing += 1
    return missing


def _inputs_first(draft: _Draft) -> list[Task]:
    """The new tasks so that each comes after the producers of its inputs; refuses cycles."""
    if draft.creation_order:
        return draft.tasks
    new = set(draft.tasks)
    waiting: dict[Task, int] = {}
    readers: dict[Task, list[Task]] = {}
    for task in draft.tasks:
        producers = {
            data_object.producer
            for data_object in task.inputs
            if data_object.producer is not None and data_object.producer in new
        }
        waiting[task] = len(producers)
        for producer in producers:  # a set, but each only gains this one reader
            readers.setdefault(producer, []).append(task)
    ordered = [task for task in draft.tasks if not waiting[task]]
    for task in ordered:  # grows while it is walked
        for reader in readers.get(task, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                ordered.append(reader)
    if len(ordered) < len(draft.tasks):
        stuck = next(task for task in draft.tasks if waiting[task])
        raise RefusedError(
            f"the submission has a cycle: the task {spell(stuck.id)} would wait for itself"
        )
    return ordered
