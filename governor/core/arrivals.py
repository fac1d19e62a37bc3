"""Adds the kinds, objects and tasks of an order to the tables. A bad order is a server's error."""

from __future__ import annotations

from rain.base.environment import Environment, read_environment
from rain.base.errors import ProtocolError
from rain.base.ids import NUMBER_BITS, KindId, ObjectId, SessionId, session_of, spell
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.resources import Resources
from rain.base.units import UNIT, function_count
from rain.base.wire.orders import AssignedTasks, LentObjects, PlacedObjects
from rain.governor.core.calling import propose_follower
from rain.governor.core.claims import Claims
from rain.governor.core.dispatch import Dispatch
from rain.governor.core.endings import Endings
from rain.governor.core.nodes import DataObject, KnownKind, Meter, Session, Task
from rain.governor.core.objects import Objects
from rain.governor.core.reactor_settings import PYTHON, PoolSettings
from rain.governor.core.results import Failed
from rain.governor.core.tables import ObjectRow, TaskMove

BUILTIN = "buildin"
"""The part before the slash in the type of a task that runs inside the governor."""

PROGRAM = f"{BUILTIN}/run"
"""The type of the tasks that run external programs."""

_HELD = ObjectRow.HELD
_MAKING = ObjectRow.MAKING


def _runner_of(runner: str, environment: Environment | None) -> str:
    """The name of the executors that run tasks of a kind."""
    if runner == BUILTIN:
        return ""
    return runner if environment is None else f"{runner} in {environment.name}"


