"""Makes the nodes of a submission, and checks them before they are linked into the graph."""

from __future__ import annotations

from collections.abc import Container, Generator, Sequence
from typing import Any

from rain.base.errors import RefusedError
from rain.base.ids import (
    NUMBER_BITS,
    NUMBER_MASK,
    KindId,
    ObjectId,
    TaskId,
    session_of,
    spell,
)
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.states import ObjectMove, ObjectState, TaskMove
from rain.base.wire.submission import Submission
from rain.graph import claims, lateness, references
from rain.graph.claims import start_reading
from rain.graph.data_object import DataObject
from rain.graph.graph import Graph
from rain.graph.handles import Member
from rain.graph.new_kinds import NewKinds, check_session
from rain.graph.session import Session
from rain.graph.task import Task

_FINISHED = ObjectState.FINISHED
_ONCE = {"data object": ": it needs exactly one producer, or its own bytes"}


class Draft:
    """The nodes of a submission before they are linked into the graph."""

    def __init__(
        self,
        graph: Graph,
        session: Session,
        member: Member,
        submission: Submission,
        *,
        forgiving: bool = False,
    ) -> None:
        self.graph = graph
        self.forgiving = forgiving  # it was read before: `verify` tells what has gone since
        self.member = member  # submits it, and has a handle of each node in it
        self.session = session
        self.submission = submission
        self.kinds = NewKinds(session, submission)
        self.objects: dict[ObjectId, DataObject] = {}
        self.tasks: list[Task] = []
        self.kept: list[DataObject] = []
        self.creation_order = True  # every input was made before its consumer was named
        self._by_id: dict[TaskId, Task] = {}
        self._first_order = graph.last_order + 1
        self._first_id = session.id << NUMBER_BITS
        self._all_ours = True  # whether every id belongs to the session
        self._outputs_read = 0
        self._earlier: dict[ObjectId, Task] = {}  # what is read of earlier submits, and by whom
        # The tasks that read such inputs. The inputs do not list these as consumers yet.
        self._unconnected: dict[Task, list[DataObject]] = {}
        self._contents: list[tuple[Task | DataObject, list[DataObject]]] = []
        self.kinds.read(member.depth, forgiving=forgiving)

    def read_constants(self, first: int, last: int) -> None:
        """Makes nodes of constants."""
        constants = self.submission.constants
        ids, sizes = constants.ids[first:last], constants.sizes[first:last]
        handles = self.member.holding
        for object_id, kind, data, size in zip(
            ids,
            constants.kinds[first:last],
            constants.data[first:last],
            sizes or map(len, constants.data[first:last]),
            strict=True,
        ):
            new = DataObject(object_id, self.session, self.kinds.of_object(kind), None, handles)
            self.objects[object_id] = new
            new.move(ObjectMove.FINISH)
            new.size = size
            if len(data) == size:
                new.data = data
            else:
                new.spooled = True
        if min(ids) < self._first_id or max(ids) > self._first_id | NUMBER_MASK:
            self._all_ours = False

    def read_tasks(self, first: int, last: int) -> None:
        """Makes nodes of tasks. Inputs are read later: a later task may make them."""
        columns, outputs = self.submission.tasks, self.submission.tasks.outputs
        session, objects, tasks = self.session, self.objects, self.tasks
        ids, by_id = list(columns.ids[first:last]), self._by_id
        handles = self.member.holding
        kinds: dict[KindId, tuple[TaskKind, list[ObjectKind]]] = {}
        start = self._outputs_read
        for order, (task_id, kind_id, config, inputs) in enumerate(
            zip(
                ids,
                columns.kinds[first:last],
                columns.configs[first:last],
                columns.input_counts[first:last],
                strict=True,
            ),
            self._first_order + first,
        ):
            found = kinds.get(kind_id)
            if found is None:
                found = kinds[kind_id] = self.kinds.of_task(kind_id, task_id)
            kind, output_kinds = found
            end = start + len(output_kinds)
            if end > len(outputs):
                raise RefusedError(f"the task {spell(task_id)} names too few outputs")
            task = Task(task_id, order, session, kind, config, (), (), handles)
            if len(output_kinds) == 1:
                object_id = outputs[start]
                made = DataObject(object_id, session, output_kinds[0], task, handles)
                objects[object_id] = made
                task.outputs = (made,)
            else:
                task.outputs = self._outputs(task, outputs[start:end], output_kinds)
            start = end
            if not inputs:
                task.move(TaskMove.INPUTS_FINISHED)
            tasks.append(task)
            by_id[task_id] = task
        named = [*ids, *outputs[self._outputs_read : start]]
        if named and (min(named) < self._first_id or max(named) > self._first_id | NUMBER_MASK):
            self._all_ours = False
        self._outputs_read = start

    def _outputs(
        self, task: Task, ids: Sequence[ObjectId], kinds: Sequence[ObjectKind]
    ) -> tuple[DataObject, ...]:
        made = [
            DataObject(object_id, self.session, kind, task, self.member.holding)
            for object_id, kind in zip(ids, kinds, strict=True)
        ]
        self.objects |= {new.id: new for new in made}
        return tuple(made)

    def read_inputs(self, size: int) -> Generator[None]:
        """Connects tasks to their inputs, with a pause after `size` tasks and inputs."""
        columns, mine = self.submission.tasks, self.objects
        inputs, start, left = columns.inputs, 0, size
        for task, count in zip(self.tasks, columns.input_counts, strict=True):
            if left <= 0:
                yield
                left = size
            left -= 1
            if not count:
                continue
            found: list[DataObject] = []
            alone = (task,)
            order, missing, end = task.order, 0, start + count
            while start < end:
                if left <= 0:  # also between the inputs of a task that reads very many
                    yield
                    left = size
                stop = min(end, start + left)
                for object_id in inputs[start:stop]:
                    data_object = mine.get(object_id)
                    if data_object is None:
                        data_object = self._input_before(task, object_id)
                        self._earlier[object_id] = task
                        self._unconnected.setdefault(task, []).append(data_object)
                    else:
                        producer = data_object.producer
                        if producer is not None and producer.order >= order:
                            self.creation_order = False
                        missing += start_reading(data_object, alone)
                    found.append(data_object)
                left -= stop - start
                start = stop
            task.inputs, task.missing = tuple(found), missing
            if not missing and task not in self._unconnected:
                task.move(TaskMove.INPUTS_FINISHED)

    def verify(self) -> None:
        """Checks that nothing of it is in the graph yet, and that everything it refers to is."""
        objects, session = self.objects, self.session
        submission, columns = self.submission, self.submission.tasks
        outputs, constants = len(columns.outputs), len(submission.constants.ids)
        if self._outputs_read != outputs:
            raise RefusedError("the submission names more outputs than its tasks have")
        # The node that is wrong is searched only if there is one.
        if (
            not self._all_ours
            or len(self._by_id) != len(columns.ids)
            or len(objects) != outputs + constants
            or (session.tasks and not session.tasks.keys().isdisjoint(self._by_id.keys()))
            or (session.objects and not session.objects.keys().isdisjoint(objects.keys()))
        ):
            self._find_what_is_not_new()
        for object_id in submission.kept:
            data_object = objects.get(object_id)
            if data_object is None:
                raise RefusedError(
                    f"the data object {spell(object_id)} cannot be kept:"
                    " it is not new in this submission"
                )
            self.kept.append(data_object)
        self.kinds.verify()
        for object_id, task in self._earlier.items():
            self._earlier_input(task, object_id)
        if submission.contents.holders:
            self._read_contents()
        for object_id in submission.digests.ids:
            constant = objects.get(object_id)
            if constant is None or not constant.spooled:
                raise RefusedError(f"{spell(object_id)} has a digest, but no file")

    def link(self, tasks: list[Task]) -> list[Task]:
        """Applies the verified draft. From here on nothing may fail."""
        graph, session = self.graph, self.session
        self.kinds.link(graph)
        if session.objects:
            session.objects |= self.objects
        else:  # the first submission of a session brings its tables
            session.objects = self.objects
        constants = self.submission.constants.ids
        if constants:
            session.stored += sum(self.objects[constant].size for constant in constants)
        digests = self.submission.digests
        if digests.ids:
            session.digests.update(zip(digests.ids, digests.digests, strict=True))
        keeping = self.member.keeping
        for data_object in self.kept:
            data_object.handles = keeping
        if not self.member.is_owner:
            claims.note_submitted(self.member, (*tasks, *self.objects.values()))
        for task, earlier in self._unconnected.items():
            self._connect(task, earlier)
        for holder, inside in self._contents:
            references.contain(holder, inside)
        if not self.creation_order:
            self._by_id = {task.id: task for task in tasks}
        first = graph.last_order + 1
        if first != self._first_order or not self.creation_order:  # others have come meanwhile
            for order, task in enumerate(tasks, first):
                task.order = order
        self._link_tasks(tasks)
        return tasks

    def _link_tasks(self, tasks: list[Task]) -> None:
        graph, session = self.graph, self.session
        if session.tasks:
            session.tasks |= self._by_id
        else:
            session.tasks = self._by_id
        graph.last_order += len(tasks)
        graph.linked += len(tasks) + len(self.objects)
        session.unfinished += len(tasks)
        if session.groups:
            lateness.submitted(tasks)

    def _connect(self, task: Task, earlier: list[DataObject]) -> None:
        alone = (task,)
        task.missing += sum([start_reading(data_object, alone) for data_object in earlier])
        for data_object in earlier:
            if data_object.session is not self.session:
                references.share(data_object, self.session)
                self.session.reads_outside[task] = None
        if not task.missing:
            task.move(TaskMove.INPUTS_FINISHED)

    def _read_contents(self) -> None:
        """Objects that were removed in the meantime are left out: later requests for them are
        refused.
        """
        columns, start = self.submission.contents, 0
        for packed, count in zip(columns.holders, columns.counts, strict=True):
            holder = self._by_id.get(TaskId(packed)) or self.objects.get(ObjectId(packed))
            if holder is None or (isinstance(holder, DataObject) and holder.producer is not None):
                raise RefusedError(
                    f"{spell(packed)} cannot contain anything: it is no new task or constant"
                )
            inside: list[DataObject] = []
            for object_id in columns.objects[start : start + count]:
                found = self.objects.get(object_id)
                if found is None:
                    found = self.graph.objects.get(object_id)
                    if found is None or not references.can_be_had(found, self.session):
                        continue
                inside.append(found)
            self._contents.append((holder, inside))
            start += count

    def _find_what_is_not_new(self) -> None:
        constants, columns = self.submission.constants.ids, self.submission.tasks
        known = self.session.objects
        self._check_new("data object", constants, known)
        self._check_new("task", columns.ids, self.session.tasks)
        self._check_new("data object", columns.outputs, known, set(constants))

    def _check_new(self, what: str, ids: Sequence[int], *known: Container[Any]) -> None:
        seen: set[int] = set()
        for one in ids:
            check_session(self.session, what, one)
            if one in seen or any(one in nodes for nodes in known):
                raise RefusedError(f"the {what} {spell(one)} is defined twice{_ONCE.get(what, '')}")
            seen.add(one)

    def _input_before(self, task: Task, object_id: ObjectId) -> DataObject:
        """The input, as by `_earlier_input`; in a forgiving draft, a stand-in for a missing one."""
        try:
            return self._earlier_input(task, object_id)
        except RefusedError:
            if not self.forgiving:
                raise
            return DataObject(object_id, self.session, ObjectKind(KindId(0)))

    def _earlier_input(self, task: Task, object_id: ObjectId) -> DataObject:
        """The input with this id, which is not new, if it may be read."""
        data_object = self.session.objects.get(object_id)
        if data_object is not None and data_object.handles.wants_data:
            return data_object
        where = f"the input {spell(object_id)} of the task {spell(task.id)}"
        if session_of(object_id) != self.session.id:
            data_object = self.graph.objects.get(object_id)
            if data_object is not None and references.can_be_read(data_object, self.session):
                return data_object
            raise RefusedError(
                f"{where} belongs to another session; objects of different sessions cannot be"
                " combined, unless they are results of futures that somebody still has"
            )
        if data_object is None:
            raise RefusedError(f"{where} is unknown")
        raise RefusedError(
            f"{where} is from an earlier submit and was not kept; keep it before that submit"
        )
