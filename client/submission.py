"""Makes one message to the server from the pending tasks and objects. Pure: it sends nothing."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from attrs import Factory, frozen

from rain.base.ids import KindId, ObjectId, SessionId, TaskId
from rain.base.kinds import DataType, ObjectKind, TaskKind
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.submission import ConstantColumns, GivenConstants, Submission, TaskColumns
from rain.client.data import DataObject
from rain.client.shapes import ObjectShape, TaskShape, resources_of
from rain.client.staging import bytes_of
from rain.client.task import Task
from rain.common.errors import RainException
from rain.common.sameness import alike, digest


class KindTable:
    """The kinds of one session: equal shapes share one, and each is sent once."""

    def __init__(self, next_id: Callable[[], int], *, idempotent: bool = False) -> None:
        self._next_id = next_id
        self._idempotent = idempotent  # of tasks that do not say it themselves
        self._tasks: dict[TaskShape, KindId] = {}
        self._objects: dict[ObjectShape, KindId] = {}
        self._new_tasks: list[tuple[TaskShape, TaskKind]] = []
        self._new_objects: list[tuple[ObjectShape, ObjectKind]] = []

    def object_kind(self, shape: ObjectShape) -> KindId:
        """The kind of an object with this shape."""
        known = self._objects.get(shape)
        if known is not None:
            return known
        kind = ObjectKind(
            KindId(self._next_id()),
            shape.label or "",
            shape.content_type or "",
            DataType(shape.data_type),
            shape.user,
            shape.size_hint,
        )
        self._objects[shape] = kind.id
        self._new_objects.append((shape, kind))
        return kind.id

    def task_kind(self, shape: TaskShape) -> KindId:
        """The kind of a task with this shape."""
        known = self._tasks.get(shape)
        if known is not None:
            return known
        kind = TaskKind(
            KindId(self._next_id()),
            shape.task_type,
            shape.name or "",
            resources_of(shape),
            tuple(label or "" for label in shape.labels),
            tuple(self.object_kind(output) for output in shape.outputs),
            shape.user,
            shape.duration,
            shape.constraints,
            shape.attempts,
            shape.priority,
            cache=shape.cache,
            idempotent=self._idempotent if shape.idempotent is None else shape.idempotent,
            environment=shape.environment,
            near=shape.near,
        )
        self._tasks[shape] = kind.id
        self._new_tasks.append((shape, kind))
        return kind.id

    def new_kinds(self) -> tuple[list[TaskKind], list[ObjectKind]]:
        """The kinds that the server does not know yet."""
        if not (self._new_tasks or self._new_objects):  # as for most single tasks
            return [], []
        return [kind for _, kind in self._new_tasks], [kind for _, kind in self._new_objects]

    def accepted(self) -> None:
        """The server has accepted the kinds that were sent."""
        self._new_tasks = []
        self._new_objects = []

    def refused(self) -> None:
        """The server has refused the new kinds with their submission."""
        for task_shape, _ in self._new_tasks:
            del self._tasks[task_shape]
        for object_shape, _ in self._new_objects:
            del self._objects[object_shape]
        self.accepted()


class Same(NamedTuple):
    """The key by which a task or a constant is matched with one of an earlier run."""

    key: bytes
    objects: Sequence[ObjectId]
    """Those whose own keys belong to it."""


@frozen
class Batch:
    """The tasks and objects of one submit."""

    tasks: Sequence[Task]
    objects: Sequence[DataObject]  # those that no task has made by itself
    contents: Mapping[int, Sequence[DataObject]] = Factory(dict)  # what is inside of some of these
    keys: Mapping[int, Same] = Factory(dict)  # in a durable session


def build(session_id: int, batch: Batch, kinds: KindTable, compared_in: bytes = b"") -> Submission:
    """The message of a batch; raises RainException when the batch contradicts itself.

    The name of the cluster is given if a task submits: when the task runs again, its submissions
    are compared with the earlier ones.
    """
    kept: list[ObjectId] = []
    columns = _task_columns(session_id, batch.tasks, kinds, kept)
    constants = _constant_columns(batch, kinds, kept) if batch.objects else ConstantColumns()
    task_kinds, object_kinds = kinds.new_kinds()
    submission = Submission(
        SessionId(session_id), task_kinds, object_kinds, columns, constants, kept
    )
    for holder, inside in batch.contents.items():
        contents = submission.contents
        contents.holders.append(holder)
        contents.counts.append(len(inside))
        contents.objects.extend(one.packed_id for one in inside)
    for holder, (key, objects) in batch.keys.items():
        keys = submission.keys
        keys.holders.append(holder)
        keys.keys.append(key)
        keys.counts.append(len(objects))
        keys.objects.extend(objects)
    if compared_in:
        _add_digests(submission, batch, compared_in)
    return submission


def _add_digests(submission: Submission, batch: Batch, cluster: bytes) -> None:
    """Adds digests of inputs that go ahead, whose content the server does not look at."""
    for obj in batch.objects:
        if obj.constant is None or len(obj.constant) <= INLINE_LIMIT:
            continue
        inside = [one.packed_id for one in batch.contents.get(obj.packed_id, ())]
        data = bytes_of(obj.constant)
        content = alike(data, obj.wire_shape.content_type or "", cluster, inside)
        if content is not None:
            submission.digests.ids.append(obj.packed_id)
            submission.digests.digests.append(digest([content]))


def _task_columns(
    session_id: int, tasks: Sequence[Task], kinds: KindTable, kept: list[ObjectId]
) -> TaskColumns:
    ids: list[TaskId] = []
    configs: list[bytes] = []
    task_kinds: list[KindId] = []
    inputs: list[ObjectId] = []
    outputs: list[ObjectId] = []
    counts: list[int] = []
    last: TaskShape | None = None
    kind = KindId(0)
    for task in tasks:
        shape = task.wire_shape
        changed = task.given_spec is not None
        for obj in task.output_objects:
            if obj.session is not task.session:
                raise _foreign(task, obj, session_id)
            outputs.append(obj.packed_id)
            if obj.kept:
                kept.append(obj.packed_id)
            if obj.given_spec is not None:
                changed = True
        if changed:
            shape = task.settle()
        # Most tasks have the very shape of the one before; a comparison saves its hash.
        if shape is not last:
            kind = kinds.task_kind(shape)
            last = shape
        task_kinds.append(kind)
        for obj in task.input_objects:
            if obj.session is not task.session:
                raise _foreign(task, obj, session_id)
            inputs.append(obj.packed_id)
        counts.append(len(task.input_objects))
        ids.append(task.packed_id)
        configs.append(task.wire_config)
    return TaskColumns(ids, task_kinds, configs, counts, inputs, outputs)


def _foreign(task: Task, obj: DataObject, session_id: int) -> RainException:
    return RainException(
        f"{task!r} of session {session_id} cannot use {obj!r}: it belongs to another session"
    )


def _constant_columns(batch: Batch, kinds: KindTable, kept: list[ObjectId]) -> ConstantColumns:
    columns = GivenConstants()
    made: set[int] | None = None
    for obj in batch.objects:
        if obj.constant is not None:
            columns.ids.append(obj.packed_id)
            columns.kinds.append(kinds.object_kind(obj.settle()))
            if isinstance(obj.constant, bytes):
                columns.data.append(obj.constant)
            else:
                columns.data.append(b"")
                columns.files[obj.packed_id] = obj.constant
            # Later submits may read it as long as its handle exists.
            kept.append(obj.packed_id)
            continue
        if made is None:
            made = {o.packed_id for task in batch.tasks for o in task.output_objects}
        if obj.packed_id not in made:
            raise RainException(f"{obj!r} has no data, and no task makes it")
    return columns