class Arrivals:
    """Adds the content of orders to the tables."""

    def __init__(
        self,
        capacity: Resources,
        settings: PoolSettings,
        sessions: dict[SessionId, Session],
        objects: Objects,
        dispatch: Dispatch,
        endings: Endings,
        claims: Claims,
    ) -> None:
        self._capacity = capacity
        self._runners = settings.runners
        self._one_by_one = settings.one_by_one
        self._sessions = sessions
        self._objects = objects
        self._dispatch = dispatch
        self._endings = endings
        self._claims = claims
        self._arrivals = 0

    def learn_object_kind(self, kind: ObjectKind) -> None:
        """Adds a kind of objects; the server sends each kind once."""
        self._session(session_of(kind.id)).object_kinds[kind.id] = kind

    def _session(self, session_id: SessionId) -> Session:
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = Session(session_id)
        return session

    def learn_task_kind(self, kind: TaskKind) -> None:
        """Adds a kind of tasks; the server sends it once, after the kinds of its outputs."""
        session = self._session(session_of(kind.id))
        if kind.id in session.task_kinds:
            return
        if kind.priority and not session.has_priorities:
            session.has_priorities = session.unordered = True
            self._dispatch.with_priorities[session.id] = session
        runner, slash, _ = kind.task_type.partition("/")
        refusal = ""
        if not slash or (runner != BUILTIN and runner not in self._runners):
            known = ", ".join(sorted({BUILTIN, *self._runners}))
            refusal = (
                f"no executor {runner!r} is registered for the task type {kind.task_type!r};"
                f" this governor knows {known}"
            )
        elif not kind.resources.fits(self._capacity):
            needs = ", ".join(f"{amount} {name}" for name, amount in kind.resources.items())
            refusal = f"the task needs more than this governor has: {needs}"
        environment: Environment | None = None
        if kind.environment and not refusal and kind.task_type != PROGRAM:  # see `programs`
            environment, refusal = self._environment(runner, kind)
        group = self._dispatch.group(_runner_of(runner, environment), kind.resources, environment)
        outputs = tuple(self._object_kind(session, output) for output in kind.outputs)
        # Only our own Python executors are sent functions separately from calls.
        is_python = runner == PYTHON and runner not in self._one_by_one
        is_unit = kind.task_type == UNIT
        functions = function_count(kind.input_labels) if is_unit else 1
        session.task_kinds[kind.id] = KnownKind(
            kind,
            group,
            outputs,
            is_python and not is_unit,
            functions if is_python else 0,
            refusal,
            kind.cache,
        )

    def _environment(self, runner: str, kind: TaskKind) -> tuple[Environment | None, str]:
        """The environment of a kind, or why its tasks cannot have it here."""
        if runner != PYTHON or runner in self._one_by_one:
            return None, (
                f"the task type {kind.task_type!r} has no environments on this governor: only"
                " programs and calls of Python functions in Rain's own executors do"
            )
        return read_environment(kind.environment), ""

    def _object_kind(self, session: Session, kind_id: KindId) -> ObjectKind:
        kind = session.object_kinds.get(kind_id)
        if kind is None:
            raise ProtocolError(f"the kind {spell(kind_id)} of objects was not told")
        return kind

    def place(self, placed: PlacedObjects) -> None:
        """Takes orders for copies that the server wants here."""
        for object_id, kind_id, content_type, size, source, data in zip(
            placed.ids,
            placed.kinds,
            placed.content_types,
            placed.sizes,
            placed.sources,
            placed.data,
            strict=True,
        ):
            session = self._session(session_of(object_id))
            kind = self._object_kind(session, kind_id)
            self._objects.order(session, object_id, kind, content_type, size, source, data)

    def lend(self, lent: LentObjects) -> None:
        """Takes objects for the tasks in the same message."""
        for object_id, kind_id, content_type, data in zip(
            lent.ids, lent.kinds, lent.content_types, lent.data, strict=True
        ):
            session = self._session(session_of(object_id))
            kind = self._object_kind(session, kind_id)
            self._objects.lend(session, object_id, kind, content_type, data)

    def assign(self, tasks: AssignedTasks) -> None:
        """Takes tasks that are to run here."""
        inputs_from = outputs_from = 0
        flat_inputs, flat_outputs = tasks.inputs, tasks.outputs
        session: Session | None = None  # usually the same for all tasks
        runs, kinds, priorities = tasks.runs, tasks.kinds, tasks.priorities
        configs, input_counts, needs = tasks.configs, tasks.input_counts, tasks.needs
        # Not zip: for a single task, iterators over six columns would double the cost of this loop.
        for place, task_id in enumerate(tasks.ids):
            if session is None or task_id >> NUMBER_BITS != session.id:
                session_id = SessionId(task_id >> NUMBER_BITS)
                session = self._sessions.get(session_id) or self._session(session_id)
            kind = session.task_kinds.get(kinds[place])
            if kind is None:
                raise ProtocolError(f"the kind {spell(kinds[place])} of tasks was not told")
            if task_id in session.tasks:
                raise ProtocolError(f"the task {spell(task_id)} is already here")
            inputs_to = inputs_from + input_counts[place]
            outputs_to = outputs_from + len(kind.outputs)
            output_ids = flat_outputs[outputs_from:outputs_to]
            inputs: list[DataObject] = []
            for object_id in flat_inputs[inputs_from:inputs_to]:
                target = session.objects.get(object_id)
                inputs.append(target or self._missed(session, object_id))
            self._arrivals += 1
            task = Task(
                task_id,
                runs[place],
                kind,
                session,
                (-kind.kind.depth, -priorities[place], self._arrivals),
                configs[place],
                inputs,
                output_ids,
                [],
                kind.meter,
                self._claims.group_for(kind, needs[place]) if needs else kind.group,
            )
            session.tasks[task_id] = task
            self._begin(task)
            inputs_from, outputs_from = inputs_to, outputs_to
        if outputs_from != len(flat_outputs):
            raise ProtocolError("assigned tasks: the kinds' outputs do not add up to the outputs")

    def _missed(self, session: Session, object_id: ObjectId) -> DataObject:
        """An input that is not in the session: of another session, or the output of a task here
        that has just failed.
        """
        if session_of(object_id) != session.id:
            session = self._session(session_of(object_id))
            target = session.objects.get(object_id)
            if target is not None:
                return target
        kind = session.unmade.get(object_id)
        if kind is None:
            raise ProtocolError(
                f"a task reads the object {spell(object_id)}, which was never named here"
            )
        return self._objects.absent(session, object_id, kind)

    def _begin(self, task: Task) -> None:
        """Connects a new task with its inputs and outputs."""
        kind = task.kind
        if len(task.output_ids) != len(kind.outputs):
            raise ProtocolError(f"the task {spell(task.id)} has too few outputs")
        for target in task.inputs:
            if target.row is _HELD:
                target.consumers += 1
                if type(target.content) is int:
                    self._objects.files.use(target.content)
            else:
                self._objects.read(target, task)
        self._expect_outputs(task)
        if kind.calls_function and task.inputs:
            # All calls of one function take about the same time, even with different kinds.
            function = task.inputs[0]
            if function.meter is None:
                function.meter = Meter()
            task.meter = function.meter
        if kind.refusal:
            self._endings.fail(task, Failed(kind.refusal))
        elif not task.missing:
            task.move(TaskMove.INPUTS_HERE)
            if kind.cache:
                self._objects.caching.ask(task)
            else:
                task.group.push(task)
        else:
            propose_follower(task)

    def _expect_outputs(self, task: Task) -> None:
        session, output_kinds = task.session, task.kind.outputs
        for place, output_id in enumerate(task.output_ids):
            if output_id >> NUMBER_BITS != session.id:
                raise ProtocolError(
                    f"the task {spell(task.id)} makes {spell(output_id)}, of another session"
                )
            output_kind = output_kinds[place]
            if session.unmade or output_id in session.objects:
                target = self._objects.expect(session, output_id, output_kind)
            else:  # the usual case
                target = DataObject(output_id, output_kind, session, _MAKING, wanted=True)
                session.objects[output_id] = target
            target.producer = task
            task.outputs.append(target)
