"""Turns a workload into the client's messages: ids, kinds, and one `Submission` per batch."""

from __future__ import annotations

from rain.base.ids import FIRST_NUMBER, KindId, ObjectId, SessionId, TaskId, pack
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.resources import Resources
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.submission import Submission
from rain.lab.estimates import Expected
from rain.lab.workload import LabTask, Workload

TASK_TYPE = "buildin/lab"
"""A task type that runs inside the governor, because the lab has no executor processes."""


class Submitting:
    """Assigns ids like a client and sends every kind once."""

    def __init__(self, workload: Workload, expected: Expected, session: SessionId) -> None:
        self._workload = workload
        self._expected = expected
        self._session = session
        self._first_task = pack(session, FIRST_NUMBER)
        self._first_object = self._first_task + len(workload.tasks)
        self._next_kind = self._first_object + len(workload.objects)
        self._task_kinds: dict[tuple[str, Resources, float, tuple[KindId, ...]], KindId] = {}
        self._object_kinds: dict[int, KindId] = {}
        self._kept = _kept(workload)
        self._sent: set[int] = set()  # objects from outside; never iterated
        self._batches: list[list[int]] = [[] for _ in workload.batches]
        for number, task in enumerate(workload.tasks):
            self._batches[task.batch].append(number)

    def task_id(self, number: int) -> TaskId:
        """The id of a task number."""
        return TaskId(self._first_task + number)

    def task_number(self, task_id: TaskId) -> int:
        """The task number of an id."""
        return task_id - self._first_task

    def batch(self, number: int) -> Submission:
        """The submission of one batch."""
        submission = Submission(self._session)
        columns = submission.tasks
        for position in self._batches[number]:
            task = self._workload.tasks[position]
            columns.ids.append(self.task_id(position))
            columns.kinds.append(self._task_kind(position, task, submission))
            columns.configs.append(b"")
            columns.input_counts.append(len(task.inputs))
            for data_object in task.inputs:
                self._from_outside(data_object, submission)
                columns.inputs.append(self._object_id(data_object))
            for data_object in task.outputs:
                columns.outputs.append(self._object_id(data_object))
                if self._kept[data_object]:
                    submission.kept.append(self._object_id(data_object))
        return submission

    def _object_id(self, number: int) -> ObjectId:
        return ObjectId(self._first_object + number)

    def _from_outside(self, number: int, submission: Submission) -> None:
        data_object = self._workload.objects[number]
        if data_object.producer is None and number not in self._sent:
            self._sent.add(number)
            constants = submission.constants
            constants.ids.append(self._object_id(number))
            constants.kinds.append(self._object_kind(0, submission))
            size = data_object.size
            constants.data.append(bytes(size) if size <= INLINE_LIMIT else b"")  # or uploaded
            constants.sizes.append(size)
            if self._kept[number]:
                submission.kept.append(self._object_id(number))

    def _task_kind(self, position: int, task: LabTask, submission: Submission) -> KindId:
        sizes = self._expected.sizes
        outputs = tuple(self._object_kind(sizes[made], submission) for made in task.outputs)
        seconds = self._expected.durations[position]
        key = (task.name, task.resources, seconds, outputs)
        kind = self._task_kinds.get(key)
        if kind is None:
            kind = self._task_kinds[key] = self._new_kind()
            submission.task_kinds.append(
                TaskKind(
                    kind,
                    TASK_TYPE,
                    task.name,
                    task.resources,
                    outputs=outputs,
                    duration_hint=seconds,
                )
            )
        return kind

    def _object_kind(self, expected: int, submission: Submission) -> KindId:
        kind = self._object_kinds.get(expected)
        if kind is None:
            kind = self._object_kinds[expected] = self._new_kind()
            submission.object_kinds.append(ObjectKind(kind, size_hint=expected))
        return kind

    def _new_kind(self) -> KindId:
        self._next_kind += 1
        return KindId(self._next_kind - 1)


def _kept(workload: Workload) -> list[bool]:
    """Which objects stay until the end: results, and objects that a later batch reads."""
    kept = [data_object.kept for data_object in workload.objects]
    read_in: list[set[int]] = [set() for _ in kept]  # never iterated
    for task in workload.tasks:
        for data_object in task.inputs:
            read_in[data_object].add(task.batch)
    for number, made in enumerate(workload.objects):
        producer = made.producer
        made_in = None if producer is None else workload.tasks[producer].batch
        readers = read_in[number]
        later = len(readers) > 1 if made_in is None else readers - {made_in}
        if not readers or later:
            kept[number] = True
    return kept
